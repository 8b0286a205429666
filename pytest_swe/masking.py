"""Secrets in what comes out of sandboxes and from servers: a mask stands for them wherever it is kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from pytest_swe.model import JSON

#: A shorter value would be found in words that have nothing to do with it.
SHORTEST = 8
MASK = "[key]"


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
