"""Providers without an engine, for tests of harnesses, families and Jobs.

* `ScriptedProvider` answers from a list of expected commands, or from a function.
* `RecordingProvider` wraps any provider and writes each call down.
* `ReplayProvider` answers from such a recording, in order.

The first and the last are strict: an unexpected or a left-over command raises `CallMismatch`, with a diff.

    recorder = RecordingProvider(registry.provider("docker"), "flask.jsonl", kinds={"nonce": "[0-9a-f]{32}"})
    ...                                    # run the Job once, with the real engine
    with ReplayProvider("flask.jsonl") as provider:
        ...                                # and ever after without one

In a conftest.py they are returned by the fixture ``swe_provider``.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from pytest_swe.errors import SandboxLost, UsageError
from pytest_swe.model import JSON, ExecResult, SandboxSpec
from pytest_swe.sandbox import transcript
from pytest_swe.sandbox.base import ImageFacts, checked_argv
from pytest_swe.sandbox.calls import Call, CallMismatch, mismatch
from pytest_swe.sandbox.placeholders import Placeholders
from pytest_swe.sandbox.recording import RecordingProvider
from pytest_swe.sandbox.scripted import Expect, Handler, ScriptedProvider, ScriptedSandbox, Word

__all__ = [
    "Call",
    "CallMismatch",
    "Expect",
    "Handler",
    "RecordingProvider",
    "ReplayProvider",
    "ScriptedProvider",
    "ScriptedSandbox",
    "Word",
]

#: Calls before the one that differs which a diff shows.
CONTEXT = 3


class ReplayProvider:
    """Answers from a recording.

    A sandbox that is asked for gets the first recorded one, not yet taken, for the same image, tree, network and
    instance; within it calls must come in the recorded order, those that overlapped in any. Time-outs and the values of
    environment variables that were not recorded are not compared. A sweep has removed what the same one removed then,
    else nothing; it need not come. A recording belongs to one process (``-n0``): `close`, or leaving the ``with``
    block, raises CallMismatch when something differed or is left over, also when the code under test has swallowed the
    first error.

    Raises UsageError when ``path`` is no recording.
    """

    name = "replay"

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        header, self._recorded, self._sweeps = _load(self._path)
        self.capabilities = transcript.unpack_capabilities(_object(header["capabilities"]))
        self._kinds = {name: str(pattern) for name, pattern in _object(header["kinds"]).items()}
        self._values_of = [str(name) for name in _list(header["values_of"])]
        self._swept = Placeholders(self._kinds)
        self._sandboxes: list[ReplaySandbox] = []
        self._failure: CallMismatch | None = None
        self._closed = False
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if error is None:
            self.close()

    def check(self) -> str:
        return f"replay: {self._path}"

    def acquire(self, spec: SandboxSpec, *, labels: Mapping[str, str]) -> ReplaySandbox:
        """The recorded sandbox for ``spec``. Raises what was raised then, CallMismatch when there is none."""
        ask = transcript.acquire(spec, labels)
        asking = transcript.Asking(self._kinds, self._values_of, spec.env)
        with self._lock:
            found = next((lines for lines in self._recorded if lines[0]["ask"] == ask), None)
            if found is None:
                known = [line for lines in self._recorded for line in transcript.shown(_object(lines[0]["ask"]))]
                differs = mismatch(f"{self._path}: no such sandbox is left", known, transcript.shown(ask))
                self._failure = self._failure or differs
                raise differs
            self._recorded.remove(found)
            if "error" in found[0]:
                raise transcript.unpack_error(_object(found[0]["error"]), asking.placeholders)
            image = transcript.unpack_image(found[0]["answer"])
            sandbox = ReplaySandbox(f"replay-{len(self._sandboxes)}", found[1:], asking, image)
            self._sandboxes.append(sandbox)
            return sandbox

    def sweep(self, labels: Mapping[str, str] | None = None) -> int:
        with self._lock:
            ask = transcript.sweep(labels, self._swept)
            found = next((line for line in self._sweeps if line["ask"] == ask), None)
            if found is None:
                return 0
            self._sweeps.remove(found)
        if "error" in found:
            raise transcript.unpack_error(_object(found["error"]), self._swept)
        return int(str(found["answer"]))

    def close(self) -> None:
        """Raise CallMismatch, once, if anything differed from the recording or is left of it."""
        if self._closed:
            return
        self._closed = True
        problems = [self._failure, *(sandbox.left_over() for sandbox in self._sandboxes)]
        if self._recorded:
            lines = [line for lines in self._recorded for line in transcript.shown(_object(lines[0]["ask"]))]
            problems.append(mismatch(f"{self._path}: recorded sandboxes were never acquired", lines, []))
        for problem in problems:
            if problem is not None:
                raise problem


class ReplaySandbox:
    """A sandbox of `ReplayProvider`."""

    def __init__(
        self, sandbox_id: str, lines: Sequence[Mapping[str, JSON]], asking: transcript.Asking, image: ImageFacts
    ) -> None:
        self.id = sandbox_id
        self.image = image
        self.attach: tuple[str, ...] = ("echo", "a replayed sandbox has no shell")
        self._asking = asking
        self._left = dict(enumerate(lines))
        self._done: deque[Mapping[str, JSON]] = deque(maxlen=CONTEXT)
        self._failure: CallMismatch | None = None
        self._closed = False
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
        argv = checked_argv(argv)
        answer = self._answer(lambda: self._asking.exec(argv, cwd, env, user, stdin))
        return transcript.unpack_result(_object(answer), argv, self._asking.placeholders)

    def read_file(self, path: str) -> bytes:
        answer = self._answer(lambda: self._asking.path("read_file", path))
        return self._asking.placeholders.show(transcript.unpack_bytes(answer))

    def write_file(self, path: str, data: bytes) -> None:
        self._answer(lambda: self._asking.write(path, data))

    def upload(self, tar: BinaryIO, path: str) -> None:
        with transcript.spooled(tar) as copy:
            self._answer(lambda: self._asking.upload(path, copy))

    def download(self, path: str) -> bytes:
        answer = self._answer(lambda: self._asking.path("download", path))
        return transcript.unpack_tar(answer, self._asking.placeholders)

    def close(self) -> None:
        self._closed = True

    def left_over(self) -> CallMismatch | None:
        """What is wrong at the end: a mismatch that came before, or calls that never came."""
        if self._failure is None and self._left:
            done = _shown(self._done)
            headline = f"{self.id}: {len(self._left)} recorded calls never came"
            return mismatch(headline, done + _shown(self._left.values()), done)
        return self._failure

    def _answer(self, make_ask: Callable[[], transcript.Ask]) -> JSON:
        with self._lock:
            ask = make_ask()
            line = self._taken(ask)
            if line is None and self._closed:
                raise SandboxLost(f"{self.id} is closed")
            if line is None:
                done = _shown(self._done)
                expected = done + _shown(list(self._left.values())[:1])
                differs = mismatch(f"{self.id}: not what was recorded", expected, [*done, *transcript.shown(ask)])
                self._failure = self._failure or differs
                raise differs
            self._done.append(line)
        if "error" in line:
            raise transcript.unpack_error(_object(line["error"]), self._asking.placeholders)
        return line["answer"]

    def _taken(self, ask: transcript.Ask) -> Mapping[str, JSON] | None:
        """The recorded call that ``ask`` is: the next, or one that had begun before the next one ended.

        Of a closed sandbox only one that failed.
        """
        ended = next(iter(self._left), 0)
        for number, line in self._left.items():
            may_come = int(str(line.get("after", number))) <= ended and (not self._closed or "error" in line)
            if may_come and line["ask"] == ask:
                return self._left.pop(number)
        return None


def _load(path: Path) -> tuple[Mapping[str, JSON], list[list[Mapping[str, JSON]]], list[Mapping[str, JSON]]]:
    """The header; per sandbox its lines, the first of which is how it was acquired; and sweeps."""
    try:
        header, *lines = (_object(json.loads(line)) for line in path.read_bytes().splitlines())
        if header["format"] != transcript.FORMAT:
            raise UsageError(f"{path}: format {header['format']} of recordings is not known")
        sandboxes: dict[JSON, list[Mapping[str, JSON]]] = {}
        sweeps: list[Mapping[str, JSON]] = []
        for line in lines:
            swept = _object(line["ask"])["call"] == "sweep"
            (sweeps if swept else sandboxes.setdefault(str(line["sandbox"]), [])).append(line)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError) as error:
        raise UsageError(f"{path} is no recording: {error}") from error
    return header, list(sandboxes.values()), sweeps


def _shown(lines: Iterable[Mapping[str, JSON]]) -> list[str]:
    return [text for line in lines for text in transcript.shown(_object(line["ask"]))]


def _object(value: JSON) -> dict[str, JSON]:
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is no JSON object")
    return value


def _list(value: JSON) -> list[JSON]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r} is no JSON list")
    return value
