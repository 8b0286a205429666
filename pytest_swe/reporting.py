"""Controller side of reporting: words, header, summary, the files of the run, the exit status."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_swe import registry
from pytest_swe.errors import SweError, UsageError
from pytest_swe.footer import beside_others, names, rates, resume_options, short
from pytest_swe.harbor_results import write_harbor_results
from pytest_swe.header import header
from pytest_swe.item import SweItem
from pytest_swe.known import Cache, lines_in
from pytest_swe.leftovers import sweep_leftovers
from pytest_swe.outputs import refuse_unwritable
from pytest_swe.remarks import remarks
from pytest_swe.report.baseline import Comparison, compare
from pytest_swe.report.run_report import run_report, write_run_report
from pytest_swe.report.summary import ModelSummary, as_json, summarise
from pytest_swe.rewards_file import RewardsFile, key_of
from pytest_swe.run import Run
from pytest_swe.run_files import link_for_swebench, run_json, write_json
from pytest_swe.sandbox.base import SandboxProvider
from pytest_swe.user_code import user_code

#: Exit statuses beside pytest's own 0 to 5: only errors and no unresolved; lines that are missing.
EXIT_ONLY_ERRORS = 10
EXIT_INCOMPLETE = 11

Word = tuple[str, Mapping[str, bool]]
WORDS: Mapping[tuple[str, str], tuple[str, str, Word]] = {
    ("call", "passed"): ("passed", ".", ("RESOLVED", {"green": True})),
    ("call", "failed"): ("failed", "F", ("UNRESOLVED", {"red": True})),
    ("setup", "failed"): ("error", "E", ("ERROR", {"red": True})),
}


class ReportingPlugin:
    """Registered on the controller, or in the only process."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.rewards = RewardsFile(run, notify=self._notify)
        self._explained = 0  # failed reports whose line says why
        self._troubles: Counter[str] = Counter()
        self._summarised = False
        self._harbor: Path | None = None

    def pytest_sessionstart(self) -> None:
        settings, option = self.run.settings, self.run.config.option
        try:
            for path in sorted(self.run.paths):
                self.run.plan_of(path)
            _ = self.run.quarantine
            if settings.harness is not None:
                registry.harness(settings.harness)
            if not (option.collectonly or settings.check):
                provider = self.run.provider()
                if not _dry(self.run.config):
                    _refuse_wrong_address(provider)
                    refuse_unwritable(self.run)
                    if any(plan.items for plan in self.run.plans.values()):
                        self.rewards.refuse_taken()
            if settings.baseline is not None:
                _refuse_unreadable("--swe-baseline", settings.baseline)
            if settings.no_regressions and settings.baseline is None:
                raise UsageError("--swe-no-regressions needs --swe-baseline")
        except SweError as error:
            raise pytest.UsageError(str(error)) from None
        except OSError as error:
            raise pytest.UsageError(f"{error.filename}: {error.strerror}") from None

    def pytest_report_header(self, config: pytest.Config) -> list[str]:
        return header(self.run, ask_engine=not (config.option.collectonly or self.run.settings.check or _dry(config)))

    # -- what comes in -----------------------------------------------------------------------------------------------

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            if isinstance(item, SweItem):
                self.rewards.expect(item.nodeid, item.plan, item.planned)
        self._open(session.config)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: Iterable[str]) -> None:
        for nodeid in ids:
            found = self.run.planned(nodeid)
            if found is not None:
                self.rewards.expect(nodeid, *found)
        self._open(self.run.config)

    def _open(self, config: pytest.Config) -> None:
        if self.rewards.expected and not config.option.collectonly and not self.run.settings.check and not _dry(config):
            first = self.rewards.idle
            try:
                self.rewards.open_once()
            except SweError as error:  # somebody was quicker since the session began
                raise pytest.UsageError(str(error)) from None
            if first and self.run.settings.resume:  # the file is ours alone now
                sweep_leftovers(self.run, {str(line["run_id"]) for line in lines_in(self.rewards.path)})
            with contextlib.suppress(OSError):  # said at the end, when it is written again
                write_json(self.run.directory / "run.json", run_json(self.run, self.rewards))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.rewards.see(report)
        self._explained += report.failed and self._explains(report)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.rewards.finish(nodeid)

    def _notify(self, line: Mapping[str, Any]) -> None:
        if self.run.settings.cache is not None:
            try:
                Cache(self.run.settings.cache).put(line)
            except OSError as error:
                self._troubles[f"--swe-cache cannot be written: {error.strerror}"] += 1
        try:
            with user_code("pytest_swe_reward"):
                self.run.config.hook.pytest_swe_reward(config=self.run.config, reward=dict(line))
        except SweError as error:
            self._troubles[str(error)] += 1

    def _explains(self, report: pytest.TestReport) -> bool:
        line: Mapping[str, Any] | None = getattr(report, "swe_reward", None)
        if line is None:
            return str(report.when) == "???" and self.run.planned(report.nodeid) is not None
        return line["status"] in ("unresolved", "error")

    # -- what people see ---------------------------------------------------------------------------------------------

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Word] | None:
        if str(report.when) == "???" and report.failed and self.run.planned(report.nodeid):
            return WORDS["setup", "failed"]
        if getattr(report, "swe_reward", None) is None or hasattr(report, "wasxfail"):
            return None
        return WORDS.get((str(report.when), str(report.outcome)))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.rewards.expected or self.rewards.idle:
            return
        self._summarised = True
        terminalreporter.section("swe", sep="=")
        for summary in self._summaries():
            for line in rates(summary):
                terminalreporter.write_line(line)
        for line in beside_others(self.run, self.rewards, self._baseline):
            terminalreporter.write_line(line)
        missing = self.rewards.missing
        if missing:
            terminalreporter.write_line(f"did not run: {names(missing)}", yellow=True)
            terminalreporter.write_line(f"to go on: the same command with {resume_options(self.run)}", yellow=True)
        if not missing and not self._evaluated() and all(line["status"] == "skipped" for line in self.rewards.lines):
            terminalreporter.write_line("nothing was evaluated: no row has a prediction", red=True)
        for remark in remarks(self.run):
            terminalreporter.write_line(remark, yellow=True)
        for trouble, count in self._troubles.items():
            terminalreporter.write_line(f"{trouble} ({count} times)" if count > 1 else trouble, red=True)
        terminalreporter.write_line(f"rewards: {short(self.rewards.path)}")
        if self._harbor is not None:
            terminalreporter.write_line(f"in Harbor's layout: {short(self._harbor)}")

    # -- the end -----------------------------------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.rewards.close()
        if not self.rewards.expected or self.rewards.idle:
            return
        try:
            self._write_files()
        except OSError as error:
            self._troubles[f"the results cannot be written: {error}"] += 1
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            session.exitstatus = self._exit_status(others_failed=session.testsfailed > self._explained)

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """pytest gives no summary of a run that could not go on; what did not run must be named all the same."""
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and not self._summarised:
            self.pytest_terminal_summary(reporter)

    def _baseline(self) -> Comparison | None:
        path = self.run.settings.baseline
        if path is None:
            return None
        items = [(planned.instance_id, planned.model) for _, planned in self.rewards.expected.values()]
        return compare(lines_in(path), self.rewards.lines, items)

    def _exit_status(self, *, others_failed: bool) -> int:
        ours = Counter(str(line["status"]) for line in self.rewards.lines if not self._was_expected(line))
        if others_failed:
            return int(pytest.ExitCode.TESTS_FAILED)
        beside = self._baseline() if self.run.settings.no_regressions else None
        if beside is not None:
            return int(bool(beside.broken or beside.lost))
        if self.run.settings.fail_under is not None:
            rates = [summary.rate for summary in self._summaries()]
            return 0 if min(rates, default=0.0) >= self.run.settings.fail_under else 1
        if ours["unresolved"]:
            return int(pytest.ExitCode.TESTS_FAILED)
        if ours["error"]:
            return EXIT_ONLY_ERRORS
        # Every item skipped: a typo in a path or an id must not look like a success.
        complete = self._evaluated() and not self.rewards.missing
        return int(pytest.ExitCode.OK) if complete else EXIT_INCOMPLETE

    def _evaluated(self) -> bool:
        return any(line["status"] in ("resolved", "unresolved") for line in self.rewards.lines)

    def _was_expected(self, line: Mapping[str, Any]) -> bool:
        """Whether this is a failure that had to come: the control ``base``, or an xfail of the user's own."""
        return line["status"] == "unresolved" and key_of(line) in self.rewards.expected_failures

    def _summaries(self) -> list[ModelSummary]:
        held = self.run.quarantine.instances
        items = [planned for _, planned in self.rewards.expected.values() if planned.instance_id not in held]
        lines = [line for line in self.rewards.lines if line["instance_id"] not in held]
        return summarise(lines, Counter(planned.model for planned in items))

    def _write_files(self) -> None:
        run, directory = self.run, self.run.directory
        directory.mkdir(parents=True, exist_ok=True)
        summaries = self._summaries()
        write_json(directory / "summary.json", as_json(summaries))
        write_json(directory / "run.json", run_json(run, self.rewards))
        link_for_swebench(run)
        if run.settings.harbor_results is not None:
            expected = [planned for _, planned in self.rewards.expected.values()]
            try:
                self._harbor = write_harbor_results(run, self.rewards.lines, expected, run.settings.harbor_results)
            except OSError as error:
                self._troubles[f"--swe-harbor-results cannot be written: {error.strerror or error}"] += 1
        ids = list(
            dict.fromkeys(
                ref.instance_id for plan in run.plans.values() for ref in plan.dataset.refs if not ref.problem
            )
        )
        for summary in summaries:
            lines = [line for line in self.rewards.lines if line["model"] == summary.model]
            submitted = [
                planned.instance_id
                for _, planned in self.rewards.expected.values()
                if planned.model == summary.model and planned.work != "missing"
            ]
            write_run_report(directory, run.model_name(summary.model), run.run_id, run_report(lines, ids, submitted))


def _refuse_wrong_address(provider: SandboxProvider) -> None:
    """Raises UsageError where the options or the environment name an engine that cannot be; one that is gone can."""
    try:
        with user_code("the provider's capabilities"):
            _ = provider.capabilities
    except UsageError:
        raise
    except SweError:
        return  # no engine answers, or the provider breaks its contract: its items say so


def _dry(config: pytest.Config) -> bool:
    return bool(getattr(config.option, "setupplan", False) or getattr(config.option, "setuponly", False))


def _refuse_unreadable(option: str, path: Path) -> None:
    try:
        with path.open("rb"):
            pass
    except FileNotFoundError:
        raise UsageError(f"{option} {path}: no such reward file") from None
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}") from None
