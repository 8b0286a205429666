"""Labels that say who owns a sandbox, and whether that owner still lives.

An owner is a process: a pid alone is not enough, because numbers are used again, so its start time goes with it;
both mean something only on one boot of one machine and in one pid namespace.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path

from pytest_swe.sandbox.boot import boot_id, since_boot

#: Every label of this tool starts with it; a sweep looks at nothing else.
LABEL_PREFIX = "pytest-swe."

HOST = LABEL_PREFIX + "owner-host"
BOOT = LABEL_PREFIX + "owner-boot"
PID_NAMESPACE = LABEL_PREFIX + "owner-pid-namespace"
PID = LABEL_PREFIX + "owner-pid"
START = LABEL_PREFIX + "owner-start"
DEADLINE = LABEL_PREFIX + "deadline"
DEADLINE_SINCE_BOOT = LABEL_PREFIX + "deadline-since-boot"

_PROC = Path("/proc")


def prefixed(labels: Mapping[str, str]) -> dict[str, str]:
    """``labels`` with every key under `LABEL_PREFIX`; keys that are there already stay as they are."""
    return {key if key.startswith(LABEL_PREFIX) else LABEL_PREFIX + key: value for key, value in labels.items()}


def owner_labels(labels: Mapping[str, str], *, seconds: float) -> dict[str, str]:
    """``labels``, prefixed, and those that name this process as owner for the next ``seconds``.

    The deadline is in seconds since the epoch, by this machine's clock, for other machines; for this one in seconds
    since its boot, because clocks are stepped.
    """
    pid = os.getpid()
    return {
        **prefixed(labels),
        HOST: socket.gethostname(),
        BOOT: boot_id(),
        PID_NAMESPACE: _pid_namespace(),
        PID: str(pid),
        START: _start_time(pid) or "",
        DEADLINE: str(int(time.time() + seconds) + 1),
        DEADLINE_SINCE_BOOT: str(int(since_boot() + seconds) + 1),
    }


def owner_is_dead(labels: Mapping[str, str]) -> bool:
    """Whether the owner that ``labels`` name has certainly ended.

    What cannot be known is not dead: an owner on another host, in another pid namespace, labels that are incomplete.
    """
    host, boot, pid, start = (labels.get(key, "") for key in (HOST, BOOT, PID, START))
    here = boot_id()
    if host != socket.gethostname() or not boot or not here:
        return False
    if boot != here:
        return True
    if labels.get(PID_NAMESPACE, "") != _pid_namespace() or not pid.isdecimal() or not start:
        return False
    return not _is_running(int(pid), start)


def deadline_passed(labels: Mapping[str, str], *, later: float = 0.0) -> bool:
    """Whether the deadline in ``labels`` has passed ``later`` seconds from now; without one, False.

    By the wall clock only for what was made on another machine, or before this one started again.
    """
    if DEADLINE_SINCE_BOOT in labels and labels.get(BOOT) and labels[BOOT] == boot_id():
        deadline, now = labels[DEADLINE_SINCE_BOOT], since_boot()
    else:
        deadline, now = labels.get(DEADLINE, ""), time.time()
    return deadline.isdecimal() and int(deadline) < now + later


def _is_running(pid: int, start: str) -> bool:
    found = _start_time(pid)
    if found is not None:
        return found == start
    # /proc mounted with hidepid shows no processes of others; a signal number 0 still tells them from nothing.
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return not _is_zombie(pid)


def _stat_fields(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the third on; the second may hold spaces and brackets."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _is_zombie(pid: int) -> bool:
    fields = _stat_fields(pid)
    return bool(fields) and fields[0] in "ZX"


def _start_time(pid: int) -> str | None:
    """Field 22 (clock ticks since boot) of a process that runs, else None."""
    fields = _stat_fields(pid)
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else None


def _pid_namespace() -> str:
    try:
        return os.readlink(_PROC / "self/ns/pid")
    except OSError:
        return ""
