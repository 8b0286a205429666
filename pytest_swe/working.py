"""Work in a thread of its own: others wait for it, tell its setup from its call, and can end it at any time.

What it holds of the outside world (sandboxes, groups) is closed exactly once, by whoever asks first: the work
itself, or `Working.cancel`.
"""

from __future__ import annotations

import abc
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import Protocol

from pytest_swe.errors import Cancelled
from pytest_swe.outcome import Times
from pytest_swe.reward import Outcome
from pytest_swe.sandbox.base import Sandbox

log = logging.getLogger(__name__)

#: Seconds that removing a sandbox may take before nobody waits for it any more.
CLOSING = 10.0


class Held(Protocol):
    """A sandbox, a group: what must be closed."""

    @property
    def id(self) -> str: ...

    def close(self) -> None: ...


class Working(abc.ABC):
    """One item's work. A subclass says what it is (`_judge`), and what is made of an unknown failure (`_failed`).

    `run` does it all in the calling thread. `start` begins in a thread and lets it wait for `go` when what it
    needs stands, so that pytest can tell setup from call. ``sandbox`` is the one that it works in now.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.sandbox: Sandbox | None = None
        self._phases: dict[str, float] = {}
        self._started_at = datetime.now(UTC)
        self._begun = time.monotonic()
        self._cancelled = threading.Event()
        self._go = threading.Event()
        self._standing = threading.Event()
        self._done = threading.Event()
        self._acquire_error: BaseException | None = None
        self._outcome: Outcome | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._held: list[Held] = []
        self._kept: Held | None = None
        #: What ends when everything is closed: a reservation on the host.
        self._at_end = ExitStack()

    @abc.abstractmethod
    def _judge(self) -> Outcome:
        """The whole work. Calls `_stands` once what it needs is there, and `_wait_for_go` before it uses that."""

    @abc.abstractmethod
    def _failed(self, error: BaseException) -> Outcome:
        """The outcome of what nobody expected."""

    # -- for whoever waits -------------------------------------------------------------------------------------------

    def run(self) -> Outcome:
        """The whole work, in the calling thread. Raises Cancelled; every other failure is an outcome."""
        self._go.set()
        self._work()
        return self._result()

    def start(self) -> None:
        """Begin in a thread: until what the work needs stands, then wait for `go`."""
        self._thread = threading.Thread(target=self._work, name=f"swe-{self._name}", daemon=True)
        self._thread.start()

    def wait_standing(self) -> None:
        """Return when the first sandbox stands. Raises what kept it from standing."""
        _wait(self._standing)
        if self._acquire_error is not None:
            raise self._acquire_error

    def go(self) -> Outcome:
        """Let the evaluation begin and return its outcome."""
        self._go.set()
        _wait(self._done)
        return self._result()

    def cancel(self) -> None:
        """End the work now: close what it holds, make no outcome. Idempotent, waits at most `CLOSING` seconds."""
        self._cancelled.set()
        self._go.set()
        if not self._done.is_set():
            # In a thread: a close that hangs must not hold whoever was interrupted.
            closing = threading.Thread(target=self._close_all, name="swe-close", daemon=True)
            closing.start()
            closing.join(CLOSING)

    def discard(self) -> None:
        """Close a sandbox that was kept."""
        if self._kept is not None:
            self._release(self._kept)

    @property
    def ended(self) -> bool:
        """Whether the thread has ended and what it held is closed."""
        return self._thread is None or not self._thread.is_alive()

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended and what it held is closed."""
        if self._thread is not None:
            self._thread.join(timeout)

    # -- for the work ------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            self._outcome = self._judge()
        except BaseException as error:  # the one place that turns the unknown into error
            if self._thread is None and not isinstance(error, Exception):
                raise  # Ctrl-C, in the caller's own thread
            self._acquire_error = self._acquire_error or error
            self._kept = None
            self._outcome = self._failed(error)
        finally:
            self._done.set()
            self._standing.set()
            self._close_all(but=self._kept)
            self._at_end.close()

    def _stands(self) -> None:
        self._check_cancelled()
        self._standing.set()

    def _wait_for_go(self) -> None:
        _wait(self._go)
        self._check_cancelled()

    def _check_cancelled(self) -> None:
        if self._cancelled.is_set():
            self._close_all()
            raise Cancelled("the run was stopped")

    def _hold(self, held: Held) -> None:
        """From now on `cancel` closes it too."""
        with self._lock:
            self._held.append(held)

    def _release(self, held: Held) -> None:
        """Close it once, whoever asks first."""
        with self._lock:
            known = held in self._held
            if known:
                self._held.remove(held)
        if not known:
            return
        with self._phase("close"):
            try:
                held.close()
            except Exception:  # a provider that breaks its contract: no reason to lose a verdict
                log.exception("closing sandbox %s of %s failed", held.id, self._name)

    def _close_all(self, but: Held | None = None) -> None:
        with self._lock:
            held = [each for each in self._held if each is not but]
            if but is None:
                self.sandbox = None
        for each in reversed(held):
            self._release(each)

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        begin = time.monotonic()
        try:
            yield
        finally:
            self._phases[name] = round(self._phases.get(name, 0.0) + (time.monotonic() - begin) * 1000, 1)

    def _times(self) -> Times:
        seconds = time.monotonic() - self._begun
        return Times(started_at=self._started_at, seconds=seconds, phases_ms=dict(self._phases))

    def _result(self) -> Outcome:
        if self._cancelled.is_set():
            raise Cancelled("the run was stopped")
        assert self._outcome is not None
        return self._outcome


def _wait(event: threading.Event) -> None:
    # In slices: an unbounded wait of the main thread cannot be interrupted on every platform.
    while not event.wait(0.5):
        pass
