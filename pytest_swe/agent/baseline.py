"""The work tree as it is before an agent starts, kept on the host: what its work is measured against.

The files that git would track (tracked, changed, untracked, not ignored) are written as a tree object of a git
directory of our own, byte for byte, and a pack of that tree is taken out. Whatever the agent does to the repository,
its configuration or its history is no part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_swe.agent.inside import Kit, Unreadable, kit, listed, shown
from pytest_swe.errors import SweError
from pytest_swe.model import Reason
from pytest_swe.sandbox.base import Sandbox

SCRIPT = "work_tree.sh"

#: Bytes of the largest file that is kept or taken.
LARGEST_FILE = 16 * 1024 * 1024

#: Seconds for one pass over the tree.
PASS_SECONDS = 300.0


class BaselineFailed(SweError):
    """The work tree could not be kept before the agent started; nothing of the candidate was run."""

    reason = Reason.SANDBOX_START_FAILED
    retryable = True


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a tree: git's mode (``100644``, ``100755``, ``120000``) and the id of its content."""

    mode: bytes
    id: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A work tree as it was. ``tree`` is the id of its tree object, ``pack`` has it whole (bytes, some MB).

    ``entries``: its files by path. ``beside``: what else stood in the directory (ignored, large, of nested
    repositories), which no patch can speak of. ``dirty``: files that were not as HEAD has them. ``nested``: directories
    of other repositories. ``exclude``: the repository's own list of ignored files. ``taken``: seconds since the epoch,
    by the sandbox's clock.
    """

    workdir: str
    tree: str
    pack: bytes
    entries: Mapping[bytes, Entry]
    format: str = "sha1"
    beside: frozenset[bytes] = frozenset()
    dirty: frozenset[bytes] = frozenset()
    nested: frozenset[bytes] = frozenset()
    exclude: bytes = b""
    taken: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What stands in a work tree now, by path: links and files that can be taken, larger ones, pipes and devices.

    ``wanted``: what git would track of it, by its rules or because the repository does. ``nested``: see `Baseline`.
    ``newer``: what has another time than it had. ``time``: of the sandbox's clock.
    """

    wanted: frozenset[bytes]
    present: frozenset[bytes]
    big: frozenset[bytes]
    special: frozenset[bytes]
    nested: frozenset[bytes]
    newer: frozenset[bytes]
    time: int


def record(sandbox: Sandbox, workdir: str, *, timeout: float = PASS_SECONDS) -> Baseline:
    """Keep the tree at ``workdir`` as it stands; it need be no repository. ``timeout``: seconds of each of two passes.

    Raises BaselineFailed, SandboxError.
    """
    try:
        with kit(sandbox, SCRIPT) as tools:
            found = listing(tools, workdir, timeout=timeout)
            paths = sorted(found.wanted & found.present)
            tools.lay({"paths": b"".join(path + b"\0" for path in paths)})
            kept = tools.run("keep", workdir, timeout=timeout)
            pack = tools.fetch("baseline.pack")
        entries = _entries(kept["entries"])
        return Baseline(
            workdir=workdir,
            tree=kept["tree"].decode("ascii"),
            pack=pack,
            entries=entries,
            format=kept["format"].decode("ascii"),
            beside=(found.present | found.big) - entries.keys(),
            dirty=frozenset(listed(kept["dirty"])),
            nested=found.nested,
            exclude=kept.get("exclude", b""),
            taken=int(kept["time"]),
        )
    except (Unreadable, KeyError, ValueError) as problem:
        raise BaselineFailed(f"the tree at {workdir} cannot be kept for the agent's diff: {problem}") from problem


def listing(tools: Kit, workdir: str, *, since: int = 0, timeout: float) -> Listing:
    """What stands at ``workdir``. Raises Unreadable, KeyError, ValueError, SandboxError."""
    parts = tools.run("list", workdir, str(LARGEST_FILE), str(since), timeout=timeout)
    names = {name: frozenset(listed(part)) for name, part in parts.items() if name != "time"}
    return Listing(
        wanted=names["others"] | names["tracked"],
        present=names["present"],
        big=names["big"],
        special=names["special"],
        nested=frozenset(name.removesuffix(b"/.git") for name in names["nested"]),
        newer=names["newer"],
        time=int(parts["time"]),
    )


def _entries(part: bytes) -> dict[bytes, Entry]:
    found: dict[bytes, Entry] = {}
    for line in part.split(b"\0"):
        if line:
            facts, _, path = line.partition(b"\t")
            mode, content, stage = facts.split(b" ")
            if stage != b"0":
                raise ValueError(f"{shown(path)}: an unmerged entry")
            found[path] = Entry(mode, content)
    return found
