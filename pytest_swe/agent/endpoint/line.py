"""The relay of one sandbox, as seen from the host: everything goes through commands of the sandbox."""

from __future__ import annotations

import importlib.resources
import io
import json
import posixpath
import secrets
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_swe.agent.base import AgentSetupFailed
from pytest_swe.agent.endpoint import errand
from pytest_swe.agent.endpoint.wire import Answer, Garbled, Request, answer_frame, request_from
from pytest_swe.errors import Unsupported
from pytest_swe.model import ExecResult
from pytest_swe.sandbox.base import ROOT, Sandbox

#: What runs inside.
SCRIPTS = ("relay.py", "errand.py")

#: Where an interpreter is looked for after the one on PATH; conda's is not always on it.
PYTHONS = ("python3", "/usr/bin/python3", "/usr/local/bin/python3", "/opt/miniconda3/bin/python3", "python")

#: Seconds for which one command waits for a request.
WAIT = 20.0

#: Seconds for a command of ours. Far more than it takes: at a time-out everything in the sandbox is killed.
COMMAND = 300.0

#: What `_FIND` ends with when no interpreter works.
_NO_PYTHON = 20
_FIND = (
    'port=$1; limit=$2; shift 2; for python in "$@"; do '
    "\"$python\" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 6))' 2>/dev/null "
    '&& exec "$python" -I -S relay.py start "$port" "$limit"; done; exit 20'
)


class RelayGone(Exception):
    """No relay answers in the sandbox."""


@dataclass(frozen=True, slots=True)
class Started:
    """Where a relay listens, and the interpreter that runs it."""

    port: int
    python: str


class Line:
    """One relay in a directory of its own. ``patient``: the relay comes and goes with the agent's command.

    ``port`` is where it shall listen; 0 leaves that to the sandbox.
    """

    def __init__(self, sandbox: Sandbox, *, limit: int, patient: bool = False, port: int = 0) -> None:
        self.directory = f"/pytest-swe/model-{secrets.token_hex(8)}"
        self.started: Started | None = None
        self._sandbox = sandbox
        self._limit = limit
        self._port = port
        self.patient = patient

    def lay(self) -> None:
        """Put the scripts into the sandbox. Raises SandboxError."""
        package = importlib.resources.files("pytest_swe.agent.endpoint")
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w") as archive:
            for name in SCRIPTS:
                script = package.joinpath(name).read_bytes()
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(script), 0o644
                archive.addfile(entry, io.BytesIO(script))
        tar.seek(0)
        self._sandbox.upload(tar, self.directory)

    def start(self, pythons: Sequence[str] = PYTHONS) -> Started:
        """Start the relay, on the port it had before. Raises Unsupported without an interpreter, AgentSetupFailed."""
        known = self.started
        words = ["/bin/sh", "-c", _FIND, "sh", str(known.port if known else self._port), str(self._limit)]
        done = self._command([*words, *((known.python,) if known else pythons)])
        if done.exit_code == _NO_PYTHON:
            raise Unsupported(
                "the model endpoint needs python3 (3.6 or newer) in the sandbox, and there is none",
                hint="take an image that has it",
            )
        try:
            found = json.loads(done.stdout if done.exit_code == 0 else b"")
            self.started = Started(int(found["port"]), str(found["python"]))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise AgentSetupFailed(f"the model endpoint did not start in the sandbox: {_words(done)}") from error
        return self.started

    def is_reached(self) -> bool:
        """Whether another command of the sandbox reaches the relay: not where each has a network of its own."""
        started = self._known()
        return self._ours("look", str(started.port)).exit_code == 0

    def serve(self, started: Started) -> None:
        """Take a relay's place without starting it: an agent's command will."""
        self.started = started

    def within(self, argv: Sequence[str]) -> list[str]:
        """A command that listens, and becomes ``argv``."""
        started = self._known()
        script = f"{self.directory}/relay.py"
        return [started.python, "-I", "-S", script, "within", str(started.port), str(self._limit), *argv]

    def take(self) -> Request | None:
        """The next request; None when there was none for `WAIT` seconds.

        Raises RelayGone, Garbled for what is no request, SandboxError.
        """
        done = self._ours("take", f"{WAIT:g}", "patient" if self.patient else "once")
        if done.exit_code == errand.NOTHING:
            return None
        if done.exit_code == errand.GONE:
            raise RelayGone
        if done.exit_code != 0 or done.dropped:
            raise Garbled(f"the relay's command ended with status {done.exit_code}: {_words(done)}")
        return request_from(done.stdout, limit=self._limit)

    def give(self, request: Request, answer: Answer) -> bool:
        """Hand an answer in; whether a relay took it. Raises SandboxError."""
        return self._ours("give", stdin=answer_frame(request, answer)).exit_code == 0

    def close_patiently(self) -> None:
        """Tell those who wait for a relay that none will come. Raises SandboxError."""
        self._sandbox.write_file(f"{self.directory}/{errand.CLOSED}", b"")

    def stop(self) -> None:
        """End the relay and remove its directory. Raises SandboxError."""
        if self.started is not None:
            self._ours("stop")

    def remove(self) -> None:
        """Remove what `lay` laid, where no relay was started. Raises SandboxError."""
        self._command(["rm", "-rf", "--", f"../{posixpath.basename(self.directory)}"])

    def _known(self) -> Started:
        if self.started is None:
            raise RelayGone
        return self.started

    def _ours(self, *words: str, stdin: bytes = b"") -> ExecResult:
        return self._command([self._known().python, "-I", "-S", "errand.py", *words], stdin=stdin)

    def _command(self, argv: Sequence[str], stdin: bytes = b"") -> ExecResult:
        return self._sandbox.exec(argv, cwd=self.directory, user=ROOT, stdin=stdin, timeout=COMMAND)


def _words(done: ExecResult) -> str:
    said = (done.stderr or done.stdout)[-300:].decode("utf-8", "replace").strip()
    return said or f"exit status {done.exit_code}"
