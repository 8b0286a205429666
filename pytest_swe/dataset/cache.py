"""Files that are made once per host: indexes, and other formats written out as JSONL.

They stand in ``PYTEST_SWE_CACHE_DIR``, else ``$XDG_CACHE_HOME/pytest-swe``, else ``~/.cache/pytest-swe``, else (that
cannot be written) in a directory of this user's own under the temporary directory. All of it can be deleted at will;
what was not used for 30 days is.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pytest_swe.errors import UsageError

#: File systems stamp times by the timer tick (4 or 10 ms on Linux): a file this young could change unseen.
_TICK = 0.05
_KEEP_SECONDS = 30 * 24 * 3600
_LOCK_SECONDS = 600
_OURS = re.compile(r"(?P<label>[\w.-]+)-[0-9a-f]{32}(-\d+\.jsonl|\.json)(\.lock)?")


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells one content of a file from another without reading it."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> Stamp:
        """The stamp of a file, waited for until any later write must change it. Raises OSError."""
        found = os.stat(path)
        if wait_out(max(found.st_mtime, found.st_ctime)):
            found = os.stat(path)
        return cls(os.path.abspath(path), found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)

    @property
    def key(self) -> str:
        return short_hash(repr(self))


def wait_out(changed: float) -> bool:
    """Sleep until a file that changed at that time must show any later change; whether that took any time."""
    age = time.time() - changed
    if not 0 <= age < _TICK:
        return False
    time.sleep(_TICK - age)
    return True


def short_hash(text: str) -> str:
    """A file name for any text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def readable() -> Iterator[Path]:
    """Where cached files may stand, best first; they need not exist."""
    named = os.environ.get("PYTEST_SWE_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if named or os.path.isabs(base):
        yield Path(named).absolute() if named else Path(base) / "pytest-swe"
    shared = Path(tempfile.gettempdir()) / f"pytest-swe-{os.getuid()}"
    if _is_own(shared):
        yield shared


def _is_own(directory: Path) -> bool:
    """Whether nobody else can have put files there; True when it does not exist yet."""
    try:
        found = os.lstat(directory)
    except OSError:
        return True
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def writable() -> Path | None:
    """The first directory of `readable` that takes files, made when missing; None when none does."""
    for directory in readable():
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, probe = tempfile.mkstemp(dir=directory)
            os.close(handle)
            os.unlink(probe)
        except OSError:
            continue
        if directory.parent != Path(tempfile.gettempdir()) or _is_own(directory):
            return directory
    return None


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of ``path`` among the processes of this host.

    Where the file system has no locks, or the holder takes ten minutes, goes on without: writes are atomic, so the
    work is only done twice.
    """
    from filelock import FileLock

    lock = FileLock(f"{path}.lock", timeout=_LOCK_SECONDS)
    try:
        lock.acquire()
    except (OSError, NotImplementedError):
        yield
        return
    try:
        yield
    finally:
        lock.release()


def write_atomically(directory: Path, write: Callable[[BinaryIO], object], name: Callable[[int], str]) -> Path:
    """A file in ``directory`` that is whole or not there; ``name`` is given its size. Raises OSError."""
    handle, made = tempfile.mkstemp(dir=directory, prefix="unfinished-")
    try:
        with open(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
            path = directory / name(file.tell())
        os.replace(made, path)
    except BaseException:
        os.unlink(made)
        raise
    return path


def materialised(label: str, key: str, write: Callable[[BinaryIO], object]) -> Path:
    """The JSONL file that ``write`` makes of the content that ``key`` stands for, made once per host.

    ``label`` is for people and tells conversions apart. Raises UsageError when there is no place for the file, and
    what ``write`` raises.
    """
    base = f"{label}-{short_hash(f'{label} {key}')}"
    for directory in readable():
        if (found := _intact(directory, base)) is not None:
            return found
    place = writable()
    if place is None:
        raise UsageError("no directory for converted data sets can be written", hint="set PYTEST_SWE_CACHE_DIR")
    with locked(place / f"{base}.json"):
        if (found := _intact(place, base)) is not None:
            return found
        _prune(place)
        try:
            return write_atomically(place, write, lambda size: f"{base}-{size}.jsonl")
        except OSError as error:
            raise UsageError(f"cannot write to {place}: {error.strerror}", hint="set PYTEST_SWE_CACHE_DIR") from error


def label_of(path: Path) -> str:
    """The label of a materialised file, empty for any other path."""
    ours = _OURS.fullmatch(path.name)
    return ours["label"] if ours and path.parent in readable() else ""


def is_intact(path: Path) -> bool:
    """Whether a materialised file still has the size that is in its name."""
    try:
        return path.stat().st_size == int(path.stem.rpartition("-")[2])
    except (OSError, ValueError):
        return False


def _intact(directory: Path, base: str) -> Path | None:
    for path in directory.glob(f"{base}-*.jsonl"):
        if is_intact(path) and os.access(path, os.R_OK):
            with contextlib.suppress(OSError):
                os.utime(path)
            return path
    return None


def _prune(directory: Path) -> None:
    oldest = time.time() - _KEEP_SECONDS
    for entry in os.scandir(directory):
        if _OURS.fullmatch(entry.name):
            with contextlib.suppress(OSError):
                if entry.stat(follow_symlinks=False).st_mtime < oldest:
                    os.unlink(entry.path)
