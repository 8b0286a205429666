"""What an exec of the Docker engine sends over its connection: frames of two streams, until an end or a deadline."""

from __future__ import annotations

import math
import select
import socket
import ssl
import time
from collections.abc import Callable
from typing import Protocol

#: Bytes asked from the connection at once; the engine frames at most 32 KiB, the kernel hands over about 200 KiB.
RECEIVE = 256 * 1024

_HEADER = 8
_WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Sink(Protocol):
    def write(self, data: memoryview) -> None: ...


class Demultiplexer:
    """Splits frames into stdout and stderr, however the bytes are cut.

    A frame is one byte for the stream (2 is stderr), three zeros, its length as four big-endian bytes, the data:
    https://docs.docker.com/reference/api/engine/version/v1.41/#tag/Container/operation/ContainerAttach
    """

    def __init__(self, stdout: Sink, stderr: Sink) -> None:
        self._stdout = stdout
        self._stderr = stderr
        self._sink = stdout
        self._header = bytearray()
        self._left = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the connection."""
        view = memoryview(data)
        while view:
            if self._left:
                part = view[: self._left]
                self._sink.write(part)
                self._left -= len(part)
            else:
                part = view[: _HEADER - len(self._header)]
                self._header += part
                if len(self._header) == _HEADER:
                    self._sink = self._stderr if self._header[0] == 2 else self._stdout
                    self._left = int.from_bytes(self._header[4:], "big")
                    self._header.clear()
            view = view[len(part) :]


def pump(connection: socket.socket, stdin: bytes, feed: Callable[[bytes], None], deadline: float) -> bool:
    """Send ``stdin`` and its end; give what arrives to ``feed``.

    Returns True at the end of the stream, False at ``deadline`` (of time.monotonic). The connection must not block.
    """
    unsent = memoryview(stdin)
    poll = select.poll()
    while True:
        unsent = _send(connection, unsent) if unsent else unsent
        data = _receive(connection)
        if data:
            feed(data)
        elif data is not None:
            return True
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        if data is None:
            poll.register(connection, select.POLLIN | (select.POLLOUT if unsent else 0))
            poll.poll(math.ceil(min(left, 3600) * 1000))


def _receive(connection: socket.socket) -> bytes | None:
    """What is there; None when nothing is, no bytes at the end of the stream."""
    try:
        return connection.recv(RECEIVE)
    except _WOULD_BLOCK:
        return None
    except OSError:
        return b""


def _send(connection: socket.socket, unsent: memoryview) -> memoryview:
    """What is left of ``unsent`` after as much as fits now; nothing when the command reads no more."""
    try:
        unsent = unsent[connection.send(unsent) :]
        if not unsent:
            connection.shutdown(socket.SHUT_WR)
    except _WOULD_BLOCK:
        return unsent
    except OSError:
        return memoryview(b"")
    return unsent
