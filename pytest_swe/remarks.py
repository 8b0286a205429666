"""What is said once of a whole run: predictions that no item came of, what nobody reads in tasks, an idle option."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_swe.dataset.harbor_tasks import FAMILY, warnings_in
from pytest_swe.dataset.predictions import match
from pytest_swe.outputs import NO_TASKS, has_tasks
from pytest_swe.planning import Source
from pytest_swe.run import Run

#: Of one kind this many are told one by one, the rest is counted.
TOLD = 5


def remarks(run: Run) -> list[str]:
    """One line each, in file order; empty when all that was given was used, every prediction and key of a task."""
    ids = {ref.instance_id for plan in run.plans.values() for ref in plan.dataset.refs}
    idle = [NO_TASKS] if run.settings.harbor_results is not None and not has_tasks(run) else []
    return [*(line for source in run.sources() for line in _of(source, ids)), *_some(list(_unread(run))), *idle]


def _unread(run: Run) -> Iterator[str]:
    """Of each task that is a part of the run, whatever agents and repeats there are."""
    for plan in run.plans.values():
        refs = {item.ref.data: item.ref for item in plan.items if item.ref.family == FAMILY and not item.ref.problem}
        for place, ref in refs.items():
            yield from (f"{ref.instance_id}: {warning}" for warning in warnings_in(Path(place)))


def _of(source: Source, ids: set[str]) -> Iterator[str]:
    if source.predictions is None:
        return
    yield from source.predictions.notes
    yield from _some(list(source.predictions.problems))
    unmatched = match(source.predictions, ids)
    yield from _some([f"{source.name}: {one}" for one in unmatched if one.suggestion])
    others = sum(not one.suggestion for one in unmatched)
    if others:
        yield f"{source.name}: {others} predictions for instances that are not in the data set"


def _some(lines: list[str]) -> Iterator[str]:
    yield from lines[:TOLD]
    if len(lines) > TOLD:
        yield f"... and {len(lines) - TOLD} more like that"
