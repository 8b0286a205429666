"""One HTTP exchange with an upstream, bounded in time and size, that another thread can break off.

``http.client``, because what waits in it for a model's answer can be ended by shutting its socket down.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

#: Seconds for the connection alone.
CONNECT = 30.0
_READ = 256 * 1024


class NoConnection(OSError):
    """Nobody was reached; the request was not sent."""


class TooLong(Exception):
    """The answer is over its bound of bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What an upstream answered. Names of headers are lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Connections:
    """Makes the exchanges of one sandbox, and ends those under way at `cancel`. For many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[http.client.HTTPConnection] = set()
        self.cancelled = threading.Event()

    def exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, *, seconds: float, limit: int
    ) -> Reply:
        """Send and read it whole, within ``seconds``.

        Raises NoConnection, OSError or http.client.HTTPException when it breaks, TooLong for an answer of more than
        ``limit`` bytes.
        """
        parts = urlsplit(url)
        connection, target = self._connection(parts, min(CONNECT, seconds))
        end = time.monotonic() + seconds
        with self._held(connection), contextlib.closing(connection):
            try:
                connection.connect()
            except (OSError, http.client.HTTPException) as error:
                raise NoConnection(str(error) or type(error).__name__) from error
            with self._bounded(connection, end - time.monotonic()):
                connection.request(method, target, body=body or None, headers=dict(headers))
                response = connection.getresponse()
                found = {name.lower(): value for name, value in response.getheaders()}
                reply = Reply(status=response.status, headers=found, body=_read(response, limit))
        if self.cancelled.is_set():
            raise ConnectionAbortedError("the item is over")
        return reply

    def cancel(self) -> None:
        """End every exchange, now and from now on. Idempotent."""
        with self._lock:
            self.cancelled.set()
            opened = list(self._open)
        for connection in opened:
            _shut(connection)

    @functools.cached_property
    def _trust(self) -> ssl.SSLContext:
        """The system's certificates, or those that SSL_CERT_FILE and SSL_CERT_DIR name: OpenSSL reads both."""
        return ssl.create_default_context()

    def _connection(self, parts: SplitResult, seconds: float) -> tuple[http.client.HTTPConnection, str]:
        """A connection, and the target to ask it for; through the proxy that the environment names."""
        host, target = parts.hostname or "", parts.path or "/"
        target += f"?{parts.query}" if parts.query else ""
        proxy = _proxy(parts.scheme, host)
        if parts.scheme == "http":
            if proxy is None:
                return http.client.HTTPConnection(host, parts.port or 80, timeout=seconds), target
            through = http.client.HTTPConnection(proxy.hostname or "", proxy.port or 80, timeout=seconds)
            return through, f"http://{parts.netloc}{target}"
        if proxy is None:
            return http.client.HTTPSConnection(host, parts.port or 443, timeout=seconds, context=self._trust), target
        tunnel = http.client.HTTPSConnection(
            proxy.hostname or "", proxy.port or 80, timeout=seconds, context=self._trust
        )
        tunnel.set_tunnel(host, parts.port or 443)
        return tunnel, target

    @contextmanager
    def _held(self, connection: http.client.HTTPConnection) -> Iterator[None]:
        with self._lock:
            if self.cancelled.is_set():
                raise NoConnection("the item is over")
            self._open.add(connection)
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(connection)

    @contextmanager
    def _bounded(self, connection: http.client.HTTPConnection, seconds: float) -> Iterator[None]:
        """A limit of the whole exchange: the socket's own starts anew with each byte."""
        over = threading.Event()

        def end() -> None:
            over.set()
            _shut(connection)

        if connection.sock is not None:
            connection.sock.settimeout(max(0.1, seconds))
        timer = threading.Timer(max(0.1, seconds), end)
        timer.daemon = True
        timer.start()
        try:
            if self.cancelled.is_set():
                _shut(connection)
            yield
        except (OSError, http.client.HTTPException):
            if not over.is_set():
                raise
        finally:
            timer.cancel()
        if over.is_set():
            # An answer without a length ends where its connection does: what was read may look whole.
            raise TimeoutError("no answer in time")


def _read(response: http.client.HTTPResponse, limit: int) -> bytes:
    data = bytearray()
    while part := response.read(_READ):
        data += part
        if len(data) > limit:
            raise TooLong
    if response.length:
        # Nobody else says so when the connection ended early.
        raise http.client.IncompleteRead(bytes(data), response.length)
    return bytes(data)


def _shut(connection: http.client.HTTPConnection) -> None:
    """Below TLS: its own farewell would wait for the other side."""
    sock = connection.sock
    if sock is not None:
        with contextlib.suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _proxy(scheme: str, host: str) -> SplitResult | None:
    """By name: a walk through the environment fails while another thread changes it."""
    names = (f"{scheme}_proxy", f"{scheme}_proxy".upper()) if scheme == "https" else (f"{scheme}_proxy",)
    found = next((value for name in names if (value := os.environ.get(name))), "")
    exempt = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    if not found or _is_exempt(host, exempt):
        return None
    return urlsplit(found if "://" in found else f"http://{found}")


def _is_exempt(host: str, names: str) -> bool:
    """``names`` as in ``no_proxy``: domains, with everything below them, or ``*``."""
    known = [name.strip().lstrip(".").lower() for name in names.split(",")]
    return "*" in known or any(name and (host == name or host.endswith(f".{name}")) for name in known)
