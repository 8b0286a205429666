"""What a file or directory holds, by its content: a suffix is a hint that is often wrong and never asked."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, Literal

from pytest_swe.dataset.decode import BOM, loads
from pytest_swe.harbor.tree import harbor_root

Kind = Literal["jsonl", "json", "parquet", "gzip", "zstd", "task-repo", "harbor-tasks", "utf-16", "git-lfs", "unknown"]

#: A first line longer than this is not looked at; the longest of SWE-bench is under 2 MiB.
MAX_LINE = 64 * 1024 * 1024
_LOOK = 64 * 1024
_MAGIC: tuple[tuple[bytes, Kind], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"PAR1", "parquet"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"version https://git-lfs.github.com/", "git-lfs"),
)

#: What a file is that somebody took for data, and what to do about it.
NO_DATA: Mapping[Kind, tuple[str, str]] = {
    "utf-16": ("UTF-16 text", "write it as UTF-8"),
    "git-lfs": ("a git-lfs pointer, not the file", "git lfs pull"),
}


def kind_of(path: Path) -> Kind:
    """What ``path`` holds. Raises OSError when it cannot be read; a pipe or a device is ``unknown``."""
    if task_repo_root(path) is not None:
        return "task-repo"
    if harbor_root(path) is not None:
        return "harbor-tasks"
    if not stat.S_ISREG(os.stat(path).st_mode):
        return "unknown"
    with open(path, "rb") as file:
        return kind_of_stream(file)


def kind_of_stream(file: BinaryIO) -> Kind:
    """The same for an open file at its start; leaves it anywhere."""
    head = file.read(_LOOK)
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    head += file.readline(MAX_LINE)
    if not head.removeprefix(BOM).strip():
        return "jsonl"
    if head.removeprefix(BOM).lstrip()[:1] not in (b"{", b"["):
        # Perhaps a first line that is broken: one line costs one row.
        return "jsonl" if any(_is_object(line) for line in head.split(b"\n")) else "unknown"
    return _kind_of_text(head.removeprefix(BOM) + file.read(_LOOK))


def _kind_of_text(text: bytes) -> Kind:
    lines = io.BytesIO(text)
    first = next((line for line in lines if line.strip()), b"")
    second = next((line for line in lines if line.strip()), b"")
    try:
        value = loads(first, any_bytes=True)
    except ValueError:
        # Either the first line of an indented document, or a broken line of JSONL. In JSONL, objects start lines.
        opens_object = first.lstrip().startswith(b"{")
        return "jsonl" if opens_object and (not second or second.startswith(b"{")) else "json"
    if second:
        return "jsonl"
    return "jsonl" if isinstance(value, dict) and "instance_id" in value else "json"


def _is_object(line: bytes) -> bool:
    try:
        return line.startswith(b"{") and isinstance(loads(line, any_bytes=True), dict)
    except ValueError:
        return False


def task_repo_root(path: Path) -> Path | None:
    """The root of the SWE-bench 5 task repository that ``path`` names: itself, its sweb.yaml, or one tasks/<id>."""
    root = path
    if path.name == "sweb.yaml":
        root = path.parent
    elif path.parent.name == "tasks" and (path / "task.yaml").is_file():
        root = path.parent.parent
    return root if (root / "sweb.yaml").is_file() and (root / "tasks").is_dir() else None


def tree_root(path: Path) -> Path | None:
    """The root of a data set that is a tree of directories, when ``path`` names one. Raises OSError."""
    return task_repo_root(path) or harbor_root(path)
