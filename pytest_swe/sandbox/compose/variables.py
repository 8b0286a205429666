"""``${NAME}`` in a compose file, by what the caller gave alone: the host's environment is never looked at.

Grammar: https://docs.docker.com/reference/compose-file/interpolation/
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_swe.sandbox.compose.spot import Spot, Value

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_OPERATOR = re.compile(r":?[-?+]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variables:
    """What names stand for. ``secrets`` are those that only environments of sidecars may hold.

    ``missing_may_be``: a name without a value is nothing in an environment; for work that ends before a start.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    secrets: frozenset[str] = frozenset()
    missing_may_be: bool = False

    def everywhere(self, value: Value, spot: Spot) -> Value:
        """``value`` with every text in it, keys aside, interpolated. Raises RowInvalid, Unsupported."""
        if isinstance(value, str):
            return self.text(value, spot)
        if isinstance(value, list):
            return [self.everywhere(item, spot / number) for number, item in enumerate(value)]
        if isinstance(value, dict):
            return {key: self.everywhere(item, spot / key) for key, item in value.items()}
        return value

    def text(self, text: str, spot: Spot) -> str:
        """Raises RowInvalid for what has no value or is no variable, Unsupported for a secret where none may be."""
        found, end = self._until(text, 0, spot, nested=False)
        assert end == len(text)
        return found

    def named(self, name: str, spot: Spot) -> str | None:
        """The value of ``name``, checked for its place; None when it has none."""
        if name in self.secrets and not _in_sidecar_environment(spot):
            raise spot.refused(f"{name} is a secret", hint="secrets are for environment: of services other than main")
        return self.values.get(name)

    def _until(self, text: str, at: int, spot: Spot, *, nested: bool) -> tuple[str, int]:
        """Interpolate from ``at`` to the end, or, nested, to the brace that closes it."""
        parts: list[str] = []
        while at < len(text):
            if nested and text[at] == "}":
                break
            if text[at] != "$":
                parts.append(text[at])
                at += 1
            elif text.startswith("$$", at):
                parts.append("$")
                at += 2
            else:
                value, at = self._variable(text, at + 1, spot)
                parts.append(value)
        return "".join(parts), at

    def _variable(self, text: str, at: int, spot: Spot) -> tuple[str, int]:
        braced = text.startswith("{", at)
        name = _NAME.match(text, at + braced)
        if name is None:
            raise spot.invalid("a dollar that begins no variable", hint="write $$ for a dollar")
        if not braced:
            return self._needed(name[0], spot), name.end()
        operator = _OPERATOR.match(text, name.end())
        word, end = self._until(text, operator.end(), spot, nested=True) if operator else ("", name.end())
        if not text.startswith("}", end):
            raise spot.invalid(f"${{{name[0]} is not closed, or has an unknown operator")
        if operator is None:
            return self._needed(name[0], spot), end + 1
        return self._chosen(name[0], operator[0], word, spot), end + 1

    def _chosen(self, name: str, operator: str, word: str, spot: Spot) -> str:
        value = self.named(name, spot)
        is_set = bool(value) if operator.startswith(":") else value is not None
        if operator.endswith("+"):
            return word if is_set else ""
        if is_set:
            return value or ""
        if operator.endswith("-"):
            return word
        return self._missing(name, spot, f": {word}" if word else "")

    def _needed(self, name: str, spot: Spot) -> str:
        value = self.named(name, spot)
        return value if value is not None else self._missing(name, spot)

    def _missing(self, name: str, spot: Spot, words: str = "") -> str:
        if self.missing_may_be and _in_environment(spot):
            return ""
        raise spot.invalid(
            f"${{{name}}} has no value{words}", hint=f"give it: --swe-compose-var {name}=VALUE or env:NAME"
        )


def _in_environment(spot: Spot) -> bool:
    return len(spot.path) > 3 and spot.path[0] == "services" and spot.path[2] == "environment"


def _in_sidecar_environment(spot: Spot) -> bool:
    return _in_environment(spot) and spot.path[1] != "main"
