"""The control: whether the unpatched tree of an instance can be measured at all, under the same limits.

What a candidate can provoke (no memory, a lost sandbox, a suite that did not start) is its own fault when the
control runs, and the environment's when the control does not. Measured at most once per instance and process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from pytest_swe.errors import SweError


class Controls:
    """A cache of control runs, safe from several threads."""

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def fine(self, instance_id: str, measure: Callable[[], bool]) -> bool:
        """Whether the control of ``instance_id`` can be measured; ``measure`` is called when that is not known.

        A control that fails with an error of ours is not fine, and is measured again when asked again.
        """
        with self._lock:
            lock = self._locks.setdefault(instance_id, threading.Lock())
        with lock:
            if instance_id not in self._known:
                try:
                    self._known[instance_id] = measure()
                except SweError:
                    return False
            return self._known[instance_id]
