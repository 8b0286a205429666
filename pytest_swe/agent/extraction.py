"""What an agent did to a work tree, as a patch against the tree that was kept before it started.

The files on disk are the truth: how they came to be there (written, staged, committed, on which branch) does not
matter, and nothing that the agent configured is asked. The patch is made by a git directory of our own inside the
sandbox, and checked there: applied to the kept tree it gives the tree on disk. A root agent could forge that too; all
that it can forge is a patch, which is its own to choose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pytest_swe.agent.baseline import LARGEST_FILE, PASS_SECONDS, SCRIPT, Baseline, Listing, listing
from pytest_swe.agent.inside import Unreadable, kit, listed, shown
from pytest_swe.errors import DiskFull, SandboxFileError
from pytest_swe.patch import describe
from pytest_swe.sandbox.base import Sandbox

#: Bytes of the largest patch that is taken.
LARGEST_PATCH = 24 * 1024 * 1024

#: Lines of one list; beyond, files are counted by their topmost directory.
_LINES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """An agent's work. ``patch`` is empty when there is none, or when ``problem`` says why it cannot be had.

    Lists for people, at most some fifty lines each: ``ignored``, what it changed that git's rules leave out;
    ``dirty_before``, files of the patch that were not as HEAD has them before it started; ``excluded``, what was left
    out and why; ``nested``, repositories of its own within the tree, and those of before that it changed. A ``problem``
    is the candidate's: the same steps worked before it started.
    """

    patch: bytes = b""
    paths: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    dirty_before: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Choice:
    """``taken``: paths whose content now counts. ``kept``: those that count as they were. ``left_out``: others, why."""

    taken: frozenset[bytes]
    kept: frozenset[bytes]
    left_out: tuple[str, ...]


def extract(
    sandbox: Sandbox, baseline: Baseline, *, exclude: Sequence[str] = (), timeout: float = PASS_SECONDS
) -> Extracted:
    """The agent's whole work against ``baseline``. ``timeout``: seconds of each of two passes.

    ``exclude``: paths, directories or shell patterns (``*`` goes over ``/`` too) that the patch may not touch, relative
    to the tree. Processes of the agent should be dead. Raises SandboxError; what the agent made impossible is a
    ``problem``.
    """
    files = {
        "baseline.pack": baseline.pack,
        "tree": baseline.tree.encode(),
        "format": baseline.format.encode(),
        "exclude": baseline.exclude,
    }
    try:
        with kit(sandbox, SCRIPT, files) as tools:
            found = listing(tools, baseline.workdir, since=baseline.taken + 1, timeout=timeout)
            chosen = _choose(found, baseline)
            shut_out = {path for path in baseline.entries.keys() | chosen.taken if _matches(path, exclude)}
            tools.lay(
                {
                    "paths": b"".join(path + b"\0" for path in sorted(chosen.taken)),
                    "kept": _as_they_were(chosen.kept, baseline),
                    "undo": _as_they_were(shut_out, baseline),
                }
            )
            made = tools.run("diff", baseline.workdir, str(LARGEST_PATCH), timeout=timeout)
        # The sandbox was the agent's: that the patch leaves out what it must is seen here.
        if forged := [path for path in describe(made["patch"]).raw_paths if _matches(path, exclude)]:
            raise Unreadable(f"its patch changes {shown(forged[0])}, which is excluded")
        return _extracted(made, found, baseline, chosen, shut_out)
    except (Unreadable, KeyError, ValueError, SandboxFileError, DiskFull) as problem:
        return Extracted(problem=f"the agent's work cannot be taken: {problem}")


def _choose(found: Listing, baseline: Baseline) -> _Choice:
    """Which files count. What stood beside the kept tree cannot: a patch that adds it would not apply."""
    known = baseline.entries.keys()
    wanted = (known | found.wanted) - baseline.beside
    unfit = {
        **{path: f"larger than {LARGEST_FILE // 2**20} MiB" for path in found.big & wanted},
        **{path: "no file but a pipe, a socket or a device" for path in found.special},
    }
    left_out = tuple(f"{shown(path)}: {why}" for path, why in sorted(unfit.items()))
    return _Choice(
        taken=frozenset(wanted & found.present), kept=frozenset(unfit.keys() & known), left_out=_few(left_out)
    )


def _extracted(
    made: dict[str, bytes], found: Listing, baseline: Baseline, chosen: _Choice, shut_out: set[bytes]
) -> Extracted:
    patch = made["patch"]
    facts = describe(patch)
    touched = frozenset(facts.raw_paths)
    beside = _changed_beside(found, baseline, chosen)
    nested = _nested(beside, found, baseline)
    changed = sorted(shut_out.intersection(listed(made["changed"])))
    return Extracted(
        patch=patch,
        paths=facts.paths,
        ignored=_gathered(path for path in beside if not any(_is_below(path, root) for root in nested)),
        dirty_before=_gathered(touched & baseline.dirty),
        excluded=(*_few([f"{shown(path)}: excluded" for path in changed]), *chosen.left_out, *_refused(made["errors"])),
        nested=_few([f"{shown(root)}/ ({count} files)" for root, count in sorted(nested.items())]),
    )


def _changed_beside(found: Listing, baseline: Baseline, chosen: _Choice) -> set[bytes]:
    """Files that the patch does not speak of and that are new, gone, or have another time than before."""
    there = (found.present | found.big) - chosen.taken - chosen.kept - found.special
    there -= found.big & (found.wanted - baseline.beside)  # told by name already
    gone = baseline.beside - found.present - found.big
    return set((there - baseline.beside) | (there & found.newer) | gone)


def _nested(beside: Iterable[bytes], found: Listing, baseline: Baseline) -> Counter[bytes]:
    """Repositories within the tree that are new, or in which something changed, with how many files that are."""
    roots = found.nested | baseline.nested
    changed: Counter[bytes] = Counter(dict.fromkeys(found.nested ^ baseline.nested, 0))
    for path in beside:
        changed.update(root for root in _above(path) if root in roots)
    return changed


def _as_they_were(paths: Iterable[bytes], baseline: Baseline) -> bytes:
    """Lines for git's ``--index-info -z``: the kept entry of each path, or that it is not there."""
    nothing = b"0 " + b"0" * len(baseline.tree)
    entries = baseline.entries
    return b"".join(
        (b" ".join((entries[path].mode, entries[path].id)) if path in entries else nothing) + b"\t" + path + b"\0"
        for path in sorted(paths)
    )


