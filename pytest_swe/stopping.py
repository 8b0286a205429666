"""Stopping: SIGTERM is Ctrl-C, a controller passes it on to its workers, and nothing is left running.

pytest and xdist run no teardown on SIGTERM, and a worker that is in mid-item does not hear of ``-x`` or of a signal
to the controller alone.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Generator, Mapping
from queue import SimpleQueue
from types import FrameType, MappingProxyType

import pytest

from pytest_swe.errors import SweError
from pytest_swe.run import Run

log = logging.getLogger(__name__)

#: Seconds between two sweeps: a container whose creation was under way when its worker died appears in between.
SETTLE = 0.5


class SigtermAsInterrupt:
    """While a session runs, the first SIGTERM is a KeyboardInterrupt of the main thread.

    Any other is ignored: what ends a run must not be interrupted half way. Elsewhere than in the main thread, and
    where the embedding program has a handler of its own, nothing is done.
    """

    def __init__(self) -> None:
        self._ours = False

    def begin(self) -> None:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._ours = True
            signal.signal(signal.SIGTERM, self._interrupt)

    def ignore(self) -> None:
        if self._ours:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def end(self) -> None:
        if self._ours:
            self._ours = False
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _interrupt(self, signum: int, frame: FrameType | None) -> None:
        self.ignore()
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
        self._sigterm = SigtermAsInterrupt()
        self._pid_file = run.directory / ".workers" / run.worker

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        self._sigterm.begin()
        if self.run.worker:
            stop_softly(self.run)
            with contextlib.suppress(OSError):  # the controller says what is wrong with the place
                self._pid_file.parent.mkdir(parents=True, exist_ok=True)
                self._pid_file.write_text(str(os.getpid()))

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self) -> Generator[None]:
        self._sigterm.ignore()
        yield
        self.run.close()

    def pytest_unconfigure(self) -> None:
        self.run.close()
        if self.run.worker:
            with contextlib.suppress(OSError):
                self._pid_file.unlink()
        self._sigterm.end()


class ControllerStopPlugin:
    """The xdist controller: tells workers the run id, ends them when the session ends early, sweeps after them."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._sweep_at_end = False
        self._failures = 0
        self._sigterm = SigtermAsInterrupt()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        self._sigterm.begin()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._sigterm.ignore()

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
            self._sweep({"worker": worker})

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
                self._sweep()
                time.sleep(SETTLE)
        workers = self.run.directory / ".workers"
        with contextlib.suppress(OSError):
            for left in workers.iterdir():
                left.unlink(missing_ok=True)
            workers.rmdir()
        self.run.close()
        self._sigterm.end()

    def _tell_workers(self, what: signal.Signals) -> None:
        workers = self.run.directory / ".workers"
        for file in workers.iterdir() if workers.is_dir() else ():
            with contextlib.suppress(OSError, ValueError):
                os.kill(int(file.read_text()), what)

    def _sweep(self, labels: Mapping[str, str] = MappingProxyType({})) -> None:
        """Remove sandboxes of this session's workers, and of no other's that has the same run id."""
        if self.run.settings.keep:
            return
        try:
            self.run.provider().sweep({"run": self.run.run_id, "part": self.run.part, **labels})
        except SweError:
            pass  # no engine: nothing of it can be left, or a later sweep finds it
        except Exception:  # a provider that breaks its contract
            log.exception("sweeping with provider %s failed", self.run.settings.provider)
