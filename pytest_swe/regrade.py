"""Grade the saved logs of a run again, without an engine: after a fix of a parser, or to see what a rule changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_swe.dataset.source import Dataset, open_dataset
from pytest_swe.elsewhere import Generation, LogElsewhere, log_elsewhere, logs_elsewhere
from pytest_swe.errors import SweError, UsageError
from pytest_swe.families import harness_for
from pytest_swe.model import Report
from pytest_swe.regrading import Judging, Regraded, regraded, saved_logs
from pytest_swe.reward import Verdict, verdict_of_error, verdict_of_report


def regrade_run(directory: Path, dataset: str | None = None) -> Iterator[Regraded]:
    """Every saved log of a run. ``dataset`` overrides the one that run.json names.

    Raises UsageError when ``directory`` is no run's.
    """
    try:
        run: Mapping[str, Any] = json.loads((directory / "run.json").read_bytes())
        named = {str(entry["name"]): str(entry["path"]) for entry in run["datasets"]}
        options = run["options"]
        judging = Judging(
            datasets={name: open_dataset(dataset or path) for name, path in named.items()},
            family=options["harness"],
            rules=options.get("rules", "official"),
            looks=options.get("second_look", "doubt") != "off",
            quarantine=Path(options["quarantine"]) if options.get("quarantine") else None,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{directory}: no readable run.json ({error})", hint="name a run's directory") from None
    logs = saved_logs(directory)
    if not logs:
        raise UsageError(f"{directory}: no saved logs below {directory / 'logs'}")
    for path in logs:
        yield regraded(path.parent, judging)


def regrade_elsewhere(directory: Path, dataset: str, generation: Generation = "") -> Iterator[Regraded]:
    """Every saved log below ``directory`` of another tool's run, in swebench's layout.

    Raises UsageError when there is none.
    """
    source, found = open_dataset(dataset), False
    for log in logs_elsewhere(directory):
        found = True
        yield _elsewhere(log, source, generation)
    if not found:
        raise UsageError(f"{directory}: no test_output.txt below it", hint="name a directory of saved logs")


def _elsewhere(log: LogElsewhere, source: Dataset, generation: Generation) -> Regraded:
    before = Verdict("error") if log.resolved is None else Verdict("resolved" if log.resolved else "unresolved")
    try:
        ref = source.ref(log.instance_id)
        row = source.load(ref)
        rules = harness_for(row)
        instance = rules.instance(row, source.origin(ref))
        saved = log_elsewhere(rules, instance, log.patch, log.output, None, generation)
    except (SweError, OSError) as error:
        return Regraded(log.instance_id, log.model, before, before, None, log.place, impossible=str(error))
    report: Report | None = None
    try:
        report = rules.grade(instance, saved)
        after = verdict_of_report(report)
    except SweError as error:
        after = verdict_of_error(error)
    return Regraded(log.instance_id, log.model, before, after, report, log.place)


def is_run(directory: Path) -> bool:
    """Whether ``directory`` is a run of ours, not of another tool (swebench also writes a run.json)."""
    try:
        return "datasets" in json.loads((directory / "run.json").read_bytes())
    except (OSError, ValueError, TypeError):
        return False
