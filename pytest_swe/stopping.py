"""Stopping: SIGTERM is Ctrl-C, a controller passes it on to its workers, and nothing is left running.

pytest and xdist run no teardown on SIGTERM, and a worker that is in mid-item does not hear of ``-x`` or of a signal
to the controller alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from types import FrameType

import pytest

from pytest_swe.errors import SweError
from pytest_swe.run import Run

#: Seconds between two sweeps: a container whose creation was under way when its worker died appears in between.
SETTLE = 0.5


def interrupt_on_sigterm() -> None:
    """Make SIGTERM a KeyboardInterrupt of the main thread."""

    def handler(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, handler)


def stop_softly(run: Run) -> None:
    """Make SIGUSR1 end what runs and skip what is left, without ending the process."""

    def handler(signum: int, frame: FrameType | None) -> None:
        run.stopping = True
        for job in list(run.jobs):
            job.cancel()

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGUSR1, handler)


class WorkerStopPlugin:
    """Where items run: ends live Jobs with the session. A worker leaves its pid for the controller."""

    def __init__(self, run: Run) -> None:
        self.run = run
        interrupt_on_sigterm()
        if run.worker:
            stop_softly(run)
            self._pid_file = run.directory / ".workers" / run.worker
            self._pid_file.parent.mkdir(parents=True, exist_ok=True)
            self._pid_file.write_text(str(os.getpid()))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self.run.close()

    def pytest_unconfigure(self) -> None:
        self.run.close()
        if self.run.worker:
            self._pid_file.unlink(missing_ok=True)


class ControllerStopPlugin:
    """The xdist controller: tells workers the run id, ends them when the session ends early, sweeps after them."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._sweep_at_end = False
        self._failures = 0
        interrupt_on_sigterm()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: object) -> None:
        workerinput: dict[str, object] = node.workerinput  # type: ignore[attr-defined]
        workerinput["swe_run_id"] = self.run.run_id

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object, error: object) -> None:
        if error:
            self._sweep_at_end = True
            self._sweep({"run": self.run.run_id, "worker": str(node.gateway.id)})  # type: ignore[attr-defined]

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
                self._sweep({"run": self.run.run_id})
                time.sleep(SETTLE)
        workers = self.run.directory / ".workers"
        with contextlib.suppress(OSError):
            for left in workers.iterdir():
                left.unlink(missing_ok=True)
            workers.rmdir()
        self.run.close()

    def _tell_workers(self, what: signal.Signals) -> None:
        workers = self.run.directory / ".workers"
        for file in workers.iterdir() if workers.is_dir() else ():
            with contextlib.suppress(OSError, ValueError):
                os.kill(int(file.read_text()), what)

    def _sweep(self, labels: dict[str, str]) -> None:
        if self.run.settings.keep:
            return
        with contextlib.suppress(SweError):  # no engine: nothing of it can be left, or a later sweep finds it
            self.run.provider().sweep(labels)
