"""The files of a task: listed, bounded and hashed. Only what Harbor publishes of a task is looked at.

The digest is that of Harbor's package publisher: SHA-256 over ``path NUL sha256 LF`` of every file, by path.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_swe.errors import RowInvalid

CONFIG = "task.toml"
INSTRUCTION = "instruction.md"
TRAJECTORY = "trajectory.json"
_FILES = (CONFIG, INSTRUCTION, "README.md", TRAJECTORY)
_DIRECTORIES = ("environment", "tests", "solution", "steps")
#: What is left behind by other programs and belongs to no task.
_LEFT_OUT = frozenset({".DS_Store", ".git", "__pycache__"})

#: A task may be so large; more is a mistake, or an attack.
MAX_FILES = 20_000
MAX_BYTES = 4 * 1024**3
#: A text that is read whole: the configuration, an instruction.
MAX_TEXT = 1024 * 1024


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A file of a task: its size in bytes, whether it can be executed, the SHA-256 of its content in hex."""

    size: int
    executable: bool
    sha256: str


@dataclass(slots=True)
class _Bounds:
    path: Path
    files: int = 0
    size: int = 0

    def count(self, size: int = 0) -> None:
        self.files += 1
        self.size += size
        if self.files > MAX_FILES:
            raise RowInvalid(f"more than {MAX_FILES} files and directories", path=self.path)
        if self.size > MAX_BYTES:
            raise RowInvalid(f"more than {MAX_BYTES // 1024**3} GiB of files", path=self.path)


@dataclass(frozen=True, slots=True)
class _Walk:
    root: Path
    bounds: _Bounds = field(repr=False)

    def all(self) -> Iterator[Path]:
        for name in _FILES:
            path = self.root / name
            if self._inside(path).is_dir():
                raise RowInvalid("a directory where a file is expected", path=path)
            if os.path.lexists(path):
                yield self._file(path)
        for name in _DIRECTORIES:
            if (self.root / name).is_dir():
                yield from self._below(self._inside(self.root / name), frozenset())

    def _below(self, place: Path, above: frozenset[Path]) -> Iterator[Path]:
        self.bounds.count()
        inner = real(place)
        if inner in above:
            raise RowInvalid("a link to a directory that it stands in", path=place)
        for entry in sorted(os.scandir(place), key=lambda entry: entry.name):
            path = Path(entry.path)
            if entry.name in _LEFT_OUT:
                continue
            if os.path.isdir(path):  # False for a link that leads to itself
                yield from self._below(self._inside(path), above | {inner})
            else:
                yield self._file(path)

    def _file(self, path: Path) -> Path:
        # Asked before anything is opened: to open a pipe is to wait for its other end.
        if not self._inside(path).is_file():
            raise RowInvalid("neither a file nor a directory", path=path)
        self.bounds.count(path.stat().st_size)
        return path

    def _inside(self, path: Path) -> Path:
        if path.is_symlink() and not real(path).is_relative_to(self.root):
            raise RowInvalid("a link that leads out of the task", path=path)
        return path


def real(path: Path) -> Path:
    """What a path leads to; a link that leads to itself is itself. `Path.resolve` raises for that."""
    return Path(os.path.realpath(path))


def files_of(root: Path) -> dict[str, TaskFile]:
    """Every file of the task in ``root`` (resolved) by its path below it, links to files as what they lead to.

    Raises RowInvalid naming the path: a link out of the task, what is no file, too much, or not readable.
    """
    found: dict[str, TaskFile] = {}
    try:
        for path in _Walk(root, _Bounds(root)).all():
            stat = path.stat()
            with open(path, "rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            executable = bool(stat.st_mode & 0o111)
            found[path.relative_to(root).as_posix()] = TaskFile(stat.st_size, executable, content)
    except OSError as error:
        raise RowInvalid(f"cannot be read: {error.strerror}", path=error.filename or root) from error
    return found


def stamps_of(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The same files without their content, for a look that must be cheap. Raises RowInvalid, OSError."""
    for path in _Walk(root, _Bounds(root)).all():
        yield path.relative_to(root).as_posix(), path.stat()


def digest_of(files: Mapping[str, TaskFile]) -> str:
    """``sha256:`` and 64 hex digits: the same for the same names and contents."""
    seen = hashlib.sha256()
    for path in sorted(files):
        seen.update(f"{path}\0{files[path].sha256}\n".encode("utf-8", "surrogateescape"))
    return f"sha256:{seen.hexdigest()}"


def text_of(path: Path) -> bytes:
    """A text that is read whole. Raises RowInvalid when it is missing or too long."""
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_TEXT + 1)
    except OSError as error:
        raise RowInvalid(f"cannot be read: {error.strerror}", path=path) from error
    if len(raw) > MAX_TEXT:
        raise RowInvalid(f"longer than {MAX_TEXT // 1024} KiB", path=path)
    return raw


def below(files: Mapping[str, TaskFile], directory: str) -> dict[str, str]:
    """Files of a directory of the task: path below it -> path in the task."""
    prefix = f"{directory}/"
    return {path.removeprefix(prefix): path for path in sorted(files) if path.startswith(prefix)}
