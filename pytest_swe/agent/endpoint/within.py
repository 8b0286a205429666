"""A sandbox in which nothing outlives its command, seen so that each command brings the relay along."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import BinaryIO

from pytest_swe.agent.endpoint.line import Line, Started
from pytest_swe.agent.endpoint.pump import Pump
from pytest_swe.errors import SandboxError
from pytest_swe.model import ExecResult
from pytest_swe.sandbox.base import Sandbox, checked_argv


class WithinSandbox:
    """``inner``, whose commands find the relay on their own loopback. All else is the inner sandbox's.

    ``make_line`` and ``make_pump`` are for the relay of one command; ``note`` takes what went wrong with it.
    """

    def __init__(
        self,
        inner: Sandbox,
        started: Started,
        *,
        make_line: Callable[[], Line],
        make_pump: Callable[[Line], Pump],
        note: Callable[[list[str]], object],
    ) -> None:
        self.id = inner.id
        self.attach = inner.attach
        self._inner = inner
        self._started = started
        self._make_line = make_line
        self._make_pump = make_pump
        self._note = note

    def exec(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        stdin: bytes = b"",
        timeout: float,
    ) -> ExecResult:
        """As the inner sandbox's, with a relay from its beginning to its end."""
        command = checked_argv(argv)
        line = self._make_line()
        line.lay()
        line.serve(self._started)
        pump = self._make_pump(line)
        pump.start()
        try:
            return self._inner.exec(line.within(command), cwd=cwd, env=env, user=user, stdin=stdin, timeout=timeout)
        finally:
            pump.stop(line.close_patiently)
            self._note(pump.notes())
            with contextlib.suppress(SandboxError):
                line.stop()

    def read_file(self, path: str) -> bytes:
        return self._inner.read_file(path)

    def write_file(self, path: str, data: bytes) -> None:
        self._inner.write_file(path, data)

    def upload(self, tar: BinaryIO, path: str) -> None:
        self._inner.upload(tar, path)

    def download(self, path: str) -> bytes:
        return self._inner.download(path)

    def close(self) -> None:
        self._inner.close()
