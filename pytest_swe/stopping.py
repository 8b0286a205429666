"""Stopping: SIGTERM is Ctrl-C, a controller passes it on to its workers, and nothing is left running.

pytest and xdist run no teardown on SIGTERM, and a worker that is in mid-item does not hear of ``-x`` or of a signal
to the controller alone.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Generator
from queue import SimpleQueue
from types import FrameType

import pytest

from pytest_swe.run import Run

log = logging.getLogger(__name__)

#: Seconds between two sweeps: a container whose creation was under way when its worker died appears in between.
SETTLE = 0.5
#: Seconds in which two interrupts are one: a terminal sends it to all, and so does what started us.
TOGETHER = 1.0

Handler = Callable[[int, FrameType | None], object] | signal.Handlers


class Interrupts:
    """While a session runs, the first SIGINT or SIGTERM is a KeyboardInterrupt of the main thread.

    What ends a run must not be interrupted half way: a further SIGTERM is ignored, and so is a SIGINT that comes with
    the first (a terminal and a wrapper both send one). A later SIGINT is the user who does not want to wait: it is a
    KeyboardInterrupt once more, after which only sandboxes are removed, in bounded time. Elsewhere than in the main
    thread, and where the embedding program has a handler of its own, nothing is done.
    """

    def __init__(self) -> None:
        self._ours: dict[signal.Signals, Handler] = {}
        self._first = math.inf
        self._raised = 0

    def begin(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        usual: dict[signal.Signals, Handler] = {
            signal.SIGTERM: signal.SIG_DFL,
            signal.SIGINT: signal.default_int_handler,
        }
        for which, handler in usual.items():
            if signal.getsignal(which) is handler:
                self._ours[which] = handler
                signal.signal(which, self._interrupt)

    def ignore_sigterm(self) -> None:
        if signal.SIGTERM in self._ours:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def end(self) -> None:
        # What comes with the first is no second interrupt, also where the run has ended by then.
        while self._ours and not math.isinf(self._first) and time.monotonic() < self._first + TOGETHER:
            time.sleep(0.05)
        while self._ours:
            which, handler = self._ours.popitem()
            signal.signal(which, handler)

    def _interrupt(self, signum: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        self._first = min(self._first, now)
        again = signum == signal.SIGINT and self._raised == 1 and now > self._first + TOGETHER
        if not self._raised or again:
            self._raised += 1
            raise KeyboardInterrupt


def stop_softly(run: Run) -> None:
    """Make SIGUSR1 end what runs and skip what is left, without ending the process."""

    told: SimpleQueue[None] = SimpleQueue()

    def handler(signum: int, frame: FrameType | None) -> None:
        # Nothing that takes a lock: the main thread may hold it where it was interrupted. This queue is made for that.
        run.stopping = True
        told.put(None)

    def cancel_jobs() -> None:
        told.get()
        for job in list(run.jobs):
            job.cancel()

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGUSR1, handler)
        threading.Thread(target=cancel_jobs, name="swe-stop", daemon=True).start()


class WorkerStopPlugin:
    """Where items run: ends live Jobs with the session. A worker leaves its pid for the controller."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._interrupts = Interrupts()
        self._pid_file = run.directory / ".workers" / run.worker

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        self._interrupts.begin()
        if self.run.worker:
            stop_softly(self.run)
            with contextlib.suppress(OSError):  # the controller says what is wrong with the place
                self._pid_file.parent.mkdir(parents=True, exist_ok=True)
                self._pid_file.write_text(str(os.getpid()))

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self) -> Generator[None]:
        self._interrupts.ignore_sigterm()
        yield
        self.run.close()

    def pytest_unconfigure(self) -> None:
        self.run.close()
        if self.run.worker:
            with contextlib.suppress(OSError):
                self._pid_file.unlink()
        self._interrupts.end()


class ControllerStopPlugin:
    """The xdist controller: tells workers the run id, ends them when the session ends early, sweeps after them."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._sweep_at_end = False
        self._failures = 0
        self._interrupts = Interrupts()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        self._interrupts.begin()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._interrupts.ignore_sigterm()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: object) -> None:
        workerinput: dict[str, object] = node.workerinput  # type: ignore[attr-defined]
        workerinput["swe_run_id"], workerinput["swe_part"] = self.run.run_id, self.run.part
        workerinput["swe_outdated"] = sorted(self.run.outdated)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object, error: object) -> None:
        if error:
            self._sweep_at_end = True
            worker = str(node.gateway.id)  # type: ignore[attr-defined]
            with contextlib.suppress(OSError):  # its pid may soon be somebody else's
                (self.run.directory / ".workers" / worker).unlink()
            self.run.sweep(worker=worker)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        self._sweep_at_end = True
        self._tell_workers(signal.SIGTERM)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """xdist lets what is in flight finish after ``-x``: minutes, here. Tell the workers to let go of it."""
        if report.failed and not hasattr(report, "wasxfail"):
            self._failures += 1
        maxfail = self.run.config.getvalue("maxfail")
        if maxfail and self._failures == maxfail and report.failed:
            self._tell_workers(signal.SIGUSR1)

    def pytest_unconfigure(self) -> None:
        if self._sweep_at_end:
            for _ in range(2):
                self.run.sweep()
                time.sleep(SETTLE)
        workers = self.run.directory / ".workers"
        with contextlib.suppress(OSError):
            for left in workers.iterdir():
                left.unlink(missing_ok=True)
            workers.rmdir()
        self.run.close()
        self._interrupts.end()

    def _tell_workers(self, what: signal.Signals) -> None:
        workers = self.run.directory / ".workers"
        for file in workers.iterdir() if workers.is_dir() else ():
            with contextlib.suppress(OSError, ValueError):
                os.kill(int(file.read_text()), what)
