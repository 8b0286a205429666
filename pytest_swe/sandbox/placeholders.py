"""Values that differ from run to run, and secrets: placeholders in a recording, the run's own values outside it.

The first value of a kind that is met in a sandbox becomes ``<kind:1>``, the next ``<kind:2>``. In a replay the same
happens to what is asked, so both sides read the same; answers get the values that this run has used.
"""

from __future__ import annotations

import functools
import os
import re
import threading
from collections.abc import Mapping

#: A shorter value of a secret variable would be found in words that have nothing to do with it.
SHORTEST_SECRET = 8

_PLACEHOLDER = re.compile(rb"<(?P<name>[A-Za-z_][A-Za-z0-9_.-]*):(?P<number>[A-Za-z0-9_]+)>")


class Placeholders:
    """Those of one sandbox; for several threads. ``kinds``: name -> regular expression of the value.

    Raises re.error for a bad one.
    """

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._kinds = [(name, re.compile(pattern.encode())) for name, pattern in kinds.items()]
        self._met: dict[str, int] = dict.fromkeys(kinds, 0)
        self._secrets: dict[bytes, bytes] = {}
        self._by_value: dict[bytes, bytes] = {}
        self._by_placeholder: dict[bytes, bytes] = {}
        self._lock = threading.RLock()

    def keep_secret(self, env: Mapping[str, str]) -> None:
        """Hide these values from now on, as ``<env:NAME>``."""
        with self._lock:
            for name, value in env.items():
                if len(value) >= SHORTEST_SECRET:
                    placeholder = f"<env:{name}>".encode()
                    self._secrets[os.fsencode(value)] = placeholder
                    self._by_placeholder[placeholder] = os.fsencode(value)

    def hide(self, data: bytes) -> bytes:
        """``data`` with placeholders for values."""
        with self._lock:
            for value in sorted(self._secrets, key=len, reverse=True):
                data = data.replace(value, self._secrets[value])
            for name, pattern in self._kinds:
                data = pattern.sub(functools.partial(self._placeholder, name), data)
        return data

    def show(self, data: bytes) -> bytes:
        """``data`` with this run's values for placeholders; one whose value is not known stays."""
        with self._lock:
            return _PLACEHOLDER.sub(self._value, data)

    def hide_text(self, text: str) -> str:
        """`hide` for an argument or a path."""
        return os.fsdecode(self.hide(os.fsencode(text)))

    def show_text(self, text: str) -> str:
        """`show` for an argument or a path."""
        return os.fsdecode(self.show(os.fsencode(text)))

    def _placeholder(self, name: str, match: re.Match[bytes]) -> bytes:
        value = match[0]
        if value not in self._by_value:
            self._met[name] += 1
            placeholder = f"<{name}:{self._met[name]}>".encode()
            self._by_value[value] = placeholder
            self._by_placeholder[placeholder] = value
        return self._by_value[value]

    def _value(self, match: re.Match[bytes]) -> bytes:
        name, number = match["name"].decode(), match["number"]
        if name in self._met and number.isdigit():
            # One that an answer brings counts as met, as it did when it was recorded.
            self._met[name] = max(self._met[name], int(number))
        return self._by_placeholder.get(match[0], match[0])
