"""``--swe-check``: look at the data set and the predictions, run nothing, need no engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial

import pytest

from pytest_swe.dataset.check import Finding, check
from pytest_swe.errors import SweError
from pytest_swe.run import Run

ORDER: Mapping[str, int] = {"error": 0, "warning": 1, "info": 2}


class CheckPlugin:
    """Takes the place of the test loop. Exit status 1 when something is wrong, else 0."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        terminal: pytest.TerminalReporter = session.config.pluginmanager.getplugin("terminalreporter")
        counts: Counter[str] = Counter()
        verbose = session.config.option.verbose > 0
        # The same row faults come with every predictions file.
        findings = sorted(dict.fromkeys(self._findings()), key=lambda finding: ORDER[finding.level])
        for finding in findings:
            counts[finding.level] += 1
            if finding.level != "info" or verbose:
                bad = finding.level == "error"
                terminal.write_line(f"{finding.level}: {finding.text}", red=bad, yellow=not bad)
        rows = sum(len(self.run.plan_of(path).dataset.refs) for path in self.run.paths)
        said = ", ".join(f"{count} {level}s" for level, count in sorted(counts.items())) or "nothing to complain about"
        hint = " (-v shows the infos)" if counts["info"] and not verbose else ""
        terminal.write_line(f"checked {rows} rows: {said}{hint}")
        session.testsfailed = counts["error"]
        return True

    def _findings(self) -> Iterator[Finding]:
        for path in sorted(self.run.paths):
            dataset = self.run.plan_of(path).dataset
            for source in self.run.sources():
                try:
                    yield from check(dataset, source.predictions, partial(self.run.harness_of, dataset=dataset))
                except SweError as error:
                    raise pytest.UsageError(str(error)) from None
