"""Limits of memory, processes and processors by control groups of the kernel, where this user may make some.

A sandbox gets a group of its own: with cgroup v1 one for each controller, below the group that this process is in; with
v2 one for all, below a group without processes, so beside this process's. Its commands enter it before anything else. https://docs.kernel.org/admin-guide/cgroup-v2.html
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pytest_swe.model import SandboxSpec

Controller = Literal["memory", "pids", "cpu"]
CONTROLLERS: tuple[Controller, ...] = ("memory", "pids", "cpu")

#: Tasks that the isolation itself has in a group: bubblewrap on the outside, and its process 1 inside.
OWN_TASKS = 2

#: Microseconds over which processor time is shared out.
PERIOD = 100_000

#: Seconds in which the processes of a group must be gone.
END_SECONDS = 5.0

_PREFIX = "pytest-swe."

#: Limits under which one small process runs.
_TRIAL: Mapping[Controller, int] = {"memory": 1024 * 1024 * 1024, "pids": 100, "cpu": PERIOD}

#: Arguments: directories of groups, ``--``, a command.
_ENTER = 'while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit 126; shift; done; shift; exec "$@"'


@dataclass(frozen=True, slots=True)
class Cgroups:
    """``parents``: below which directory groups of each controller are made; only of those that work here."""

    parents: Mapping[Controller, Path]

    def places(self, name: str) -> tuple[Path, ...]:
        """Where groups of ``name`` can stand; `end` takes them whether they do or not."""
        return tuple(dict.fromkeys(parent / f"{_PREFIX}{name}" for parent in self.parents.values()))

    def make(self, name: str, spec: SandboxSpec) -> tuple[Path, ...]:
        """New groups with the limits of ``spec``, which asks for no more than there is. Raises OSError."""
        wanted = _wanted(spec)
        made: list[Path] = []
        try:
            for controller, amount in wanted.items():
                group = self.parents[controller] / f"{_PREFIX}{name}"
                if group not in made:
                    group.mkdir()
                    made.append(group)
                _limit(group, controller, amount)
        except BaseException:
            end(made, name)
            raise
        return tuple(made)


def entered(groups: Sequence[Path], command: Sequence[str]) -> tuple[str, ...]:
    """``command`` in these groups."""
    if not groups:
        return tuple(command)
    return ("/bin/sh", "-c", _ENTER, "sh", *map(str, groups), "--", *command)


def end(groups: Iterable[Path], name: str) -> None:
    """Kill all that is in the groups of ``name``, and remove them. What is no such group is left alone."""
    for group in groups:
        if group.name != f"{_PREFIX}{name}":
            continue
        deadline = time.monotonic() + END_SECONDS
        while group.is_dir() and time.monotonic() < deadline:
            _kill(group)
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.005)


def find() -> Cgroups:
    """The controllers that work here: each is tried."""
    parents: dict[Controller, Path] = {}
    for place in _unified():
        working = {controller: place for controller in _enabled(place) if _works(controller, place)}
        if len(working) > len(parents):
            parents = working
        if len(parents) == len(CONTROLLERS):
            break
    return Cgroups({**parents, **{each: place for each, place in _separate() if _works(each, place)}})


def _wanted(spec: SandboxSpec) -> dict[Controller, int]:
    wanted: dict[Controller, int] = {}
    if spec.memory_mb is not None:
        wanted["memory"] = spec.memory_mb * 1024 * 1024
    if spec.pids is not None:
        wanted["pids"] = spec.pids + OWN_TASKS
    if spec.cpus is not None:
        wanted["cpu"] = max(1000, int(spec.cpus * PERIOD))
    return wanted


def _limit(group: Path, controller: Controller, amount: int) -> None:
    """Swap counts as memory, where the kernel counts it."""
    if controller == "pids":
        _write(group / "pids.max", str(amount))
    elif (group / "memory.max").exists() and controller == "memory":
        _write(group / "memory.max", str(amount))
        _write(group / "memory.swap.max", "0", optional=True)
    elif controller == "memory":
        _write(group / "memory.limit_in_bytes", str(amount))
        _write(group / "memory.memsw.limit_in_bytes", str(amount), optional=True)
    elif (group / "cpu.max").exists():
        _write(group / "cpu.max", f"{amount} {PERIOD}")
    else:
        _write(group / "cpu.cfs_period_us", str(PERIOD))
        _write(group / "cpu.cfs_quota_us", str(amount))


def _write(file: Path, text: str, *, optional: bool = False) -> None:
    if not optional or file.exists():
        # Never created: a directory that is no group would take any file.
        with open(os.open(file, os.O_WRONLY), "w") as opened:
            opened.write(text)


def _works(controller: Controller, parent: Path) -> bool:
    """Make a group, limit it, and let a process enter it."""
    name = f"trial-{secrets.token_hex(6)}"
    group = parent / f"{_PREFIX}{name}"
    try:
        group.mkdir()
        _limit(group, controller, _TRIAL[controller])
        command = entered([group], ["true"])
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0
    except OSError:
        return False
    finally:
        end([group], name)


def _separate() -> Iterator[tuple[Controller, Path]]:
    """Where this process stands in the hierarchy of each controller of v1."""
    own = dict(_memberships())
    for mounted, kind, root, options in _mounts():
        for controller in CONTROLLERS:
            if kind == "cgroup" and controller in options and controller in own:
                yield controller, _below(mounted, root, own[controller])


def _unified() -> Iterator[Path]:
    """With v2, where this process stands, and the groups above: one that holds processes cannot limit groups below it.

    https://docs.kernel.org/admin-guide/cgroup-v2.html#no-internal-process-constraint
    """
    own = dict(_memberships())
    for mounted, kind, root, _ in _mounts():
        if kind == "cgroup2" and "" in own:
            place = _below(mounted, root, own[""])
            yield place
            yield from (above for above in place.parents if above.is_relative_to(mounted))


def _enabled(place: Path) -> Iterator[Controller]:
    """Controllers of v2 that groups below ``place`` have; each that they do not have yet is asked for."""
    for controller in CONTROLLERS:
        with contextlib.suppress(OSError):
            if controller not in (place / "cgroup.subtree_control").read_text().split():
                _write(place / "cgroup.subtree_control", f"+{controller}")
            yield controller


def _memberships() -> Iterator[tuple[str, str]]:
    """Controller and path, of v2 with an empty name: https://man7.org/linux/man-pages/man7/cgroups.7.html."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            for controller in controllers.split(","):
                yield controller, path


def _mounts() -> Iterator[tuple[Path, str, str, list[str]]]:
    """Mount point, kind, the hierarchy's directory that is mounted there, options of the file system."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            left, _, right = line.partition(" - ")
            fields, (kind, _, options) = left.split(), right.split(" ", 2)
            yield Path(fields[4]), kind, fields[3], options.split(",")


def _below(mounted: Path, root: str, path: str) -> Path:
    """A container may see of a hierarchy only the part that is mounted."""
    inside = path[len(root) :] if root != "/" and path.startswith(root) else path
    place = mounted / inside.strip("/")
    return place if place.is_dir() else mounted


def _kill(group: Path) -> None:
    with contextlib.suppress(OSError):
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
