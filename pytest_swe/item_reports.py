"""Worker side of reporting: a reward on the report, as plain JSON, and texts that people can read.

Only plain JSON travels: a dataclass, an enum or a lone surrogate on a report ends a whole xdist run.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest

from pytest_swe.errors import Cancelled, SweError
from pytest_swe.explain import explain, repeat
from pytest_swe.item import OUTCOME, NotMeasured, SweItem, Unresolved
from pytest_swe.model import Reason
from pytest_swe.report.instance_logs import write_instance_logs
from pytest_swe.reward import Outcome, Verdict, verdict_of_error
from pytest_swe.user_code import user_code

#: Item properties, in JUnit and report logs.
PROPERTIES = ("instance_id", "model", "status", "reason")


class ItemReportsPlugin:
    """Registered where items run."""

    # First, so outermost: pytest-retry repeats an item inside this hook, and its last attempt is the one that counts.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if isinstance(item, SweItem):
            _adorn(item, call, report)
        return report


def _adorn(item: SweItem, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, Cancelled) or (item.run.stopping and error is not None and OUTCOME not in item.stash):
        # It did not run: no reward line, and no failure that was none.
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.planned.ref.line, "Skipped: stopped before there was a verdict")
        return
    if call.when == "teardown":
        if report.failed:
            vars(report)["swe_teardown_failed"] = True
        return
    outcome = _outcome(item, call, report, error)
    if outcome is None:
        return
    outcome = _with_logs(item, outcome, report)
    if outcome.reward.status == "error" and report.outcome == "failed":
        report.when = "setup"  # then it is an error everywhere: terminal, JUnit, exit status
    if report.failed and (error is None or isinstance(error, (Unresolved, NotMeasured, SweError))):
        report.longrepr = _text(item, outcome)
    if report.skipped and isinstance(report.longrepr, tuple):  # JUnit has it word for word, with the path
        report.longrepr = (item.location[0], item.planned.ref.line, report.longrepr[2])
    _attach(item, report, outcome)


def _outcome(
    item: SweItem, call: pytest.CallInfo[None], report: pytest.TestReport, error: BaseException | None
) -> Outcome | None:
    """The outcome of the item, or None when this report does not end it (a setup that went well)."""
    if OUTCOME in item.stash:
        return item.stash[OUTCOME]
    if error is not None:
        if isinstance(error, pytest.skip.Exception):
            return Outcome(reward=item.reward(Verdict("skipped", None, str(error.msg))))
        verdict = verdict_of_error(error)
        if verdict.reason == Reason.UNSUPPORTED and item.run.settings.unsupported == "skip":
            report.outcome = "skipped"
            reward = item.reward(replace(verdict, status="skipped"))
            report.longrepr = (str(item.path), item.planned.ref.line, f"Skipped: {reward.detail}")
            return Outcome(reward=reward)
        return Outcome(reward=item.reward(verdict))
    if call.when == "call":
        # Something kept runtest from running, or from leaving a verdict: never a pass.
        report.outcome = "failed"
        return Outcome(reward=item.reward(Verdict("error", Reason.INTERNAL, "the item ended without a verdict")))
    return None


def _with_logs(item: SweItem, outcome: Outcome, report: pytest.TestReport) -> Outcome:
    """The same outcome with its files written beside the reward file, and their place on the line.

    What goes wrong here costs no verdict: it is a flag on the line, and a section of the report.
    """
    if outcome.reward.agent is None and outcome.log is None:
        return outcome
    place = item.run.logs_of(item.plan, item.planned)
    update: dict[str, object] = {"logs": str(place.relative_to(item.run.directory))}
    if outcome.log is None:  # what an agent and a task's verifier left is written already
        found = update if place.is_dir() else {}
        return replace(outcome, reward=outcome.reward.model_copy(update=found))
    flags = list(outcome.reward.flags)
    try:
        write_instance_logs(place, outcome)
    except OSError as error:
        update["logs"] = ""
        flags.append("logs_not_written")
        report.sections.append(("swe: the logs cannot be written", str(error)))
    try:
        _show_log(item, outcome)
    except SweError as error:
        flags.append("eval_log_hook_failed")
        report.sections.append(("swe", str(error)))
    return replace(outcome, reward=outcome.reward.model_copy(update={**update, "flags": tuple(flags)}))


def _show_log(item: SweItem, outcome: Outcome) -> None:
    if outcome.report is not None:
        with user_code("pytest_swe_eval_log"):
            item.config.hook.pytest_swe_eval_log(
                config=item.config, instance=item.funcargs["swe_instance"], log=outcome.log, report=outcome.report
            )


def _text(item: SweItem, outcome: Outcome) -> str:
    logs = item.run.directory / outcome.reward.logs
    here = item.config.invocation_params.dir
    if logs.is_relative_to(here):  # JUnit reports travel
        logs = logs.relative_to(here)
    text = explain(outcome, str(logs) if outcome.reward.logs else "")
    if outcome.kept and item.run.settings.keep:  # else it is there for --swe-shell alone
        text += f"\n  kept: {shlex.join(outcome.kept)}   (the tests again: {repeat(outcome)})"
    return text


def _attach(item: SweItem, report: pytest.TestReport, outcome: Outcome) -> None:
    plain: dict[str, Any] = json.loads(outcome.reward.line_json())
    vars(report)["swe_reward"] = plain
    ours = {f"swe_{name}" for name in PROPERTIES}
    kept = [(name, value) for name, value in item.user_properties if name not in ours]
    # In place, and not appended: reruns would pile them up, and JUnit reads them from the teardown's report.
    item.user_properties[:] = [*kept, *((f"swe_{name}", plain[name]) for name in PROPERTIES)]
    report.user_properties = list(item.user_properties)
