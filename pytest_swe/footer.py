"""What stands below a run: counts and rates of each model, what came from earlier, what did not run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from pytest_swe.planning import Planned
from pytest_swe.report.baseline import Comparison, told
from pytest_swe.report.summary import ModelSummary
from pytest_swe.rewards_file import RewardsFile
from pytest_swe.run import Run


def rates(summary: ModelSummary) -> Iterable[str]:
    name = f"{summary.model}: " if summary.model else ""
    counts = [f"{summary.resolved} resolved", f"{summary.unresolved} unresolved", f"{summary.error} error"]
    counts += [
        f"{count} {word}" for count, word in ((summary.skipped, "skipped"), (summary.missing, "missing")) if count
    ]
    yield f"{name}{', '.join(counts)} of {summary.expected} expected"
    measured = f", {summary.of_measured:.1%} of measured" if summary.of_measured is not None else ""
    yield f"  rate {summary.rate:.1%} (95 % interval {summary.low:.1%} to {summary.high:.1%}){measured}"
    if len(summary.repos) > 1:
        yield "  " + ", ".join(f"{repo or '-'} {good}/{total}" for repo, (good, total) in summary.repos.items())
    for found in summary.pass_at:
        spread = f"95 % interval {found.low:.1%} to {found.high:.1%}"
        yield f"  pass@{found.k} {found.rate:.1%} ({spread}) over {found.instances} instances"
    if summary.flaky:
        yield f"  flaky: {len(summary.flaky)} of the repeated ({', '.join(summary.flaky[:5])})"
    if summary.reasons:
        yield "  reasons: " + ", ".join(f"{reason} {count}" for reason, count in summary.reasons.items())


def beside_others(run: Run, rewards: RewardsFile, baseline: Callable[[], Comparison | None]) -> Iterable[str]:
    """What came from earlier, and how this run stands beside the baseline."""
    if rewards.resumed:
        yield f"resumed: {rewards.resumed} of these lines are from before"
    again = len(run.outdated)
    if again:
        yield f"evaluated again: {again} answers were of an image that is another now under the same name"
    cached = sum("cached" in line["flags"] for line in rewards.lines)
    if cached:
        yield f"cached: {cached} of these lines are from {run.settings.cache}"
    held = sum(line["instance_id"] in run.quarantine.instances for line in rewards.lines)
    if held:
        yield f"in quarantine: {held} of these lines, in no count above"
    found = baseline()
    if found is not None:
        yield f"beside {short(run.settings.baseline or Path())}: {told(found)}"


def names(missing: list[Planned], shown: int = 5) -> str:
    more = f" and {len(missing) - shown} more" if len(missing) > shown else ""
    return f"{len(missing)} ({', '.join(planned.name for planned in missing[:shown])}{more})"


def resume_options(run: Run) -> str:
    """What makes the same command go on with this run."""
    if run.settings.rewards is not None:
        return "--swe-resume"
    return f"--swe-resume --swe-run-id {run.run_id}"


def short(path: Path) -> str:
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
