"""This boot of this machine, and the time since it began: a clock that processes share and that nobody sets.

The wall clock is stepped, by minutes or by years; what one process tells another about time is told by this one.
"""

from __future__ import annotations

import time
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """The kernel's name of this boot; empty where it does not tell."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


def since_boot() -> float:
    """Seconds since this machine started, those included in which it slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
