"""Where this tool keeps its things on a host."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


def state_directory() -> Path:
    """A directory of this user alone: ``$XDG_STATE_HOME/pytest-swe``, or one in the temporary directory.

    The second is taken where there is no home that can be written (containers, build machines).
    Raises PermissionError when that one belongs to somebody else.
    """
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    if os.path.isabs(base):
        try:
            return _own(Path(base, "pytest-swe"))
        except OSError:
            pass
    return _own(Path(tempfile.gettempdir(), f"pytest-swe-{os.getuid()}"))


def _own(path: Path) -> Path:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise PermissionError(f"{path} can be written by others")
    if not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError(f"{path} cannot be written")
    return path
