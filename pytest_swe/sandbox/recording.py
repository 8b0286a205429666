"""A provider that wraps any other and writes down what is asked and answered; see `pytest_swe.sandbox.transcript`."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, TypeVar

from pytest_swe.errors import SweError, UsageError
from pytest_swe.model import JSON, ExecResult, SandboxSpec
from pytest_swe.sandbox import transcript
from pytest_swe.sandbox.base import Sandbox, SandboxProvider, checked_argv, free_disk_mb, image_of
from pytest_swe.sandbox.placeholders import Placeholders

T = TypeVar("T")

Write = Callable[[transcript.Ask], None]


class RecordingProvider:
    """Passes everything on to ``inner`` and writes each call to ``path`` as one JSON line.

    ``kinds``: values that differ from run to run, name -> regular expression (a nonce, a temporary name). Values of
    environment variables are never written, also not where they show up in output, unless ``values_of`` lists the
    variable; those of less than eight characters cannot be told from other words and are only left out of ``env``.
    Values of a kind are numbered as they are met: two that are new in calls which overlap may be swapped in a replay.

    Raises UsageError when another process records to ``path``.
    """

    name = "recording"

    def __init__(
        self,
        inner: SandboxProvider,
        path: Path | str,
        *,
        kinds: Mapping[str, str] | None = None,
        values_of: Iterable[str] = (),
    ) -> None:
        self.capabilities = inner.capabilities
        self._inner = inner
        self._kinds = dict(kinds or {})
        self._values_of = sorted(values_of)
        self._lock = threading.Lock()
        self._file = _open(Path(path))
        self._sandboxes = 0
        self._swept = Placeholders(self._kinds)
        self._write(
            {
                "format": transcript.FORMAT,
                "provider": inner.name,
                "capabilities": transcript.pack_capabilities(inner.capabilities),
                "kinds": dict(self._kinds),
                "values_of": list(self._values_of),
            }
        )

    def check(self) -> str:
        return self._inner.check()

    def acquire(self, spec: SandboxSpec, *, labels: Mapping[str, str]) -> RecordingSandbox:
        """A sandbox of the inner provider, recorded; also one that cannot be had."""
        with self._lock:
            number = self._sandboxes
            self._sandboxes += 1

        def write(line: transcript.Ask) -> None:
            self._write({"sandbox": number, **line})

        asking = transcript.Asking(self._kinds, self._values_of, spec.env)
        ask = transcript.acquire(spec, labels)
        sandbox = _recorded(
            write,
            asking.placeholders,
            ask,
            lambda: self._inner.acquire(spec, labels=labels),
            lambda made: transcript.pack_image(image_of(made)),
        )
        return RecordingSandbox(sandbox, asking, write)

    def sweep(self, labels: Mapping[str, str] | None = None) -> int:
        ask = transcript.sweep(labels, self._swept)
        return _recorded(self._write, self._swept, ask, lambda: self._inner.sweep(labels), lambda count: count)

    def free_disk_mb(self) -> int | None:
        return free_disk_mb(self._inner)

    def close(self) -> None:
        self._inner.close()
        self._file.close()

    def _write(self, line: transcript.Ask) -> None:
        with self._lock:
            self._file.write(json.dumps(line).encode("ascii") + b"\n")
            self._file.flush()


class RecordingSandbox:
    """A sandbox whose calls are recorded."""

    def __init__(self, inner: Sandbox, asking: transcript.Asking, write: Write) -> None:
        self.id = inner.id
        self.attach = inner.attach
        self.image = image_of(inner)
        self._inner = inner
        self._asking = asking
        self._write = write
        self._ended = 0
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
        hidden = self._asking.placeholders
        return self._record(
            self._asking.exec(checked_argv(argv), cwd, env, user, stdin),
            lambda: self._inner.exec(argv, cwd=cwd, env=env, user=user, stdin=stdin, timeout=timeout),
            lambda result: transcript.pack_result(result, hidden),
            timeout=timeout,
        )

    def read_file(self, path: str) -> bytes:
        hidden = self._asking.placeholders
        ask = self._asking.path("read_file", path)
        return self._record(
            ask, lambda: self._inner.read_file(path), lambda data: transcript.pack_bytes(hidden.hide(data))
        )

    def write_file(self, path: str, data: bytes) -> None:
        ask = self._asking.write(path, data)
        self._record(ask, lambda: self._inner.write_file(path, data), lambda done: None)

    def upload(self, tar: BinaryIO, path: str) -> None:
        with transcript.spooled(tar) as copy:
            ask = self._asking.upload(path, copy)
            self._record(ask, lambda: self._inner.upload(copy, path), lambda done: None)

    def download(self, path: str) -> bytes:
        hidden = self._asking.placeholders
        ask = self._asking.path("download", path)
        return self._record(ask, lambda: self._inner.download(path), lambda tar: transcript.pack_tar(tar, hidden))

    def close(self) -> None:
        self._inner.close()

    def _record(self, ask: transcript.Ask, action: Callable[[], T], pack: Callable[[T], JSON], **facts: JSON) -> T:
        after = self._ended

        def write(line: transcript.Ask) -> None:
            with self._lock:
                overlapping: transcript.Ask = {} if after == self._ended else {"after": after}
                self._write({**line, **overlapping, **facts})
                self._ended += 1

        return _recorded(write, self._asking.placeholders, ask, action, pack)


def _recorded(
    write: Write, hidden: Placeholders, ask: transcript.Ask, action: Callable[[], T], pack: Callable[[T], JSON]
) -> T:
    """Do ``action``, write what was asked and what came of it, and pass that on."""
    try:
        answer = action()
    except SweError as error:
        write({"ask": ask, "error": transcript.pack_error(error, hidden)})
        raise
    write({"ask": ask, "answer": pack(answer)})
    return answer


def _open(path: Path) -> BinaryIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise UsageError(f"{path}: another process records to it", hint="give each its own file, or use -n0") from error
    file.truncate()
    return file
