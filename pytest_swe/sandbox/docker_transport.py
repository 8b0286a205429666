"""The SDK's client, on connections of our own, made fit for many threads and for engines that are not there."""

from __future__ import annotations

import socket
from collections.abc import Callable

import docker
import requests
import requests.adapters
import urllib3
import urllib3.connection

from pytest_swe.sandbox.docker_dial import Dialler, dialler_of
from pytest_swe.sandbox.docker_endpoint import Endpoint

#: Seconds for one answer: under load a start takes seconds. An exec's output is read with deadlines of its own.
ANSWER = 120

#: Seconds for an engine's first answer: who accepts a connection may never speak, and nothing else tells.
FIRST_ANSWER = 30

#: Connections kept open for the threads of one process.
CONNECTIONS = 64

#: A name for HTTP's sake: it is never resolved.
_URL = "http://engine:2375"


def connect(endpoint: Endpoint) -> docker.APIClient:
    """A client of the engine at ``endpoint``. Raises OSError, docker.errors.DockerException when none answers there."""
    dialler = dialler_of(endpoint)
    try:
        dialler.check()  # here its failure has its own words
        return _Client(dialler)
    except BaseException:
        dialler.close()
        raise


def hint(text: str, where: str) -> str:
    """What to do when no engine answers, from the words of the failure."""
    if "Permission" in text:
        return f"this user may not use {where}: join the group docker, or set DOCKER_HOST"
    if "No such file" in text or "refused" in text:
        return f"nothing listens at {where}: start the engine, or set DOCKER_HOST"
    if "timed out" in text:
        return f"no answer came from {where} in time: restart the engine, or name another"
    return f"asked at {where}"


class _Client(docker.APIClient):
    """Speaks over one pool of connections, whatever the URL.

    It lets requests read nothing of the environment: it walks through all of it for each call, and that walk fails when
    another thread removes a variable, as pytest does with PYTEST_CURRENT_TEST after every phase of a test. Proxies of
    the environment do not apply to an engine.
    """

    def __init__(self, dialler: Dialler) -> None:
        self._dialler = dialler
        self._adapter = _Adapter(dialler.dial)
        super().__init__(base_url=_URL, version="auto", timeout=FIRST_ANSWER)
        self.timeout = ANSWER

    def get_adapter(self, url: str | bytes) -> requests.adapters.BaseAdapter:
        return self._adapter

    def close(self) -> None:
        super().close()
        self._adapter.close()
        self._dialler.close()

    @property
    def trust_env(self) -> bool:
        return False

    @trust_env.setter
    def trust_env(self, value: bool) -> None:
        """requests sets it when a session is made."""


class _Connection(urllib3.connection.HTTPConnection):
    def __init__(self, dial: Callable[[], socket.socket]) -> None:
        super().__init__("engine", timeout=ANSWER)
        self._dial = dial

    def connect(self) -> None:
        self.sock = self._dial()
        self.sock.settimeout(ANSWER)


class _Pool(urllib3.HTTPConnectionPool):
    def __init__(self, dial: Callable[[], socket.socket]) -> None:
        super().__init__("engine", timeout=ANSWER, maxsize=CONNECTIONS)
        self._dial = dial

    def _new_conn(self) -> _Connection:
        return _Connection(self._dial)


class _Adapter(requests.adapters.HTTPAdapter):
    """One pool for the engine. The SDK keeps one per URL, and closes the oldest of 25 whether in use or not."""

    def __init__(self, dial: Callable[[], socket.socket]) -> None:
        super().__init__()
        self._pool = _Pool(dial)

    def get_connection_with_tls_context(self, *_: object, **__: object) -> urllib3.HTTPConnectionPool:
        return self._pool

    def get_connection(self, url: str | bytes, proxies: object = None) -> urllib3.HTTPConnectionPool:
        """What requests asked for before 2.32."""
        return self._pool

    def request_url(self, request: requests.PreparedRequest, proxies: object) -> str:
        return str(request.path_url)

    def close(self) -> None:
        super().close()
        self._pool.close()
