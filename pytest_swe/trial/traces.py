"""What an agent did to the container that its verifier comes into, by the engine's word.

Programs that it replaced are a mark on the reward line and decide nothing: it may have been told to install or to
repair them. A first process that became another program is what an agent left running, and cannot be ended. Whoever is
root can do both in ways that leave no such trace (`docs/families/harbor.md`).
"""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_swe.sandbox.base import Change, Sandbox, TellsTraces
from pytest_swe.sandbox.processes import NotEnded

FLAG = "replaced_programs"

#: Programs of the image here, changed or removed, are told.
DIRECTORIES = frozenset({"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"})
#: Files that every program stands on, by patterns; told however they came to be there. Not /etc/ld.so.cache, nor what
#: compilers link with: packages that an agent installs write those.
LOADED = (
    "/etc/ld.so.preload",
    "/lib*/ld-*.so*",
    "/lib*/libc.so.6",
    "/lib*/libc-2*.so",
    "/usr/lib*/ld-*.so*",
    "/usr/lib*/libc.so.6",
    "/usr/lib*/libc-2*.so",
)
#: A new program of such a name stands in the way of the image's own.
SHADOWED = frozenset(
    "[ bash cat chmod cp cut dash diff echo env false find grep head ls mkdir mv printf ps pwd rm sed sh sleep sort"
    " stat tail tee test touch tr true uname wc xargs".split()
)

#: Paths that are named; the rest is a number.
NAMED = 5


@dataclass(frozen=True, slots=True)
class Traces:
    """How a container was before an agent began; nothing where its engine does not tell."""

    sandbox: Sandbox
    paths: frozenset[str] | None = None
    process: str = ""

    @classmethod
    def of(cls, sandbox: Sandbox) -> Traces:
        """Raises SandboxError."""
        if not isinstance(sandbox, TellsTraces):
            return cls(sandbox)
        return cls(sandbox, _paths(sandbox.changed()), sandbox.first_process())

    def flags(self) -> tuple[str, ...]:
        """What stands on the line. Raises NotEnded for another first process, SandboxError."""
        if not isinstance(self.sandbox, TellsTraces):
            return ()
        if self.process and self.sandbox.first_process() != self.process:
            raise NotEnded("the first process of the container became another program, which cannot be ended")
        now = _paths(self.sandbox.changed())
        found = now - self.paths if now is not None and self.paths is not None else frozenset()
        return (f"{FLAG}:{_listed(found)}",) if found else ()


def replaced(changes: Iterable[Change]) -> frozenset[str]:
    """Those paths that a verifier may stand on."""
    return frozenset(change.path for change in changes if _counts(change))


def _counts(change: Change) -> bool:
    directory, name = posixpath.split(change.path)
    if any(fnmatch.fnmatchcase(change.path, pattern) for pattern in LOADED):
        return True
    return directory in DIRECTORIES and (change.kind != "added" or name in SHADOWED)


def _paths(changes: Sequence[Change] | None) -> frozenset[str] | None:
    return None if changes is None else replaced(changes)


def _listed(paths: frozenset[str]) -> str:
    named = sorted(paths)
    more = [f"{len(named) - NAMED} more"] if len(named) > NAMED else []
    return ",".join([*named[:NAMED], *more])