def _matches(path: bytes, patterns: Sequence[str]) -> bool:
    name = path.decode("utf-8", "surrogateescape")
    return any(fnmatchcase(name, pattern) or name.startswith(pattern.rstrip("/") + "/") for pattern in patterns)


def _refused(errors: bytes) -> Iterator[str]:
    """Names that git takes into no tree (``.GIT``, ``git~1``)."""
    start = b"Ignoring path "
    found = [line.removeprefix(start) for line in errors.split(b"\n") if line.startswith(start)]
    yield from _few([f"{shown(path)}: git refuses this name" for path in found])


def _gathered(paths: Iterable[bytes]) -> tuple[str, ...]:
    """Paths for people; where they are many, how many there are by topmost directory."""
    every = sorted(paths)
    if len(every) <= _LINES:
        return tuple(map(shown, every))
    tops = Counter(path.split(b"/", 1)[0] + (b"/" if b"/" in path else b"") for path in every)
    return _few([f"{shown(top)} ({count} files)" for top, count in sorted(tops.items())])


def _few(lines: Sequence[str]) -> tuple[str, ...]:
    more = len(lines) - _LINES
    return (*lines[:_LINES], f"and {more} more") if more > 0 else tuple(lines)


def _above(path: bytes) -> Iterator[bytes]:
    yield from (path[:end] for end in range(len(path)) if path[end : end + 1] == b"/")


def _is_below(path: bytes, root: bytes) -> bool:
    return path.startswith(root + b"/")
