"""Code of users and of other packages: what it raises costs what asked for it, and names who it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pytest_swe.errors import SweError
from pytest_swe.reward import verdict_of_error


@contextmanager
def foreign_code(
    name: str, *, error: type[SweError] = SweError, passing: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """Turn whatever the block raises into ``error``, which names ``name``, what was raised and where.

    Errors of our tree are meant, and pass; so do those of ``passing``.
    """
    meant: tuple[type[Exception], ...] = (SweError, *passing)
    try:
        yield
    except meant:
        raise
    except Exception as raised:
        raise error(f"{name}: {verdict_of_error(raised).detail}") from raised
