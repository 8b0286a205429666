"""How much of a route an item has used, and whether it may use more. For many threads."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from pytest_swe.agent.base import Usage
from pytest_swe.agent.endpoint.routes import ModelRoute


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Calls of one route. ``sent`` to the upstream, of which some ``failed`` for good; ``retries`` beyond the first
    attempts; ``over_limit`` and ``refused`` were never sent."""

    sent: int = 0
    failed: int = 0
    retries: int = 0
    over_limit: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why the model could not be reached when it was last asked: the environment's fault, not the agent's.

    ``provokable``: a request can bring it about (the upstream answered with an error of its own, or not in time). Who
    decides what an item is worth gives it one more attempt, as with all that a candidate can provoke.
    """

    detail: str
    provokable: bool


class Meter:
    """Counts one route. ``usage`` has no ``steps``."""

    def __init__(self, route: ModelRoute) -> None:
        self._route = route
        self._lock = threading.Lock()
        self._usage = Usage()
        self._counts = Counts()
        self._trouble: Trouble | None = None

    @property
    def usage(self) -> Usage:
        with self._lock:
            return self._usage

    @property
    def counts(self) -> Counts:
        with self._lock:
            return self._counts

    @property
    def trouble(self) -> Trouble | None:
        with self._lock:
            return self._trouble

    def admit(self) -> str:
        """Count one call that is about to be sent; or say which limit is reached, and count that."""
        with self._lock:
            used = self._usage.input_tokens + self._usage.output_tokens
            over = ""
            if self._route.calls is not None and self._counts.sent >= self._route.calls:
                over = f"the limit of {self._route.calls} calls is reached"
            elif self._route.tokens is not None and used >= self._route.tokens:
                over = f"the limit of {self._route.tokens} tokens is reached"
            if over:
                self._counts = replace(self._counts, over_limit=self._counts.over_limit + 1)
            else:
                self._counts = replace(self._counts, sent=self._counts.sent + 1)
                self._usage = replace(self._usage, calls=self._usage.calls + 1)
            return over

    def refuse(self) -> None:
        """Count one request that is not sent."""
        with self._lock:
            self._counts = replace(self._counts, refused=self._counts.refused + 1)

    def done(self, usage: Usage, *, attempts: int, trouble: Trouble | None) -> None:
        """Count what came of one call."""
        with self._lock:
            total, counts = self._usage, self._counts
            cost = total.cost_usd if usage.cost_usd is None else (total.cost_usd or 0.0) + usage.cost_usd
            self._usage = replace(
                total,
                input_tokens=total.input_tokens + usage.input_tokens,
                output_tokens=total.output_tokens + usage.output_tokens,
                cached_tokens=total.cached_tokens + usage.cached_tokens,
                cost_usd=cost,
            )
            self._counts = replace(
                counts,
                failed=counts.failed + (trouble is not None),
                retries=counts.retries + max(0, attempts - 1),
            )
            self._trouble = trouble
