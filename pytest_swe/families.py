"""Which family a row is of: by its columns, or by name; never a silent default."""

from __future__ import annotations

from pytest_swe import registry
from pytest_swe.errors import RowInvalid
from pytest_swe.harness.base import Harness
from pytest_swe.model import Row


def harness_for(row: Row, name: str | None = None) -> Harness:
    """The harness of a row. Raises RowInvalid listing what each family misses, UsageError for an unknown name."""
    if name is not None:
        return registry.harness(name)
    known = [registry.harness(family) for family in registry.harnesses()]
    missing = {harness.name: harness.missing_columns(row) for harness in known}
    fitting = [harness for harness in known if not missing[harness.name]]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = ", ".join(harness.name for harness in fitting)
        raise RowInvalid(f"the columns fit several families: {names}", hint="choose one with --swe-harness")
    lacks = "; ".join(f"{family} needs {', '.join(sorted(columns))}" for family, columns in missing.items())
    raise RowInvalid(f"no family has these columns: {lacks}", instance_id=str(row.get("instance_id", "")))
