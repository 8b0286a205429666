"""One saved log graded again: the new verdict, or why the old one stands.

A verdict may rest on more than its log: a second look, the control, another attempt. None of them is repeated here, so
what they decided is kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_swe.dataset.source import Dataset
from pytest_swe.errors import SweError
from pytest_swe.evaluation.doubts import doubts
from pytest_swe.families import harness_for
from pytest_swe.harness.base import Harness
from pytest_swe.model import EvalLog, Instance, Reason, Report, Rules
from pytest_swe.quarantine import read_quarantine
from pytest_swe.report.instance_logs import TIMED_OUT
from pytest_swe.retries import control_decides
from pytest_swe.reward import Verdict, verdict_of_error, verdict_of_report

#: With these an evaluation was ended from outside, and its log is no whole one.
_ENDED = frozenset(
    {
        Reason.ENGINE_UNAVAILABLE,
        Reason.IMAGE_UNAVAILABLE,
        Reason.SANDBOX_START_FAILED,
        Reason.SANDBOX_REMOVED,
        Reason.SANDBOX_LOST,
        Reason.OUT_OF_MEMORY,
        Reason.DISK_FULL,
        Reason.INTERNAL,
    }
)


@dataclass(frozen=True, slots=True)
class Regraded:
    """One item: what its line said, and what its log says now.

    ``kept``: why its verdict stands whatever the log says, it rests on more. ``impossible``: why it cannot be judged
    again. ``remark`` goes with a new verdict.
    """

    instance_id: str
    model: str
    before: Verdict
    after: Verdict
    report: Report | None
    place: Path
    kept: str = ""
    impossible: str = ""
    remark: str = ""

    @property
    def judged(self) -> bool:
        return not (self.kept or self.impossible)

    @property
    def changed(self) -> bool:
        """Whether status or reason differ; other tools' reports have no reason."""
        if not self.judged:
            return False
        if self.before.reason is None:
            return self.before.status != self.after.status
        return (self.before.status, self.before.reason) != (self.after.status, self.after.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """By what the logs of a run are judged, as they were in the run. ``looks``: it had second looks."""

    datasets: Mapping[str, Dataset]
    family: str | None = None
    rules: Rules = "official"
    looks: bool = True
    quarantine: Path | None = None


def saved_logs(directory: Path) -> list[Path]:
    """The logs of a run that are graded without an engine."""
    return sorted((directory / "logs").glob("*/*/eval_log.json"))


def regraded(place: Path, judging: Judging) -> Regraded:
    """The log in ``place`` graded again."""
    instance_id, model, before = place.name, place.parent.name, Verdict("error")
    try:
        saved: Mapping[str, Any] = json.loads((place / "eval_log.json").read_bytes())
        identity: Mapping[str, Any] = saved["reward"]
        instance_id, model = identity["instance_id"], identity["model"]
        before = Verdict(identity["status"], Reason(identity["reason"]) if identity["reason"] else None)
        log = saved_log(place, saved["log"])
        harness, instance = _loaded(identity, judging)
    except SweError as error:
        return Regraded(instance_id, model, before, before, None, place, impossible=str(error))
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        return Regraded(instance_id, model, before, before, None, place, impossible=f"its log cannot be read: {error}")
    report: Report | None = None
    try:
        report = harness.grade(instance, log).under(judging.rules)
        after = verdict_of_report(report)
    except SweError as error:
        after = verdict_of_error(error)
    kept = why_kept(identity, before, after)
    if kept:
        return Regraded(instance_id, model, before, before, None, place, kept=kept)
    found = Regraded(instance_id, model, before, after, report, place)
    return replace(found, remark=_remark(found)) if judging.looks else found


def why_kept(line: Mapping[str, Any], before: Verdict, after: Verdict) -> str:
    """Why the verdict of a line stands although its log alone gives another one; empty where the log decides."""
    if after.status == "error":
        if before.status == "unresolved" and before.reason and control_decides(replace(before, status="error")):
            return "the control decided, and it is not run again"
        if before.status == "error" and before.reason in _ENDED:
            return "the evaluation was ended from outside"
    if before.status != "unresolved" or after.status != "resolved":
        return ""
    looked = "second_look" in line["phases_ms"] if "phases_ms" in line else before.reason == Reason.TAMPERED
    if looked:
        return "a second look decided, and it is not repeated"
    if {"flaky", "slow_environment"} & set(line.get("flags", ())):
        return "another attempt counts as well, and it timed out"
    return ""


def _remark(found: Regraded) -> str:
    """That a patch which resolves now would be looked at once more in a run."""
    patch = found.place / "patch.diff"
    if found.before.status == "resolved" or found.after.status != "resolved" or not patch.is_file():
        return ""
    flags = found.report.flags if found.report is not None else ()
    looked_at = found.model != "gold" and doubts(patch.read_bytes(), flags)
    return "a run would take a second look at it" if looked_at else ""


def _loaded(identity: Mapping[str, Any], judging: Judging) -> tuple[Harness, Instance]:
    """The family of a log's row, and the row as it was judged. Raises SweError."""
    known = judging.datasets
    dataset = known.get(identity["dataset"]) or next(iter(known.values()))
    ref = dataset.ref(identity["instance_id"])
    row = dataset.load(ref)
    if "quarantined_tests" in identity.get("flags", ()) and judging.quarantine is not None:
        row = read_quarantine(judging.quarantine).applied(row, ref.instance_id)
    harness = harness_for(row, judging.family)
    return harness, harness.instance(row, dataset.origin(ref))


def saved_log(place: Path, facts: Mapping[str, Any]) -> EvalLog:
    """The log of an item as it was when it was graded: the facts, and the output from its own file."""
    log = EvalLog.from_json(facts)
    step = log.steps[0]
    if step.run is None:
        return log
    output = (place / "test_output.txt").read_bytes()
    if step.run.timed_out:
        output = output.removesuffix(TIMED_OUT.format(seconds=step.run.timeout).encode())
    return replace(log, steps=(replace(step, run=replace(step.run, output=output)), *log.steps[1:]))
