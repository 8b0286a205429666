"""Parquet, as the Hugging Face hub serves data sets. Needs the extra ``parquet``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_swe.dataset.arrow import write_rows
from pytest_swe.dataset.base import RowRef
from pytest_swe.dataset.cache import Stamp, materialised
from pytest_swe.dataset.rows import load_line, refs_of_lines
from pytest_swe.dataset.sniff import kind_of
from pytest_swe.model import Row


class ParquetReader:
    """Rows written out as JSON lines in the cache; a row's line is its number in the file."""

    name = "parquet"

    def recognises(self, path: Path) -> bool:
        return kind_of(path) == "parquet"

    def refs(self, path: Path) -> Iterator[RowRef]:
        key = Stamp.of(path).key
        return refs_of_lines(materialised("parquet", key, lambda target: write_rows([path], target)))

    def load(self, ref: RowRef) -> Row:
        return load_line(ref)

    def is_trusted(self, path: Path) -> bool:
        return False
