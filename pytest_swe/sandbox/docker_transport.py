"""The SDK's client, with its handling of connections made fit for many threads and for engines that are not there."""

from __future__ import annotations

import os
import socket

import docker
import docker.transport
import docker.utils
from docker.transport.unixconn import UnixHTTPConnection, UnixHTTPConnectionPool

#: Seconds for one answer: under load a start takes seconds. An exec's output is read with deadlines of its own.
ANSWER = 120

#: Connections kept open for the threads of one process.
CONNECTIONS = 64

_UNIX = "http+unix://"


def connect(host: str | None) -> docker.APIClient:
    """A client of the engine at ``host``, else of DOCKER_HOST (with its TLS variables), else of the usual socket.

    Raises OSError and docker.errors.DockerException when no engine answers there.
    """
    settings = docker.utils.kwargs_from_env()
    address = str(docker.utils.parse_host(host or settings.get("base_url")))
    unix = "/" + address.removeprefix(_UNIX).lstrip("/") if address.startswith(_UNIX) else ""
    if unix:
        _connected_socket(unix, ANSWER).close()
    api = _Client(
        base_url=host or settings.get("base_url"),
        tls=settings.get("tls", False),
        version="auto",
        timeout=ANSWER,
        max_pool_size=CONNECTIONS,
    )
    if unix:
        api.mount("http+docker://", _Adapter(_UNIX + unix, ANSWER, 1, CONNECTIONS))
    return api


def hint(text: str, host: str | None) -> str:
    """What to do when no engine answers, from the words of the failure."""
    where = host or os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    if "Permission" in text:
        return f"this user may not use {where}: join the group docker, or set DOCKER_HOST"
    if "No such file" in text or "refused" in text:
        return f"nothing listens at {where}: start the engine, or set DOCKER_HOST"
    return f"asked at {where}"


def _connected_socket(path: str, timeout: float) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(timeout)
    try:
        made.connect(path)
    except OSError:
        made.close()
        raise
    return made


class _Client(docker.APIClient):
    """Lets requests read nothing of the environment: it walks through all of it for each call, and that walk fails when
    another thread removes a variable, as pytest does with PYTEST_CURRENT_TEST after every phase of a test. Proxies of
    the environment do not apply to an engine; its certificates are those of DOCKER_CERT_PATH.
    """

    @property
    def trust_env(self) -> bool:
        return False

    @trust_env.setter
    def trust_env(self, value: bool) -> None:
        """requests sets it when a session is made."""


class _Connection(UnixHTTPConnection):
    """The SDK's leaves a socket open that could not connect."""

    def connect(self) -> None:
        self.sock = _connected_socket(self.unix_socket, ANSWER)


class _Pool(UnixHTTPConnectionPool):
    def _new_conn(self) -> _Connection:  # type: ignore[override]
        return _Connection(self.base_url, self.socket_path, ANSWER)


class _Adapter(docker.transport.UnixHTTPAdapter):
    """One pool for the socket. The SDK keeps one per URL, and closes the oldest of 25 whether in use or not."""

    def get_connection(self, url: bytes | str, proxies: object = None) -> UnixHTTPConnectionPool:
        with self.pools.lock:
            pool = self.pools.get(self.socket_path)
            if pool is None:
                pool = self.pools[self.socket_path] = _Pool(
                    self.socket_path, self.socket_path, ANSWER, self.max_pool_size
                )
        return pool
