"""Files reached through directory file descriptors: no symlink and no ``..`` leads above the first one.

What stands there is a candidate's, so a path is walked one name at a time: a link swapped in between two steps is
refused by the kernel (``O_NOFOLLOW``), not followed. What stood at a path is replaced, never written into: it could be
a hard link to a file elsewhere. Everything here raises OSError.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TypeVar

T = TypeVar("T")

#: As the kernel: more symlinks than this in one path are a loop.
MAX_LINKS = 40

#: A sparse file of a terabyte costs a candidate nothing; read into memory it would cost us the worker.
MAX_READ = 512 * 1024 * 1024

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a named pipe put there must not hold us.
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def walk(top: int, path: str, *, make: bool = False, here: str = "") -> Iterator[tuple[int, str]]:
    """Where ``path`` leads to: a directory, as a file descriptor, and a name in it that is no symlink.

    Symlinks are followed as if ``top`` were ``/``. ``make``: missing directories are made. ``here``: the path of
    ``top`` on the host; absolute links that begin with it mean what they say.
    """
    stack = [os.dup(top)]
    names = deque(_names(path))
    links = 0
    name = "."
    try:
        while names:
            name = names.popleft()
            target = None if name in (".", "..") else _link(stack[-1], name)
            if target is not None:
                links += 1
                if links > MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                if target.startswith("/"):
                    _close(stack, keep=1)
                    target = target.removeprefix(here) if target.startswith(f"{here}/") else target
                names.extendleft(reversed(_names(target)))
                name = "."
            elif name == "..":
                _close(stack, keep=max(1, len(stack) - 1))
                name = "."
            elif names and name != ".":
                stack.append(enter(stack[-1], name, make=make))
        yield stack[-1], name
    finally:
        _close(stack, keep=0)


def read_file(parent: int, name: str, limit: int = MAX_READ) -> bytes:
    """The bytes of a regular file. Raises OSError also for one of more than ``limit`` bytes."""
    with open(os.open(name, READ, dir_fd=parent), "rb") as file:
        found = os.fstat(file.fileno())
        if stat.S_ISDIR(found.st_mode):
            raise OSError(errno.EISDIR, "is a directory")
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "is no regular file")
        data = b"" if found.st_size > limit else file.read(limit + 1)
        if max(found.st_size, len(data)) > limit:
            raise OSError(errno.EFBIG, f"is larger than {limit} bytes")
        return data


@contextmanager
def new_file(parent: int, name: str, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """A new file in place of what stood there, if that was no directory."""
    remove(parent, name)
    with open(_as_owner(parent, lambda: os.open(name, CREATE, mode, dir_fd=parent)), "wb") as file:
        os.fchmod(file.fileno(), mode)
        yield file


def remove(parent: int, name: str) -> None:
    """Remove a file or link, if there is one."""
    with contextlib.suppress(FileNotFoundError):
        _as_owner(parent, lambda: os.unlink(name, dir_fd=parent))


def enter(parent: int, name: str, *, make: bool = False) -> int:
    """A file descriptor of the directory ``name``, which is made if ``make`` says so and it is missing."""
    if make:
        with contextlib.suppress(FileExistsError):
            _as_owner(parent, lambda: os.mkdir(name, 0o755, dir_fd=parent))
    try:
        return os.open(name, DIRECTORY, dir_fd=parent)
    except PermissionError:
        handle = os.open(name, DIRECTORY | os.O_PATH, dir_fd=parent)
        try:
            _open_up(handle)
        finally:
            os.close(handle)
        return os.open(name, DIRECTORY, dir_fd=parent)


def _names(path: str) -> list[str]:
    """The names in a path; a last ``.`` says that it must be a directory."""
    names = [name for name in path.split("/") if name and name != "."]
    return [*names, "."] if path.endswith(("/", "/.")) else names


def _link(parent: int, name: str) -> str | None:
    """Where the symlink ``name`` points to, or None if it is none."""
    try:
        return _as_owner(parent, lambda: os.readlink(name, dir_fd=parent))
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise


def _as_owner(parent: int, action: Callable[[], T]) -> T:
    """``action`` in a directory of ours, whatever its mode is: in a container root would not even notice the mode."""
    try:
        return action()
    except PermissionError:
        _open_up(parent)
        return action()


def _open_up(directory: int) -> None:
    # Through /proc: a descriptor that was opened without the right to read (O_PATH) takes no fchmod.
    path = f"/proc/self/fd/{directory}"
    os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) | stat.S_IRWXU)


def _close(stack: list[int], *, keep: int) -> None:
    while len(stack) > keep:
        os.close(stack.pop())
