"""JSON lines: one object a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_swe.dataset.base import RowRef
from pytest_swe.dataset.rows import load_line, refs_of_lines
from pytest_swe.dataset.sniff import kind_of
from pytest_swe.model import Row


class JsonlReader:
    """Rows where they stand: nothing is copied."""

    name = "jsonl"

    def recognises(self, path: Path) -> bool:
        return kind_of(path) == "jsonl"

    def refs(self, path: Path) -> Iterator[RowRef]:
        return refs_of_lines(path)

    def load(self, ref: RowRef) -> Row:
        return load_line(ref)

    def is_trusted(self, path: Path) -> bool:
        return False
