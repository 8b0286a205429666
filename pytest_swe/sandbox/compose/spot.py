"""A place in a compose file: where a message about it points, and values of it as the type that they must have."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_swe.errors import RowInvalid, Unsupported

#: What a compose file is after reading: every scalar is its text.
Value = None | str | list["Value"] | dict[str, "Value"]

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


@dataclass(frozen=True, slots=True)
class Spot:
    """``path`` are the keys that lead to it, from the file's root."""

    file: Path
    path: tuple[str, ...] = ()

    def __truediv__(self, key: str | int) -> Spot:
        return Spot(self.file, (*self.path, str(key)))

    def invalid(self, message: str, *, hint: str = "") -> RowInvalid:
        """What cannot be understood."""
        return RowInvalid(message, path=self.file, field=".".join(self.path), hint=hint)

    def refused(self, why: str, *, hint: str = "") -> Unsupported:
        """What is understood, and not given; the message names service and key."""
        return Unsupported(f"{self.file.name}: {self._words()} is refused: {why}", hint=hint)

    def _words(self) -> str:
        if len(self.path) > 2 and self.path[0] == "services":
            return f"service {self.path[1]}: {'.'.join(self.path[2:])}"
        return ".".join(self.path)

    # Values, each of the type that is wanted. All raise RowInvalid.

    def mapping(self, value: Value) -> dict[str, Value]:
        """Nothing is an empty one."""
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.invalid(f"expected a mapping, found {shown(value)}")
        return value

    def text(self, value: Value) -> str:
        if not isinstance(value, str):
            raise self.invalid(f"expected a text, found {shown(value)}")
        return value

    def texts(self, value: Value) -> list[str]:
        """One text is a list of one."""
        if isinstance(value, str):
            return [value]
        if not isinstance(value, list):
            raise self.invalid(f"expected a list of texts, found {shown(value)}")
        return [(self / number).text(item) for number, item in enumerate(value)]

    def flag(self, value: Value) -> bool:
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        raise self.invalid(f"expected true or false, found {shown(value)}")

    def whole(self, value: Value) -> int:
        text = value.strip() if isinstance(value, str) else ""
        if not text.isascii() or not text.isdecimal():
            raise self.invalid(f"expected a whole number, found {shown(value)}")
        return int(text)

    def number(self, value: Value) -> float:
        found = re.fullmatch(r"\d+(?:\.\d+)?", value.strip()) if isinstance(value, str) else None
        if found is None:
            raise self.invalid(f"expected a number, found {shown(value)}")
        return float(found[0])

    def size(self, value: Value) -> int:
        """Bytes."""
        found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
        if found is None:
            raise self.invalid(f"expected a size such as 512m, found {shown(value)}")
        return int(float(found[1]) * _UNITS[found[2].lower()])

    def only(self, value: Mapping[str, Value], known: Collection[str], refused: Mapping[str, str]) -> None:
        """Raise for a key that is none of ``known``: Unsupported with the reason of ``refused``, else RowInvalid."""
        for key in value:
            if key in known or key.startswith("x-"):
                continue
            if key in refused:
                raise (self / key).refused(refused[key])
            near = difflib.get_close_matches(key, [*known, *refused], 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(known))}"
            raise (self / key).invalid("unknown key", hint=hint)


def shown(value: object) -> str:
    """For messages: what kind of value it is, and of a text the beginning."""
    if isinstance(value, str):
        return repr(value if len(value) < 60 else value[:57] + "...")
    return {dict: "a mapping", list: "a list", type(None): "nothing"}.get(type(value), "something else")
