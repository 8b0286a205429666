"""Carries requests from a relay to a handler and answers back, in threads of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue

from pytest_swe.agent.base import AgentSetupFailed
from pytest_swe.agent.endpoint.line import Line, RelayGone
from pytest_swe.agent.endpoint.wire import Answer, Garbled, Request
from pytest_swe.errors import EngineUnavailable, SandboxError, Unsupported

#: How often a relay is started anew in one sandbox, and how many failures in a row end the pump.
RESTARTS = 5
STRIKES = 5

#: Seconds after a failure, times the failures so far; and seconds for which the end of the threads is waited for.
PAUSE = 0.25
#: Seconds between two commands that brought nothing.
BREATH = 0.01
END = 10.0


class Pump:
    """One relay's traffic. ``handle`` answers one request; at most ``parallel`` of them at a time. ``cancel`` ends
    those under way.

    ``notes`` are what went wrong in the sandbox, in words. Nothing that a sandbox does raises here, and none of it
    takes more than a request's memory per call under way.
    """

    def __init__(
        self, line: Line, handle: Callable[[Request], Answer], *, cancel: Callable[[], None], parallel: int
    ) -> None:
        self._line = line
        self._handle = handle
        self._cancel = cancel
        self._restarts = RESTARTS
        self._room = threading.Semaphore(parallel)
        self._stopping = threading.Event()
        self._notes: SimpleQueue[str] = SimpleQueue()
        self._thread = threading.Thread(target=self._carry, name="swe-model-pump", daemon=True)
        self._workers: set[threading.Thread] = set()

    def start(self) -> None:
        self._thread.start()

    def notes(self) -> list[str]:
        """What has gone wrong since this was asked last."""
        return [self._notes.get() for _ in range(self._notes.qsize())]

    def stop(self, end_relay: Callable[[], None]) -> None:
        """End it: ``end_relay`` makes the command return that waits for a request. Never raises."""
        self._stopping.set()
        self._cancel()
        try:
            end_relay()
        except (SandboxError, Unsupported) as error:
            self._note(f"the relay could not be stopped: {error}")
        end = time.monotonic() + END
        for thread in (self._thread, *list(self._workers)):
            thread.join(max(0.0, end - time.monotonic()))
            if thread.is_alive():
                self._note("a command of the model endpoint did not end in time")

    def _carry(self) -> None:
        strikes = 0
        while not self._stopping.is_set() and strikes < STRIKES:
            if not self._room.acquire(timeout=1):
                continue
            request = None
            try:
                request = self._line.take()
                strikes = 0
            except RelayGone:
                strikes += self._again()
            except Garbled as garbled:
                if not self._stopping.is_set():  # a command that began when the relay was already gone says so
                    self._note(f"what the relay says cannot be read: {garbled}")
                strikes += 1
            except EngineUnavailable as error:
                self._note(str(error))
                strikes += 1
            except SandboxError as error:
                self._note(str(error))
                strikes = STRIKES
            if request is None:
                self._room.release()
                self._stopping.wait(strikes * PAUSE if strikes else BREATH)
            else:
                self._work(request)
        if strikes >= STRIKES and not self._stopping.is_set():
            self._note("the model endpoint has given the sandbox up")

    def _again(self) -> int:
        """The relay has gone: start it anew, unless it comes and goes with a command. How many strikes that is."""
        if self._stopping.is_set() or self._line.patient:
            return 0
        if not self._restarts:
            return STRIKES
        self._restarts -= 1
        self._note("the relay was killed in the sandbox and is started anew")
        try:
            self._line.start()
        except (SandboxError, AgentSetupFailed, Unsupported) as error:
            self._note(str(error))
            return 1
        return 0

    def _work(self, request: Request) -> None:
        thread = threading.Thread(target=self._serve, args=(request,), name="swe-model-call", daemon=True)
        self._workers.add(thread)
        thread.start()

    def _serve(self, request: Request) -> None:
        try:
            answer = self._handle(request)
            if not self._line.give(request, answer) and not self._stopping.is_set():
                self._note("an answer found no relay any more")
        except (RelayGone, SandboxError) as error:
            if not self._stopping.is_set():
                self._note(f"an answer could not be handed in: {error}")
        finally:
            self._workers.discard(threading.current_thread())
            self._room.release()

    def _note(self, text: str) -> None:
        if self._notes.qsize() < 50:
            self._notes.put(text[:500])
