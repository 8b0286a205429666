"""Options of a provider as a user writes them: ``key=value`` texts, checked against what its class takes."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping

from pytest_swe.errors import UsageError

#: The types that a text can be, by the annotation of the parameter.
_TEXTS = ("str", "str | None", "Path | str | None")
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def given(name: str, make: Callable[..., object], texts: Iterable[str]) -> dict[str, object]:
    """``texts`` as keyword arguments of ``make``, the class of the provider ``name``; the last of a key counts.

    Raises UsageError for what is no ``key=value``, an unknown key, a value of the wrong kind.
    """
    found: dict[str, object] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or not key:
            raise UsageError(f"provider option {text}: expected KEY=VALUE")
        found[key] = _value(name, make, key, value)
    return found


def checked(name: str, make: Callable[..., object], options: Mapping[str, object]) -> Mapping[str, object]:
    """``options`` as they are. Raises UsageError for one that ``make`` does not take, with the nearest that it does."""
    for key in options:
        _parameter(name, make, key)
    return options


def _parameter(name: str, make: Callable[..., object], key: str) -> inspect.Parameter:
    known = inspect.signature(make).parameters
    if key in known:
        return known[key]
    near = difflib.get_close_matches(key, known, 1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    raise UsageError(f"provider {name!r} has no option {key!r}: {guess}known are {', '.join(known) or 'none'}")


def _value(name: str, make: Callable[..., object], key: str, text: str) -> object:
    parameter = _parameter(name, make, key)
    default = parameter.default
    try:
        if isinstance(default, bool):
            return _FLAGS[text.lower()]
        if isinstance(default, (int, float)):
            return type(default)(text)
    except (KeyError, ValueError):
        kind = "true or false" if isinstance(default, bool) else "a number"
        raise UsageError(f"provider {name!r}: {key}={text}: expected {kind}") from None
    if isinstance(default, str) or parameter.annotation in _TEXTS:
        return text
    raise UsageError(f"provider {name!r}: {key} cannot be given as text")
