"""The output of one command, bounded: its first and its last bytes are kept, what is between is counted."""

from __future__ import annotations

import tempfile
from collections import deque
from types import TracebackType
from typing import Self

from pytest_swe.sandbox.base import OUTPUT_HEAD, OUTPUT_TAIL

#: Bytes of the head that stay in memory; past this it goes to disk.
SPOOL = 1024 * 1024

#: Small writes are gathered into chunks of this size, so that a million one-byte writes cost no million objects.
CHUNK = 64 * 1024


class BoundedOutput:
    """Collects bytes in time and memory linear in what is kept.

    ``head`` and ``tail`` are the bytes kept of each end. Use it in a ``with`` statement: the head may be a file.
    """

    def __init__(self, head: int = OUTPUT_HEAD, tail: int = OUTPUT_TAIL) -> None:
        self._room = head
        self._tail_size = tail
        self._head = tempfile.SpooledTemporaryFile(max_size=SPOOL)
        self._tail: deque[bytearray] = deque()
        self._tail_held = 0
        self._tail_total = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    @property
    def dropped(self) -> int:
        """Bytes that are in neither the head nor the tail."""
        return max(0, self._tail_total - self._tail_size)

    def write(self, data: bytes | memoryview) -> None:
        """Take the next bytes of the stream."""
        view = memoryview(data)
        if self._room:
            first = view[: self._room]
            self._head.write(first)
            self._room -= len(first)
            view = view[len(first) :]
        if view:
            self._write_tail(view)

    def value(self) -> bytes:
        """All that is kept, in order, with one line in place of what was left out."""
        self._head.seek(0)
        head = self._head.read()
        tail = b"".join(self._tail)
        if not self.dropped:
            return head + tail
        kept = tail[len(tail) - self._tail_size :]
        return b"%s\n[... %d bytes left out ...]\n%s" % (head, self.dropped, kept)

    def close(self) -> None:
        """Let go of the file behind the head. Idempotent."""
        self._head.close()

    def _write_tail(self, view: memoryview) -> None:
        self._tail_total += len(view)
        view = view[max(0, len(view) - self._tail_size) :]
        while view:
            if not self._tail or len(self._tail[-1]) >= CHUNK:
                self._tail.append(bytearray())
            last = self._tail[-1]
            part = view[: CHUNK - len(last)]
            last += part
            view = view[len(part) :]
            self._tail_held += len(part)
        while self._tail and self._tail_held - len(self._tail[0]) >= self._tail_size:
            self._tail_held -= len(self._tail.popleft())
