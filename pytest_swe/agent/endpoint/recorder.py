"""The calls of one item as a file of JSON lines, without anybody's key."""

from __future__ import annotations

import base64
import json
import os
import threading
from pathlib import Path

from pytest_swe.masking import Secrets
from pytest_swe.model import JSON


class Recorder:
    """Writes to ``path``, or nowhere when it is None. For many threads.

    ``body_bytes`` bounds one body and ``file_bytes`` the file; what is left out is counted in its place.
    """

    def __init__(self, path: Path | None, secrets: Secrets, *, body_bytes: int, file_bytes: int) -> None:
        self._secrets = secrets
        self._body_bytes = body_bytes
        self._left = file_bytes
        self._lock = threading.Lock()
        self._file = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            # What an agent and its model say to each other is for the user alone until he decides otherwise.
            self._file = open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")

    def write(self, facts: dict[str, JSON], *, request: bytes, response: bytes) -> None:
        """One call. A body is written as JSON under its name, else as text or base64 under ``<name>_text`` or so."""
        if self._file is None:
            return
        with self._lock:
            line = self._line({**facts, **self._shown("request", request), **self._shown("response", response)})
            if len(line) > self._left:
                left_out: dict[str, JSON] = {"request_left_out": len(request), "response_left_out": len(response)}
                line = self._line({**facts, **left_out})
            if self._file.closed or len(line) > self._left:
                return
            self._left -= len(line)
            self._file.write(line)
            self._file.flush()

    def close(self) -> None:
        """Idempotent."""
        if self._file is not None:
            with self._lock:
                self._file.close()

    def _line(self, facts: dict[str, JSON]) -> bytes:
        return self._secrets.masked(json.dumps(facts).encode("ascii")) + b"\n"

    def _shown(self, name: str, body: bytes) -> dict[str, JSON]:
        if not body:
            return {name: None}
        if len(body) > self._body_bytes:
            return {f"{name}_left_out": len(body)}
        body = self._secrets.masked(body)
        try:
            found: JSON = json.loads(body)
            json.dumps(found)
            return {name: found}
        except (ValueError, RecursionError):
            pass
        try:
            return {f"{name}_text": body.decode()}
        except UnicodeDecodeError:
            return {f"{name}_base64": base64.b64encode(body).decode("ascii")}
