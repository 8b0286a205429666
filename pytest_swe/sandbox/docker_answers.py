"""What the engine answers: its no, and what it says of a container, of a command, of a path. Without the SDK."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass

# Go's os.FileMode, as the engine reports it: https://pkg.go.dev/io/fs#FileMode
_MODE_SYMLINK = 1 << 27
_MODE_NOT_REGULAR = 1 << 31 | 1 << 27 | 1 << 26 | 1 << 25 | 1 << 24 | 1 << 21 | 1 << 19

_PLAIN_ALPHABET = str.maketrans("-_", "+/")


class Refused(Exception):
    """The engine answered no. ``status`` is HTTP's (0 inside a stream), the message one line."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class NotStarted(Refused):
    """The engine did not start a command: of a sandbox that is gone, or of no such user."""


class ExecForgotten(Refused):
    """The engine knows nothing of a command that it started."""


@dataclass(frozen=True, slots=True)
class State:
    """What the engine says about a container; ``pid`` is its first process, as the engine's host counts."""

    running: bool
    exit_code: int
    oom_killed: bool
    pid: int
    removing: bool = False


@dataclass(frozen=True, slots=True)
class PathStat:
    """One path in a container. ``target``: where a symlink leads, resolved inside the container; else empty."""

    mode: int
    size: int
    target: str

    @property
    def is_file(self) -> bool:
        return not self.mode & _MODE_NOT_REGULAR


@dataclass(frozen=True, slots=True)
class Container:
    """One line of the engine's list."""

    id: str
    labels: Mapping[str, str]


def path_stat(header: str) -> PathStat:
    """Podman uses the alphabet of URLs, and names a target for whatever is no symlink too: its own path."""
    stat = json.loads(base64.b64decode(header.translate(_PLAIN_ALPHABET)))
    return PathStat(stat["mode"], stat["size"], stat["linkTarget"] if stat["mode"] & _MODE_SYMLINK else "")
