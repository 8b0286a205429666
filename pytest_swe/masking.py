"""Secrets in what comes out of sandboxes and from servers: a mask stands for them wherever it is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from pytest_swe.model import JSON

#: A shorter value would be found in words that have nothing to do with it.
SHORTEST = 8
MASK = "[key]"

#: In a name in lower case: it says that its value is a secret. ``max_tokens`` is a number.
_SECRET = re.compile(
    r"authorization|bearer|cookie|token(?!s)|secret|passw|passphrase|credential"
    r"|(api|access|private)[-_]?key|(^|[-_.])(auth|pwd|key)([-_.]|$)"
)


def without_secret(text: str) -> str:
    """``NAME=VALUE`` as it may be written down: ``NAME=***`` where the name says that the value is a secret."""
    name, equals, _ = text.partition("=")
    return f"{name}=***" if equals and _SECRET.search(name.lower()) else text


class Secrets:
    """Values that may show up in what others print. Those of less than `SHORTEST` letters do not count."""

    def __init__(self, values: Iterable[str]) -> None:
        self._values = sorted({value for value in values if len(value) >= SHORTEST}, key=len, reverse=True)

    def masked(self, data: bytes) -> bytes:
        """``data`` with `MASK` in place of each value, as it is or as JSON writes it."""
        for value in self._values:
            for form in (value.encode(), json.dumps(value)[1:-1].encode()):
                data = data.replace(form, MASK.encode())
        return data

    def masked_text(self, text: str) -> str:
        return self.masked(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def masked_json(self, value: JSON) -> JSON:
        """The same with `masked_text` for each text in it; names stay."""
        if isinstance(value, str):
            return self.masked_text(value)
        if isinstance(value, Mapping):
            return {name: self.masked_json(part) for name, part in value.items()}
        if isinstance(value, Sequence):
            return [self.masked_json(part) for part in value]
        return value
