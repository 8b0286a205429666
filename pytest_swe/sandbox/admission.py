"""How many sandboxes one host holds at a time: what each needs is reserved first, and who does not fit waits.

Every process of a run (and every run of one user on the host) reserves in one directory, one file a sandbox, under one
lock. A reservation whose owner is dead counts no more. Reserved is what a sandbox may take, not what it takes; what is
really free is looked at as well, because others use the host too.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.owner import owner_is_dead, owner_labels

#: MiB that a sandbox without a limit is taken to need: most test suites stay below.
USUAL_MEMORY_MB = 1024
#: MiB that are left to everybody else, by what the host says is free.
SPARE_MEMORY_MB = 512
#: MiB of disk below which nobody starts while others run: what they write, and the next image, must fit.
SPARE_DISK_MB = 2048
#: Seconds between two looks.
POLL = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What one sandbox may take: processors, MiB of memory and of disk; 0 counts for nothing."""

    cpus: float = 0.0
    memory_mb: int = 0
    disk_mb: int = 0

    @classmethod
    def of(cls, spec: SandboxSpec) -> Need:
        """The limits of ``spec``; without one of memory `USUAL_MEMORY_MB`, of the others nothing."""
        return cls(
            cpus=spec.cpus or 0.0,
            memory_mb=USUAL_MEMORY_MB if spec.memory_mb is None else spec.memory_mb,
            disk_mb=spec.disk_mb or 0,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What sandboxes may take of a host together; None is no bound."""

    cpus: float | None = None
    memory_mb: int | None = None
    disk_mb: int | None = None

    def holds(self, needs: Need) -> bool:
        """Whether ``needs``, all of them together, fit."""
        return all(
            bound is None or wanted <= bound
            for bound, wanted in (
                (self.cpus, needs.cpus),
                (self.memory_mb, needs.memory_mb),
                (self.disk_mb, needs.disk_mb),
            )
        )


def host_budget() -> Budget:
    """Nine tenths of this host's memory; processors are shared, and disk is for the engine to watch."""
    total = _meminfo().get("MemTotal")
    return Budget(memory_mb=None if total is None else total * 9 // 10)


def workers_for(cpus: int, budget: Budget) -> int:
    """How many rows may run at a time on a host: one a processor, as many as the memory holds, at least one."""
    fits = cpus if budget.memory_mb is None else budget.memory_mb // USUAL_MEMORY_MB
    by_cpus = cpus if budget.cpus is None else int(budget.cpus)
    return max(1, min(cpus, by_cpus, fits))


class Admission:
    """Reservations of one host. ``directory`` is shared by all who are to share the budget.

    ``free_mb`` tells the memory that is free; only tests give their own.
    """

    def __init__(self, directory: Path, budget: Budget, *, free_mb: Callable[[], int | None] | None = None) -> None:
        self._directory = directory
        self._budget = budget
        self._free_mb = free_mb or (lambda: _meminfo().get("MemAvailable"))

    @contextlib.contextmanager
    def admitted(
        self,
        need: Need,
        *,
        stopped: Callable[[], bool],
        free_disk_mb: Callable[[], int | None] = lambda: None,
    ) -> Iterator[None]:
        """Hold a reservation of ``need``; waits for room until ``stopped`` says so, then goes on without.

        ``free_disk_mb`` tells what is free where the sandboxes stand; None where that is not known.
        What alone is more than the budget is admitted when nobody else holds anything: it waits, it never fails.
        """
        held = self._wait(need, stopped, free_disk_mb)
        try:
            yield
        finally:
            if held is not None:
                held.unlink(missing_ok=True)

    def _wait(self, need: Need, stopped: Callable[[], bool], free_disk_mb: Callable[[], int | None]) -> Path | None:
        while not stopped():
            try:
                held = self._reserve(need, free_disk_mb)
            except OSError:
                return None  # no place to reserve in: a full disk must not keep anybody from running
            if held is not None:
                return held
            # Not in step with the others, so that who waits longest is not always the last to look.
            time.sleep(POLL * (0.5 + secrets.randbelow(1000) / 1000))
        return None

    def _reserve(self, need: Need, free_disk_mb: Callable[[], int | None]) -> Path | None:
        from filelock import FileLock

        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(str(self._directory / "lock")):
            others = list(self._held())
            fits = self._budget.holds(_sum([*others, need])) and self._is_free(need)
            if others and not (fits and has_disk(need, free_disk_mb())):
                return None
            path = self._directory / f"{os.getpid()}-{secrets.token_hex(8)}.json"
            owner = owner_labels({}, seconds=24 * 3600)
            path.write_text(json.dumps({"need": asdict(need), "owner": owner}), encoding="utf-8")
            return path

    def _held(self) -> Iterator[Need]:
        for path in self._directory.glob("*.json"):
            try:
                data: Mapping[str, Mapping[str, str]] = json.loads(path.read_bytes())
                need = Need(**data["need"])  # type: ignore[arg-type]
                dead = owner_is_dead(data["owner"])
            except (OSError, ValueError, KeyError, TypeError):
                continue  # gone between, or not ours
            if dead:
                path.unlink(missing_ok=True)
            else:
                yield need

    def _is_free(self, need: Need) -> bool:
        free = self._free_mb()
        return free is None or free >= min(need.memory_mb, USUAL_MEMORY_MB) + SPARE_MEMORY_MB


def has_disk(need: Need, free: int | None) -> bool:
    """Whether ``free`` MiB of disk are enough for one more; they are where nobody knows."""
    return free is None or free >= need.disk_mb + SPARE_DISK_MB


def _sum(needs: list[Need]) -> Need:
    return Need(
        cpus=sum(need.cpus for need in needs),
        memory_mb=sum(need.memory_mb for need in needs),
        disk_mb=sum(need.disk_mb for need in needs),
    )


def _meminfo() -> dict[str, int]:
    """MiB by name, as the kernel tells them; empty where it does not."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return {}
    return {name: int(kb) // 1024 for name, kb in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)}
