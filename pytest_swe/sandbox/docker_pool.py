"""One engine or several as one place to run: which of them answer, and which one a sandbox goes to.

Each engine has a breaker. Who finds it gone says so once; new sandboxes wait for it together, for a bounded time; after
that they are refused at once until it answers again.
"""

from __future__ import annotations

import logging
import math
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from pytest_swe.errors import EngineUnavailable, Unsupported
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.admission import Need, has_disk
from pytest_swe.sandbox.docker_config import refuse_unsupported
from pytest_swe.sandbox.owner import PID

if TYPE_CHECKING:
    from pytest_swe.sandbox.docker_engine import Engine
    from pytest_swe.sandbox.docker_facts import Facts

log = logging.getLogger(__name__)
T = TypeVar("T")

#: Seconds for which new sandboxes wait for an engine that went away: a restart takes 1 to 30.
PATIENCE = 60.0
#: Seconds between two looks at an engine that is gone, and for one look.
LOOK_EVERY = 0.5
LOOK = 10.0
#: One that was never connected is not asked again before so many times what asking it has taken.
SILENCE = 10


class Link:
    """One engine: connected when it is first asked, and known to be gone when it is. For many threads."""

    def __init__(self, connect: Callable[[], Engine], *, patience: float) -> None:
        self.placing = 0
        self.failure = EngineUnavailable("the engine was not asked yet")
        self._connect = connect
        self._patience = patience
        self._lock = threading.RLock()
        self._engine: Engine | None = None
        self._facts: Facts | None = None
        self._next_look = self._lost_at = -math.inf

    def engine(self) -> Engine:
        """Connected now if it was not. Raises EngineUnavailable, at once for one that was silent just now."""
        with self._lock:
            if self._engine is None:
                self._engine = self._connected()
            return self._engine

    def facts(self) -> Facts:
        """What it says about itself, asked once. Raises EngineUnavailable."""
        with self._lock:
            if self._facts is None:
                self._facts = self.engine().facts()
            return self._facts

    def known_facts(self) -> Facts | None:
        """The same, None when they cannot be had now."""
        try:
            return self._facts or (self.facts() if self.answers() else None)
        except EngineUnavailable:
            return None

    def answers(self) -> bool:
        """Whether it can be asked; one that is gone is looked at, but no more than every `LOOK_EVERY` seconds."""
        with self._lock:
            if self._engine is not None and not self._engine.lost:
                return True
            if time.monotonic() < self._next_look:
                return False
            try:
                if self._engine is not None:
                    self._engine.ping(LOOK)
                self.facts()
            except EngineUnavailable as failure:
                self._is_gone(failure)
                return False
            self._is_back()
            return True

    def waiting_ends(self) -> float:
        """Until when (of time.monotonic) it is waited for; never if it has not answered once."""
        return self._lost_at + self._patience

    def close(self) -> None:
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _connected(self) -> Engine:
        began = time.monotonic()
        if began < self._next_look:
            raise EngineUnavailable(self.failure.args[0], hint=self.failure.hint)
        try:
            return self._connect()
        except EngineUnavailable as failure:
            now = time.monotonic()
            self.failure, self._next_look = failure, now + SILENCE * (now - began)
            raise

    def _is_gone(self, failure: EngineUnavailable) -> None:
        now = time.monotonic()
        self.failure, self._next_look = failure, max(self._next_look, now + LOOK_EVERY)
        if self._engine is not None and math.isinf(self._lost_at):
            self._lost_at = now
            log.warning("%s; new sandboxes wait %g s for it, then are refused at once", failure, self._patience)

    def _is_back(self) -> None:
        if not math.isinf(self._lost_at):
            log.warning("the engine answers again, after %.1f s", time.monotonic() - self._lost_at)
        self._next_look = self._lost_at = -math.inf


class Pool:
    """Engines among which each sandbox goes where its image and the most room are; not where the disk is short.

    ``free_mb`` tells MiB free where an engine keeps its data, None when that is not known.
    """

    def __init__(self, links: Sequence[Link], free_mb: Callable[[Link], int | None] = lambda link: None) -> None:
        self.links = tuple(links)
        self._free_mb = free_mb
        self._lock = threading.Lock()

    def standing(self) -> list[Link]:
        """Those that answer; when none does it is waited for, see `PATIENCE`.

        Raises EngineUnavailable, not retryable then: whoever tried again would only wait again.
        """
        while True:
            found = [link for link in self.links if link.answers()]
            if found:
                return found
            left = max(link.waiting_ends() for link in self.links) - time.monotonic()
            if left <= 0:
                raise self._gone()
            time.sleep(min(LOOK_EVERY, left))

    @contextmanager
    def placed(self, spec: SandboxSpec) -> Iterator[Link]:
        """The engine for one sandbox, which counts as its until the end of the ``with``.

        Raises Unsupported when no engine can honour ``spec``, EngineUnavailable.
        """
        able = self._able(self.standing(), spec)
        if len(able) > 1:
            able = [link for link in able if has_disk(Need.of(spec), self._free_mb(link))] or able
            able = (_with_image(able, spec.image) if spec.image else []) or able
        with self._lock:
            link = _emptiest(able) if len(able) > 1 else able[0]
            link.placing += 1
        try:
            yield link
        finally:
            with self._lock:
                link.placing -= 1

    def close(self) -> None:
        for link in self.links:
            link.close()

    def _able(self, links: Sequence[Link], spec: SandboxSpec) -> list[Link]:
        able: list[Link] = []
        refusal = Unsupported("no engine")
        for link in links:
            try:
                refuse_unsupported(spec, link.facts())
                able.append(link)
            except Unsupported as refused:
                refusal = refused
        if not able:
            raise refusal
        return able

    def _gone(self) -> EngineUnavailable:
        first = self.links[0].failure
        others = f", nor do {len(self.links) - 1} others" if len(self.links) > 1 else ""
        gone = EngineUnavailable(f"{first.args[0]}{others}", hint=first.hint)
        gone.retryable = False
        return gone


def _with_image(links: Sequence[Link], image: str) -> list[Link]:
    return [link for link in links if _asked(link, lambda engine: engine.has_image(image), False)]


def _emptiest(links: Sequence[Link]) -> Link:
    """The one with the fewest sandboxes, everybody's, for the processors and memory of its host."""
    loads = {link: (_sandboxes(link) + link.placing + 1) / link.facts().room for link in links}
    # Any of the equals: processes that begin together must not all take the first.
    return min(random.sample(list(links), len(links)), key=lambda link: loads[link])


def _sandboxes(link: Link) -> float:
    return _asked(link, lambda engine: float(len(engine.containers([PID]))), math.inf)


def _asked(link: Link, ask: Callable[[Engine], T], otherwise: T) -> T:
    try:
        return ask(link.engine())
    except EngineUnavailable:
        return otherwise
