"""Whether a path that a user named is a data set: asked of every argument of pytest, so it must be cheap and sure.

A foreign ``.json`` or ``.jsonl`` is none of our business: the first row must name an instance.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO, cast

from pytest_swe.dataset.decode import BOM, loads
from pytest_swe.dataset.sniff import MAX_LINE, kind_of, kind_of_stream, task_repo_root
from pytest_swe.dataset.wrapped import unwrapped
from pytest_swe.harbor.tree import is_meant

#: What is read of an indented document at first, to see its first row; then `MAX_LINE`.
_LOOK = 256 * 1024
#: Columns by which rows without ``instance_id`` are known: Multi-SWE-bench, R2E-Gym, DeepSWE.
_IDENTIFYING = ({"org", "repo", "number"}, {"repo_name", "docker_image"}, {"task_id", "image", "split"})
_DECODER = json.JSONDecoder(strict=False)


def looks_like_dataset(path: Path) -> bool:
    """Whether ``path`` is a task repository (or part of one), holds Harbor tasks, or its first row names an instance.

    Never raises. A parquet or zstd file whose library is missing counts by its suffix: opening it says what to install.
    """
    try:
        if task_repo_root(path) is not None or is_meant(path):
            return True
        return path.is_file() and _has_rows(path)
    except (OSError, EOFError, ValueError, zlib.error, RuntimeError):  # RuntimeError: a link that leads to itself
        return False


def _has_rows(path: Path) -> bool:
    kind = kind_of(path)
    if kind == "parquet":
        return _parquet_has_rows(path)
    if kind == "zstd":
        return _zstd_has_rows(path)
    opener = gzip.open if kind == "gzip" else open
    return _stream_has_rows(lambda: cast("BinaryIO", opener(path, "rb")))


def _stream_has_rows(opened: Callable[[], BinaryIO]) -> bool:
    """Opens the stream anew for each look: one that is decompressed may not go back."""
    with opened() as file:
        kind = kind_of_stream(file)
    if kind == "jsonl":
        with opened() as file:
            return _is_row(_first_line(file))
    for size in (_LOOK, MAX_LINE) if kind == "json" else ():
        with opened() as file, contextlib.suppress(ValueError):
            return _is_row(_first_entry(file.read(size).removeprefix(BOM).decode("utf-8", "replace")))
    return False


def _first_line(file: BinaryIO) -> object:
    while line := file.readline(MAX_LINE):
        if line.removeprefix(BOM).strip():
            return loads(line.removeprefix(BOM))
    return None


def _first_entry(text: str) -> object:
    """The first row of a document of which only the start is there. Raises ValueError when it is not whole."""
    start = _after_blanks(text, 0)
    if text.startswith("[", start):
        return _value_at(text, start + 1)[0]
    with contextlib.suppress(ValueError):  # not whole, or none: perhaps rows by id
        whole = _value_at(text, start)[0]
        if _is_row(whole):
            return whole
    _, end = _value_at(text, start + 1)
    value, _ = _value_at(text, _after_blanks(text, end) + 1)
    if not isinstance(value, dict):
        return _value_at(text, start)[0]
    # A dict keyed by id: the id need not be inside.
    return {"instance_id": "", **value} if {"repo", "base_commit"} <= value.keys() else value


def _value_at(text: str, at: int) -> tuple[object, int]:
    value, end = _DECODER.raw_decode(text, _after_blanks(text, at))
    return value, end


def _after_blanks(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at


def _is_row(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    try:
        row = unwrapped(value)
    except ValueError:
        return True  # it has what only a request for a task has
    return isinstance(row.get("instance_id"), str) or _names_a_row(row.keys())


def _names_a_row(columns: Iterable[str]) -> bool:
    """Whether rows with these columns have an id, though no ``instance_id``."""
    return any(names <= set(columns) for names in _IDENTIFYING)


def _parquet_has_rows(path: Path) -> bool:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        return path.suffix == ".parquet"
    try:
        names = pq.read_schema(path).names
        return "instance_id" in names or _names_a_row(names)
    except pa.ArrowException:
        return False


def _zstd_has_rows(path: Path) -> bool:
    try:
        import zstandard
    except ModuleNotFoundError:
        return path.suffix == ".zst"
    try:
        return _stream_has_rows(lambda: io.BufferedReader(zstandard.open(path)))
    except zstandard.ZstdError:
        return False
