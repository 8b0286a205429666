"""The preflight behind ``--swe-check``: what is wrong with a data set and its predictions, without an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from pytest_swe.dataset.base import RowRef
from pytest_swe.dataset.check_patch import paths_of, remarks_on
from pytest_swe.dataset.check_tests import remarks_on_tests
from pytest_swe.dataset.harbor_tasks import COLUMN, warnings_of
from pytest_swe.dataset.predictions import PredictionRef, Predictions, match
from pytest_swe.dataset.source import Dataset
from pytest_swe.encoding import patch_bytes
from pytest_swe.errors import RowInvalid, Unsupported
from pytest_swe.harness.base import Harness
from pytest_swe.model import Row

Level = Literal["error", "warning", "info"]
Lookup = Callable[[Row], Harness]

#: Unknown instances without a suggestion are told one by one up to this many, then counted.
_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing worth knowing. ``error``: it cannot be evaluated; ``warning``: probably not what was meant.

    ``line`` counts from 1; 0 is the whole file.
    """

    level: Level
    message: str
    path: str = ""
    line: int = 0
    instance_id: str = ""
    field: str = ""

    @property
    def text(self) -> str:
        """The finding in one line, place first."""
        where = f"{self.path}:{self.line}" if self.line else self.path
        return ": ".join(part for part in (where, self.instance_id, self.field, self.message) if part)


def check(dataset: Dataset, predictions: Predictions | None, harness_of: Lookup) -> list[Finding]:
    """Everything that can be known before a sandbox starts, rows first, in file order.

    ``harness_of`` gives the family of a row, or raises RowInvalid. Raises nothing for what is in the files.
    """
    tested: dict[str, frozenset[str]] = {}
    findings = [finding for ref in dataset.refs for finding in _row_findings(dataset, ref, harness_of, tested)]
    if predictions is not None:
        findings += _file_findings(dataset, predictions)
        for prediction in predictions.refs:
            findings += _prediction_findings(predictions, prediction, tested)
    return findings


def _row_findings(
    dataset: Dataset, ref: RowRef, harness_of: Lookup, tested: dict[str, frozenset[str]]
) -> Iterator[Finding]:
    origin = dataset.origin(ref)

    def found(level: Level, field: str, message: str) -> Finding:
        return Finding(
            level=level, message=message, path=origin.path, line=origin.line, instance_id=ref.instance_id, field=field
        )

    try:
        row = dataset.load(ref)
        harness = harness_of(row)
        instance = harness.instance(row, origin)
        gold = b"" if COLUMN in row else harness.gold(instance)  # a Harbor task has no patch
    except RowInvalid as error:
        yield found("error", error.field, str(error.args[0]))
        return
    except Unsupported as error:
        yield found("error", "", str(error))
        return
    for warning in warnings_of(row):
        yield found("warning", "", warning)
    if ref.instance_id != ref.instance_id.strip():
        yield found("warning", "instance_id", f"{ref.instance_id!r} has blanks around it")
    for level, field, message in remarks_on_tests(row):
        yield found(level, field, message)
    test_patch = row.get("test_patch")
    tested[ref.instance_id] = paths_of(patch_bytes(test_patch)) if isinstance(test_patch, str) else frozenset()
    for level, message in remarks_on(gold, tested[ref.instance_id]) if gold else ():
        if level != "info":
            yield found("warning", "patch", message)


def _file_findings(dataset: Dataset, predictions: Predictions) -> Iterator[Finding]:
    for problem in predictions.problems:
        yield Finding(level="error", message=problem)
    for note in predictions.notes:
        yield Finding(level="info", message=note)
    ids = [ref.instance_id for ref in dataset.refs if ref.instance_id]
    path = str(predictions.path)
    strangers: list[PredictionRef] = []
    for unmatched in match(predictions, ids):
        if unmatched.suggestion:
            message = f"not in the data set: did you mean {unmatched.suggestion!r}?"
            yield _about(predictions, unmatched.ref, "error", message)
        else:
            strangers.append(unmatched.ref)
    if len(strangers) > _NAMED:
        some = ", ".join(ref.instance_id for ref in strangers[:_NAMED])
        message = f"{len(strangers)} predictions are for instances that the data set does not have: {some}, ..."
        yield Finding(level="warning", message=message, path=path)
    else:
        for ref in strangers:
            yield _about(predictions, ref, "warning", "not in the data set")
    without = [instance_id for instance_id in ids if not predictions.of(instance_id)]
    if without:
        some = ", ".join(without[:_NAMED]) + (", ..." if len(without) > _NAMED else "")
        yield Finding(level="info", message=f"{len(without)} of {len(ids)} rows have no prediction: {some}", path=path)


def _prediction_findings(
    predictions: Predictions, ref: PredictionRef, tested: dict[str, frozenset[str]]
) -> Iterator[Finding]:
    if ref.kind == "bad":
        yield Finding(level="error", message=ref.problem, instance_id=ref.instance_id)
    elif ref.kind == "empty":
        yield _about(predictions, ref, "warning", "empty patch: unresolved without a sandbox")
    else:
        for level, message in remarks_on(predictions.patch(ref), tested.get(ref.instance_id, frozenset())):
            yield _about(predictions, ref, level, message)


def _about(predictions: Predictions, ref: PredictionRef, level: Level, message: str) -> Finding:
    return Finding(level=level, message=message, path=str(predictions.path), line=ref.line, instance_id=ref.instance_id)
