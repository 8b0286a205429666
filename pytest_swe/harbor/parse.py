"""From the bytes of a ``task.toml`` to its model: one clear line for what is wrong, a warning for what is not read."""

from __future__ import annotations

import difflib
import re
import reprlib
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pytest_swe.errors import RowInvalid
from pytest_swe.harbor.schema import Table, TaskConfig

#: Keys that older schemas had and that mean nothing any more, with what to write today.
_DROPPED: Mapping[str, str] = {"multi_step_reward_mode": "multi_step_reward_strategy"}
_QUOTED = re.compile(r"'([^']*)'")
_AT_LINE = re.compile(r" \(at line (\d+), column \d+\)")


def parse(raw: bytes, path: Path) -> tuple[TaskConfig, tuple[str, ...]]:
    """The model, and what nobody reads in the file, one line each. Raises RowInvalid with file, line and field."""
    text, document = _document(raw, path)
    try:
        config = TaskConfig.model_validate(document)
    except ValidationError as error:
        field, message = _first_problem(error, document)
        raise RowInvalid(message, path=path, line=_line_of(field, text), field=field) from None
    return config, tuple(f"{path.name}: {found}" for found in _unread(config, ""))


def _document(raw: bytes, path: Path) -> tuple[str, Mapping[str, object]]:
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
        return text, tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise RowInvalid(f"not UTF-8 (byte {error.start})", path=path) from None
    except tomllib.TOMLDecodeError as error:
        found = _AT_LINE.search(str(error))
        message = f"not TOML: {_AT_LINE.sub('', str(error))}"
        raise RowInvalid(message, path=path, line=int(found[1]) if found else 0) from None
    except RecursionError:
        raise RowInvalid("not TOML: nested too deeply", path=path) from None


def _first_problem(error: ValidationError, document: Mapping[str, object]) -> tuple[str, str]:
    """The field as it is written, and what is wrong with it."""
    first = error.errors(include_url=False)[0]
    keys = _keys(first["loc"], document, is_missing=first["type"] == "missing")
    return _written(keys), _message(first)


def _message(found: ErrorDetails) -> str:
    context = found.get("ctx", {})
    if found["type"] == "missing":
        return "expected a value, got none"
    if found["type"] == "value_error":
        return str(context["error"])
    got = found["input"]
    if found["type"] == "literal_error":
        near = difflib.get_close_matches(str(got), _QUOTED.findall(str(context["expected"])), 1)
        guess = f"; did you mean {near[0]!r}?" if near else ""
        return f"expected {context['expected']}, got {reprlib.repr(got)}{guess}"
    expected = found["msg"].removeprefix("Input should be ").partition(",")[0].replace("a valid ", "a ")
    return f"expected {expected}, got {_kind(got)} {reprlib.repr(got)}"


def _kind(value: object) -> str:
    names = {bool: "the truth value", str: "the string", dict: "the table", list: "the array"}
    return names.get(type(value), "the number" if isinstance(value, (int, float)) else type(value).__name__)


def _keys(loc: tuple[int | str, ...], document: object, *, is_missing: bool) -> list[int | str]:
    """The part of pydantic's location that is in the file: it also names members of unions and validators."""
    keys: list[int | str] = []
    value = document
    for number, key in enumerate(loc):
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        elif is_missing and number == len(loc) - 1:
            pass
        else:
            continue
        keys.append(key)
    return keys


def _written(keys: list[int | str]) -> str:
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f"{'.' if text else ''}{key}"
    return text


def _line_of(field: str, text: str) -> int:
    """The line that gives ``field`` a value, where only one can; else 0."""
    key = field.rpartition(".")[2].partition("[")[0]
    line = re.compile(rf"\s*(\[+\s*)?([\w.-]+\.)?{re.escape(key)}\s*[=\]]")
    found = [number for number, written in enumerate(text.split("\n"), 1) if key and line.match(written)]
    return found[0] if len(found) == 1 else 0


def _unread(table: Table, place: str) -> Iterator[str]:
    """Keys that no field has, here and below."""
    for key in table.model_extra or {}:
        yield f"{_at(place, key)} is not read{_hint(key, type(table), place)}"
    for name in type(table).model_fields:
        value = getattr(table, name)
        for part, inside in _tables(value):
            yield from _unread(inside, _at(place, f"{name}{part}"))


def _tables(value: object) -> Iterator[tuple[str, Table]]:
    if isinstance(value, Table):
        yield "", value
    elif isinstance(value, tuple):
        yield from ((f"[{number}]", each) for number, each in enumerate(value) if isinstance(each, Table))


def _at(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _hint(key: str, table: type[Table], place: str) -> str:
    if not place and key in _DROPPED:
        return f": write {_DROPPED[key]}"
    near = difflib.get_close_matches(key, table.model_fields, 1, 0.6)
    if near:
        return f": did you mean {near[0]}?"
    if place and key in TaskConfig.model_fields:
        return f": {key} is a key of the whole file, it must stand above the first [table]"
    return f"; known here are {', '.join(table.model_fields)}"
