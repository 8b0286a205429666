"""Commands on this host under a supervisor: streams, time-outs, and no process left behind. Linux only."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, cast

from pytest_swe.sandbox.output import BoundedOutput

#: Carries ``<sandbox id>.<number of the command>`` in the environment of every process of a sandbox.
MARK = "SWE_SANDBOX"

#: How long the end of the output is waited for when a background process still holds the stream.
DRAIN_SECONDS = 0.5

#: How long a supervisor may take to kill what it has.
KILL_SECONDS = 5.0

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_READ = 256 * 1024


class Command:
    """One command and all processes that come of it.

    ``env`` is the whole environment. After ``life`` seconds everything is killed even if this process is gone.
    Raises OSError when nothing can be started.
    """

    def __init__(self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str, life: float) -> None:
        self._lock = threading.Lock()
        control, self._control = os.pipe()
        self._status, status = os.pipe()
        supervisor = [sys.executable, "-I", "-S", str(_SUPERVISOR), str(control), str(status), str(life)]
        try:
            self._process = subprocess.Popen(
                [*supervisor, *argv],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=env,
                cwd=cwd,
                pass_fds=(control, status),
                start_new_session=True,
                bufsize=0,
            )
        except BaseException:
            os.close(self._control)
            os.close(self._status)
            raise
        finally:
            os.close(control)
            os.close(status)

    def communicate(self, stdin: bytes, timeout: float, out: BoundedOutput, err: BoundedOutput) -> CommandEnd:
        """Feed and read the streams until the command has ended, or kill everything after ``timeout`` seconds."""
        process = self._process
        try:
            with _Pump(process, self._status, stdin, out, err) as pump:
                timed_out = not pump.run(lambda: pump.status_at_end, time.monotonic() + timeout)
                if timed_out:
                    self.kill()
                pump.run(lambda: pump.output_at_end, time.monotonic() + DRAIN_SECONDS)
                status = bytes(pump.status)
        except BaseException:
            self.kill()
            raise
        finally:
            os.close(self._status)
            for stream in (process.stdin, process.stdout, process.stderr):
                cast("IO[bytes]", stream).close()
        code, _, left = status.partition(b" ")
        if left != b"1\n":
            self.kill()
        return CommandEnd(None if timed_out or not code else int(code), timed_out, left == b"1\n")

    def kill(self) -> None:
        """Kill every process of this command. Idempotent, safe from several threads."""
        with self._lock:
            if self._control >= 0:
                os.close(self._control)
                self._control = -1
            try:
                self._process.wait(KILL_SECONDS)
            except subprocess.TimeoutExpired:
                # Without isolation a command can stop its supervisor; `kill_marked` then finds the rest.
                self._process.kill()
                self._process.wait()


class CommandEnd:
    """How a `Command` ended. ``exit_code`` is None if it was killed; ``left`` says that background processes run."""

    def __init__(self, exit_code: int | None, timed_out: bool, left: bool) -> None:
        self.exit_code = exit_code
        self.timed_out = timed_out
        self.left = left


class _Pump:
    """Moves bytes between a process and memory, in one thread."""

    def __init__(
        self, process: subprocess.Popen[bytes], status: int, stdin: bytes, out: BoundedOutput, err: BoundedOutput
    ) -> None:
        self.status = bytearray()
        self._selector = selectors.DefaultSelector()
        self._open: set[int] = set()
        self._status = status
        self._stdin = memoryview(stdin)
        self._read(cast("IO[bytes]", process.stdout).fileno(), out.write)
        self._read(cast("IO[bytes]", process.stderr).fileno(), err.write)
        self._read(status, self.status.extend)
        self._input = cast("IO[bytes]", process.stdin)
        if stdin:
            os.set_blocking(self._input.fileno(), False)
            self._selector.register(self._input, selectors.EVENT_WRITE, self._feed)
        else:
            self._input.close()

    def __enter__(self) -> _Pump:
        return self

    def __exit__(self, *error: object) -> None:
        self._selector.close()

    @property
    def status_at_end(self) -> bool:
        """Whether the status is known, or never will be."""
        return self.status.endswith(b"\n") or self._status not in self._open

    @property
    def output_at_end(self) -> bool:
        return not self._open - {self._status}

    def run(self, done: Callable[[], bool], end: float) -> bool:
        """Move bytes until ``done()``, at most until the monotonic time ``end``; whether it is done."""
        while not done():
            seconds = end - time.monotonic()
            if seconds <= 0:
                return False
            for key, _ in self._selector.select(seconds):
                key.data()
        return True

    def _read(self, source: int, sink: Callable[[bytes], object]) -> None:
        def take() -> None:
            data = os.read(source, _READ)
            if data:
                sink(data)
            else:
                self._selector.unregister(source)
                self._open.discard(source)

        self._open.add(source)
        self._selector.register(source, selectors.EVENT_READ, take)

    def _feed(self) -> None:
        with contextlib.suppress(BlockingIOError):
            try:
                self._stdin = self._stdin[os.write(self._input.fileno(), self._stdin[:_READ]) :]
            except BrokenPipeError:
                self._stdin = memoryview(b"")
        if not self._stdin:
            self._selector.unregister(self._input)
            self._input.close()


def kill_marked(mark: str, *, seconds: float = KILL_SECONDS) -> None:
    """Kill every process whose `MARK` begins with ``mark``, until none is found or ``seconds`` have passed.

    The second net below the supervisors: it also works for those whose supervisor is dead.
    """
    needle = f"\0{MARK}={mark}".encode()
    end = time.monotonic() + seconds
    while _kill_once(needle) and time.monotonic() < end:
        time.sleep(0.01)


def _kill_once(needle: bytes) -> int:
    found = 0
    for pid in _pids():
        # A process file descriptor, so that a number used again between look and kill hits nobody else.
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(pid)
            try:
                if needle in b"\0" + Path(f"/proc/{pid}/environ").read_bytes():
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                    found += 1
            finally:
                os.close(handle)
    return found


def _pids() -> Iterator[int]:
    return (int(entry) for entry in os.listdir("/proc") if entry.isdecimal())
