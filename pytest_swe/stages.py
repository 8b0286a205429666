"""Stages with limits of their own under one summed deadline, which says in which of them it struck."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from pytest_swe.errors import SweError
from pytest_swe.model import Reason


class DeadlineStruck(SweError):
    """The time of all stages together is over; ``stage`` is where."""

    reason = Reason.DEADLINE

    def __init__(self, stage: str, seconds: float) -> None:
        super().__init__(f"the deadline of {seconds:.10g} s for all stages struck in {stage}")
        self.stage = stage


class Stages:
    """``limits``: seconds by stage. The deadline is their sum, from the first stage on that is entered."""

    def __init__(self, limits: Mapping[str, float], clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = dict(limits)
        self._clock = clock
        self._begun: float | None = None
        self.total = sum(self._limits.values())
        self.stage = ""

    def enter(self, stage: str) -> float:
        """Seconds that ``stage`` has: its own limit, or what is left of all. Raises DeadlineStruck."""
        now = self._clock()
        self._begun = now if self._begun is None else self._begun
        self.stage = stage
        left = self._begun + self.total - now
        if left <= 0:
            raise DeadlineStruck(stage, self.total)
        return min(self._limits.get(stage, left), left)
