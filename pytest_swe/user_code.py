"""Calls into hooks of users: what one raises costs what asked for it, never the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pytest_swe.errors import SweError
from pytest_swe.reward import verdict_of_error


@contextmanager
def user_code(hook: str) -> Iterator[None]:
    """Turn whatever a hook raises into a SweError (``internal``) that names the hook and the place.

    Errors of our tree, a wrong call and ``pytest.exit`` are meant, and pass.
    """
    try:
        yield
    except (SweError, pytest.UsageError, pytest.exit.Exception):
        raise
    except Exception as error:
        raise SweError(f"{hook}: {verdict_of_error(error).detail}") from error
