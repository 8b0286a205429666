"""Environment variables of a task: which values are templates, and what they stand for. Pure.

As in Harbor 0.25.0 a value is a template only when the whole of it is ``${NAME}`` or ``${NAME:-default}``. A task
cannot reach for the host's environment: only what the user gives is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pytest_swe.errors import UsageError

_TEMPLATE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?\}", re.DOTALL)


def wanted(tables: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    """Names that the values ask for and have no default for, sorted."""
    found = (_TEMPLATE.fullmatch(value) for table in tables for value in table.values())
    return tuple(sorted({match[1] for match in found if match and match[2] is None}))


def require(tables: Iterable[Mapping[str, str]], given: Mapping[str, str]) -> None:
    """Raises UsageError with all names together that nothing is given for; nothing has been started by then."""
    missing = [name for name in wanted(tables) if name not in given]
    if missing:
        raise UsageError(
            f"the task needs {', '.join(missing)} from your environment",
            hint=" ".join(f"--swe-env {name}" for name in missing),
        )


def resolved(table: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The variables with their values; an empty given value counts as given, as long as there is no default.

    Raises UsageError with all names that are missing.
    """
    require([table], given)
    return {name: _value(value, given) for name, value in table.items()}


def secrets_in(table: Mapping[str, str], given: Mapping[str, str]) -> frozenset[str]:
    """Names in ``table`` whose value comes from the user's environment: no log and no file may show those."""
    found = {name: _TEMPLATE.fullmatch(value) for name, value in table.items()}
    return frozenset(name for name, match in found.items() if match and match[1] in given)


def _value(value: str, given: Mapping[str, str]) -> str:
    match = _TEMPLATE.fullmatch(value)
    if match is None:
        return value
    name, default = match[1], match[2]
    if default is None:
        return given[name]
    return given.get(name) or default
