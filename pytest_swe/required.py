"""FAIL_TO_PASS and PASS_TO_PASS in every form that data sets use, as one tuple of test ids."""

from __future__ import annotations

import ast
import json
import reprlib
from typing import Protocol, runtime_checkable

EXPECTED = "expected test ids as a list, a JSON list in a string, or the Python repr of one"


@runtime_checkable
class _ArrayLike(Protocol):
    """numpy.ndarray, pyarrow.Array."""

    def tolist(self) -> object: ...


@runtime_checkable
class _ScalarLike(Protocol):
    """pyarrow.ListScalar."""

    def as_py(self) -> object: ...


def required_tests(value: object) -> tuple[str, ...]:
    """The test ids in ``value``, in its order, duplicates kept.

    Accepts a list, a tuple, a numpy or pyarrow array, a JSON list in a string (Verified, Lite), or the Python repr
    of a list or tuple in a string (SWE-bench Pro), read with `ast.literal_eval`: nothing is ever executed.
    Raises ValueError, in one line, for anything else, an entry that is not a string included.
    """
    tests = _listed(value)
    for number, test in enumerate(tests, 1):
        if not isinstance(test, str):
            raise ValueError(f"{EXPECTED}; entry {number} is {_shown(test)}")
    return tuple(str(test) for test in tests)


def _listed(value: object) -> list[object] | tuple[object, ...]:
    found = value
    if isinstance(value, str):
        found = _parsed(value)
    elif isinstance(value, _ArrayLike):
        found = value.tolist()
    elif isinstance(value, _ScalarLike):
        found = value.as_py()
    if isinstance(found, (list, tuple)):
        return found
    raise ValueError(f"{EXPECTED}, got {_shown(value)}")


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass  # not JSON: perhaps a repr
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    return f"{type(value).__name__} {reprlib.repr(value)}"
