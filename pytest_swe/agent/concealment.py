"""What came after the task's commit is put out of an agent's reach, before it starts; or nothing starts.

Every repository in the work tree is made anew from the past that it needs, and then looked at: no object, ref or log
may be there beside it. Copies of the project elsewhere in the sandbox are looked for and told, not removed: a task may
need them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_swe.agent.inside import Unreadable, kit, listed, shown
from pytest_swe.errors import SweError
from pytest_swe.model import Reason
from pytest_swe.sandbox.base import Sandbox

SCRIPT = "conceal.sh"

#: Seconds for a repository with a long history, and for a walk over the sandbox's files.
HISTORY_SECONDS = 600.0
SEARCH_SECONDS = 120.0

_COMMIT = re.compile(r"[0-9a-f]{7,64}")


class ConcealmentFailed(SweError):
    """What came after the task's commit may still be there; the agent was not started."""

    reason = Reason.NOT_CONCEALED


@dataclass(frozen=True, slots=True, kw_only=True)
class Concealed:
    """``tip``: the commit that is HEAD now, empty without one. ``repositories``: their directories, made anew.

    ``removed`` counts objects. ``caches``: directories and files outside of the tree that may hold another version of
    the project: installed copies, archives, package caches, other repositories; None when they could not be looked for.
    ``notes``: ``no_repository``, ``base_not_there`` (HEAD's history was kept), ``history_cut_to_one_commit`` (a partial
    clone), ``index_reset`` (something was staged), ``removed DIRECTORY`` (of the old repository, outside of the tree).
    """

    tip: str = ""
    repositories: tuple[str, ...] = ()
    removed: int = 0
    caches: tuple[str, ...] | None = ()
    notes: tuple[str, ...] = ()


def conceal(sandbox: Sandbox, workdir: str, base_commit: str, *, timeout: float = HISTORY_SECONDS) -> Concealed:
    """Leave of the repositories in ``workdir`` only what ``base_commit`` and its past are made of; verified.

    Where HEAD is another commit, it becomes one commit on the base that holds what the tree shows. To be called before
    `pytest_swe.agent.baseline.record`. Raises ConcealmentFailed, SandboxError.
    """
    base = base_commit if _COMMIT.fullmatch(base_commit) else ""
    try:
        with kit(sandbox, SCRIPT) as tools:
            parts = tools.run("history", workdir, base, timeout=timeout)
            try:
                caches = tools.run("caches", workdir, timeout=SEARCH_SECONDS)["caches"]
            except (Unreadable, KeyError):
                caches = None
        return Concealed(
            tip=parts.get("tip", b"").decode("ascii"),
            repositories=tuple(sorted(map(shown, listed(parts["repositories"])))),
            removed=int(parts["removed"]),
            caches=None if caches is None else tuple(map(shown, listed(caches))),
            notes=tuple(dict.fromkeys(map(shown, listed(parts["notes"])))),
        )
    except (Unreadable, KeyError, ValueError) as problem:
        raise ConcealmentFailed(f"later history may be left in {workdir}: {problem}") from problem
