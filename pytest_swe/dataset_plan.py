"""A data set and the items that come of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_swe.dataset.source import Dataset
from pytest_swe.errors import RowInvalid
from pytest_swe.planning import Planned


@dataclass(frozen=True, slots=True)
class DatasetPlan:
    """A data set and the items that come of it."""

    dataset: Dataset
    items: tuple[Planned, ...]
    by_name: Mapping[str, Planned]

    def problem_of(self, planned: Planned) -> str:
        """Why an item cannot be evaluated, with the file and line of a bad row."""
        if planned.ref.problem:
            try:
                self.dataset.load(planned.ref)
            except RowInvalid as error:
                return str(error)
        return planned.problem
