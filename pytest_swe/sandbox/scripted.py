"""Providers that run nothing: they answer from a script, or from a function."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from types import EllipsisType, TracebackType
from typing import BinaryIO, Self

from pytest_swe.errors import SandboxLost
from pytest_swe.model import ExecResult, SandboxSpec
from pytest_swe.sandbox.base import Capabilities, checked_argv
from pytest_swe.sandbox.calls import Call, CallMismatch, mismatch, shown_command
from pytest_swe.sandbox.virtual_files import VirtualFiles

#: One word of an expected command: itself, a pattern for the whole word, or ``...`` for all that follows.
Word = str | re.Pattern[str] | EllipsisType

Handler = Callable[[Call], ExecResult]


@dataclass(frozen=True, slots=True)
class Expect:
    """A command that must come next, and what happens then.

    ``argv``: its words, or a function that looks at the whole `Call`. The answer is made of the fields of `ExecResult`,
    or is an exception (``raises``). ``writes``: files that the command leaves behind.
    """

    argv: Sequence[Word] | Callable[[Call], bool]
    _: KW_ONLY
    exit_code: int | None = 0
    stdout: bytes = b""
    stderr: bytes = b""
    seconds: float = 0.0
    timed_out: bool = False
    dropped: int = 0
    raises: Exception | None = None
    writes: Mapping[str, bytes] = field(default_factory=dict)

    def matches(self, call: Call) -> bool:
        """Whether ``call`` is the one that is meant."""
        if callable(self.argv):
            return self.argv(call)
        words = list(self.argv)
        if words and words[-1] is ...:
            words.pop()
        elif len(words) != len(call.argv):
            return False
        return len(words) <= len(call.argv) and all(map(_is_word, words, call.argv))

    def answer(self, call: Call) -> ExecResult:
        """Do what the command does. Raises ``raises``."""
        if self.raises is not None:
            raise self.raises
        call.files.update(self.writes)
        return ExecResult(
            argv=call.argv,
            exit_code=None if self.timed_out else self.exit_code,
            stdout=self.stdout,
            stderr=self.stderr,
            seconds=self.seconds,
            timed_out=self.timed_out,
            dropped=self.dropped,
        )

    def shown(self) -> list[str]:
        """The expected command as lines."""
        if callable(self.argv):
            return [f"$ (whatever {self.argv.__name__} accepts)"]
        words = (word if isinstance(word, str) else "..." if word is ... else f"<{word.pattern}>" for word in self.argv)
        return shown_command(list(words))


class ScriptedSandbox:
    """A sandbox of `ScriptedProvider`. ``files`` are its virtual files, ``calls`` what was asked so far."""

    def __init__(
        self,
        sandbox_id: str,
        spec: SandboxSpec,
        *,
        script: Sequence[Expect] = (),
        handler: Handler | None = None,
        files: Mapping[str, bytes] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self.id = sandbox_id
        self.attach: tuple[str, ...] = ("echo", "a scripted sandbox has no shell")
        self.spec = spec
        self.labels = dict(labels or {})
        self.files = VirtualFiles(files)
        self.files.make_directory(spec.workdir)
        self.calls: list[Call] = []
        self.closed = False
        self.failure: CallMismatch | None = None
        self._script = tuple(script)
        self._handler = handler
        self._lock = threading.Lock()

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
        """The answer of the script or the handler. Raises CallMismatch, and what the script says."""
        self._check_open()
        call = Call(
            argv=checked_argv(argv),
            cwd=cwd,
            env=dict(env or {}),
            user=user,
            stdin=stdin,
            timeout=timeout,
            files=self.files,
        )
        with self._lock:
            number = len(self.calls)
            self.calls.append(call)
        if self._handler is not None:
            return self._handler(call)
        if number >= len(self._script) or not self._script[number].matches(call):
            differs = self._mismatch(number, call)
            self.failure = self.failure or differs
            raise differs
        return self._script[number].answer(call)

    def left_over(self) -> CallMismatch | None:
        """What is wrong at the end: a mismatch that came before, or commands that never came."""
        if self.failure is not None or self._handler is not None or len(self.calls) == len(self._script):
            return self.failure
        done = self._shown(len(self.calls))
        missing = len(self._script) - len(self.calls)
        return mismatch(f"{self.id}: {missing} expected commands never came", self._shown(len(self._script)), done)

    def read_file(self, path: str) -> bytes:
        self._check_open()
        return self.files.read(path)

    def write_file(self, path: str, data: bytes) -> None:
        self._check_open()
        self.files[path] = data

    def upload(self, tar: BinaryIO, path: str) -> None:
        self._check_open()
        self.files.unpack(tar, path)

    def download(self, path: str) -> bytes:
        self._check_open()
        return self.files.pack(path)

    def close(self) -> None:
        self.closed = True

    def _check_open(self) -> None:
        if self.closed:
            raise SandboxLost(f"{self.id} is closed")

    def _shown(self, stop: int) -> list[str]:
        return [line for expected in self._script[:stop] for line in expected.shown()]

    def _mismatch(self, number: int, call: Call) -> CallMismatch:
        got = shown_command(call.argv, cwd=call.cwd, env=" ".join(call.env), user=call.user)
        if number >= len(self._script):
            return mismatch(
                f"{self.id}: a command after the last expected one", self._shown(number), [*self._shown(number), *got]
            )
        headline = f"{self.id}: command {number + 1} is not the expected one"
        return mismatch(headline, self._shown(number + 1), [*self._shown(number), *got])


class ScriptedProvider:
    """A provider for tests of harnesses and Jobs.

    Strict: ``scripts`` holds, per sandbox in the order of `acquire`, the commands that must come, in order, or an
    exception that `acquire` raises. Permissive: ``handler`` answers every command of every sandbox.
    ``files`` stand in each new sandbox. `close`, or leaving the ``with`` block, raises CallMismatch when something was
    not as scripted, also when the code under test has swallowed the first error.

        with ScriptedProvider([[Expect(["git", "apply", ...], exit_code=1), Expect(["bash", "/eval.sh"])]]) as provider:
            ...
    """

    name = "scripted"

    def __init__(
        self,
        scripts: Sequence[Sequence[Expect] | Exception] = (),
        *,
        handler: Handler | None = None,
        files: Mapping[str, bytes] | None = None,
        capabilities: Capabilities | None = None,
    ) -> None:
        if scripts and handler:
            raise TypeError("either scripts or a handler")
        self.capabilities = capabilities or Capabilities()
        self.sandboxes: list[ScriptedSandbox] = []
        self._scripts = deque(scripts)
        self._handler = handler
        self._files = dict(files or {})
        self._failure: CallMismatch | None = None
        self._closed = False
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if error is None:
            self.close()

    def check(self) -> str:
        return "scripted: runs nothing"

    def acquire(self, spec: SandboxSpec, *, labels: Mapping[str, str]) -> ScriptedSandbox:
        """The next sandbox of the script. Raises what the script says, CallMismatch when it has no more."""
        with self._lock:
            script: Sequence[Expect] = ()
            if self._handler is None:
                script = self._next_script(spec)
            sandbox = ScriptedSandbox(
                f"scripted-{len(self.sandboxes)}",
                spec,
                script=script,
                handler=self._handler,
                files=self._files,
                labels=labels,
            )
            self.sandboxes.append(sandbox)
            return sandbox

    def sweep(self, labels: Mapping[str, str] | None = None) -> int:
        return 0

    def close(self) -> None:
        """Raise CallMismatch, once, if anything was not as scripted."""
        if self._closed:
            return
        self._closed = True
        problems = [self._failure, *(sandbox.left_over() for sandbox in self.sandboxes)]
        if self._scripts:
            problems.append(CallMismatch(f"{len(self._scripts)} scripted sandboxes were never acquired"))
        for problem in problems:
            if problem is not None:
                raise problem

    def _next_script(self, spec: SandboxSpec) -> Sequence[Expect]:
        if not self._scripts:
            differs = CallMismatch(f"a sandbox of {spec.image} after the last scripted one")
            self._failure = self._failure or differs
            raise differs
        script = self._scripts.popleft()
        if isinstance(script, Exception):
            raise script
        return script


def _is_word(expected: Word, word: str) -> bool:
    if isinstance(expected, re.Pattern):
        return expected.fullmatch(word) is not None
    return expected == word
