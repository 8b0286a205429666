"""Paths of this host in what is handed on: they say who ran it and where, and mean nothing to whoever reads it. Pure.

Usage errors keep them: those are for whoever typed them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

#: Where a path begins: not in the middle of another one.
_BEGIN = r"(?<![\w.~-])"
#: Where the name of a directory ends; a dot may end a sentence.
_END = r"(?![\w-]|\.\w)"


class HostPaths:
    """Directories of this host as texts show them: what lies below ``places`` relative to it, the home as ``~``."""

    def __init__(self, places: Sequence[str], home: str) -> None:
        known = {form: Path(form).name for place in places for form in (place, os.path.realpath(place))}
        known = {form: "~" for form in (home, os.path.realpath(home))} | known
        known.pop("/", None)
        self._names = known
        self._homes = frozenset(form for form, name in known.items() if name == "~")
        # The longest first: a data set's directory before the one that it is in.
        forms = "|".join(re.escape(form) for form in sorted(known, key=len, reverse=True))
        self._pattern = re.compile(f"{_BEGIN}({forms}){_END}(/?)") if forms else None

    def shown(self, text: str) -> str:
        """``text`` without these directories."""
        return self._pattern.sub(self._short, text) if self._pattern is not None else text

    def shown_in(self, value: object) -> object:
        """The same of every text in a value as JSON has them; names stay."""
        if isinstance(value, str):
            return self.shown(value)
        if isinstance(value, Mapping):
            return {name: self.shown_in(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.shown_in(part) for part in value]
        return value

    def _short(self, match: re.Match[str]) -> str:
        place, slash = match.groups()
        if place in self._homes:
            return f"~{slash}"
        below = slash and match.end() < len(match.string) and not match.string[match.end()].isspace()
        return "" if below else f"{self._names[place]}{slash}"


@lru_cache(maxsize=64)
def host_paths(*places: str) -> HostPaths:
    """Those of ``places``, and of whose host it is."""
    return HostPaths(places, os.path.expanduser("~"))
