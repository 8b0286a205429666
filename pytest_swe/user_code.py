"""Calls into hooks of users: what one raises, or returns in error, costs what asked for it, never the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from reprlib import repr as short

import pytest

from pytest_swe.errors import SweError
from pytest_swe.foreign_code import foreign_code


@contextmanager
def user_code(hook: str) -> Iterator[None]:
    """Turn whatever a hook raises into a SweError (``internal``) that names the hook and the place.

    Errors of our tree, a wrong call and ``pytest.exit`` are meant, and pass.
    """
    with foreign_code(hook, passing=(pytest.UsageError, pytest.exit.Exception)):
        yield


def refuse_other(found: object, hook: str, expected: str, methods: tuple[str, ...]) -> None:
    """Raises SweError for what a hook returned when it is none: no text as ``name``, or not these methods."""
    with user_code(hook):
        lacking = [name for name in methods if not callable(getattr(found, name, None))]
        if not isinstance(getattr(found, "name", None), str):
            lacking.insert(0, "name")
    if lacking:
        raise SweError(f"{hook} returned {short(found)}, which has no {', '.join(lacking)}: expected {expected}")
