"""The Docker engine's API as this project uses it: few calls, two errors.

Every call raises `Refused` when the engine answered no, and EngineUnavailable when it did not answer. Only this
module and `docker_transport` import the SDK.
"""

from __future__ import annotations

import io
import json
import logging
import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from operator import attrgetter
from typing import IO, NoReturn, cast

import docker.auth
import docker.errors
import requests
import urllib3

from pytest_swe.errors import EngineUnavailable
from pytest_swe.model import JSON
from pytest_swe.sandbox.docker_answers import Container, ExecForgotten, NotStarted, PathStat, Refused, State, path_stat
from pytest_swe.sandbox.docker_endpoint import endpoint_of
from pytest_swe.sandbox.docker_facts import Facts
from pytest_swe.sandbox.docker_transport import ANSWER, connect, hint

log = logging.getLogger(__name__)


class Engine:
    """A connection to one engine, shared by threads; ``host`` as `docker_endpoint.endpoint_of` takes it.

    ``lost``: it did not answer once, and `ping` has not succeeded since. ``outages`` counts what `ping` ended.
    """

    #: What messages call it.
    name = "Docker"
    #: Networks whose registries it speaks to without TLS, whatever its configuration says.
    plain: tuple[str, ...] = ("127.0.0.0/8",)
    #: Whether it builds with BuildKit itself, without a container of BuildKit's.
    has_buildkit = True

    def __init__(self, host: str | None = None) -> None:
        self.host = host
        self.endpoint = endpoint_of(host)
        self.lost = False
        self.outages = 0
        with self._answering():
            self._api = connect(self.endpoint)

    def close(self) -> None:
        self._api.close()

    def ping(self, timeout: float) -> None:
        """Whether it answers again; ``timeout`` in seconds."""
        with self._answering():
            _checked(self._api.get(f"{self._api.base_url}/_ping", timeout=timeout)).close()
        self.outages += self.lost
        self.lost = False

    def facts(self) -> Facts:
        """What the engine says about itself."""
        with self._answering():
            return Facts.of(self._api.info(), by_socket=self.endpoint.scheme == "unix")

    @property
    def command(self) -> tuple[str, ...]:
        """The command line of the engine, for people."""
        return ("docker", *self.endpoint.arguments)

    def has_image(self, image: str) -> bool:
        try:
            with self._answering():
                self._api.inspect_image(image)  # type: ignore[no-untyped-call]
        except Refused as refusal:
            if refusal.status in (400, 404):
                return False
            raise
        return True

    def layers_bytes(self) -> int:
        """What the layers of all images take, each once. Raises Refused while another asks the same."""
        with self.asked("GET", "system/df") as answer:
            return int(answer.json().get("LayersSize") or 0)

    def version(self) -> tuple[str, str]:
        """Version, and operating system/architecture."""
        with self._answering():
            found = self._api.version()
        return str(found.get("Version", "?")).partition("+")[0], f"{found.get('Os', '?')}/{found.get('Arch', '?')}"

    def create(self, config: Mapping[str, JSON], *, name: str, platform: str | None) -> tuple[str, list[str]]:
        """Id of the new container, and the engine's warnings."""
        with self._answering():
            found = self._api.create_container_from_config(dict(config), name, platform)  # type: ignore[no-untyped-call]
        return str(found["Id"]), [_one_line(str(line)) for line in found.get("Warnings") or ()]

    def start(self, container: str) -> None:
        with self._answering():
            self._api.start(container)

    def kill(self, container: str) -> None:
        with self._answering():
            self._api.kill(container)

    def discard(self, container: str) -> bool:
        """Kill and remove, with anonymous volumes. True when this call did it; never raises, a failure is logged."""
        try:
            with self._answering():
                self._api.remove_container(container, v=True, force=True)
        except Refused as refusal:
            if refusal.status != 404 and "already in progress" not in str(refusal):
                log.warning("container %s is left behind: %s", container, refusal)
            return False
        except EngineUnavailable as lost:
            log.warning("container %s is left behind: %s", container, lost)
            return False
        return True

    def state(self, container: str) -> State | None:
        """None when there is no such container."""
        try:
            with self._answering():
                found = self._api.inspect_container(container)["State"]
        except Refused as refusal:
            if refusal.status == 404:
                return None
            raise
        removing = found.get("Status") == "removing"
        return State(found["Running"], found["ExitCode"], found["OOMKilled"], found["Pid"], removing)

    def last_words(self, container: str) -> str:
        """The last line that the container's first process printed; empty when the engine keeps none."""
        try:
            with self._answering():
                text = self._api.logs(container, tail=1)
        except Refused:
            return ""
        return _one_line(text.decode("utf-8", "replace"))

    def containers(self, labels: Sequence[str]) -> list[Container]:
        """Every container, running or not, with all of ``labels`` (``key`` or ``key=value``).

        One call: to inspect each would fail whenever a stranger's container vanishes in between.
        """
        with self._answering():
            found = self._api.containers(all=True, filters={"label": list(labels)})
        return [Container(str(item["Id"]), item.get("Labels") or {}) for item in found]

    def processes(self, container: str) -> list[dict[str, str]]:
        """The container's processes as the engine's host sees them: pid, ppid, stat, comm."""
        with self._answering():
            found = self._api.top(container, "-eo pid,ppid,stat,comm")
        keys = ("pid", "ppid", "stat", "comm")
        return [dict(zip(keys, row, strict=False)) for row in found["Processes"] or ()]

    def exec_create(
        self, container: str, argv: Sequence[str], *, env: Mapping[str, str], user: str, cwd: str, stdin: bool
    ) -> str:
        with self._answering():
            made = self._api.exec_create(
                container, list(argv), environment=dict(env), user=user, workdir=cwd, stdin=stdin
            )
        return str(made["Id"])

    @contextmanager
    def exec_start(self, exec_id: str) -> Iterator[tuple[socket.socket, bytes]]:
        """The connection of a started exec, not blocking, and the bytes of it that came with the answer's headers."""
        headers = {"Connection": "Upgrade", "Upgrade": "tcp"}
        with self._answering():
            url, how = self._url(f"exec/{exec_id}/start"), {"Detach": False, "Tty": False}
            response = self._api.post(url, json=how, headers=headers, stream=True, timeout=ANSWER)
            try:
                _checked(response)
            except Refused as refusal:
                raise NotStarted(refusal.status, str(refusal)) from refusal
        with response:
            reader = cast("io.BufferedReader", attrgetter("_fp.fp")(response.raw))
            connection = cast("socket.socket", attrgetter("raw._sock")(reader))
            connection.setblocking(False)
            # Under load the first output comes along with the headers, and is lost to whoever goes on with the bare
            # socket, as the SDK does.
            yield connection, reader.peek()

    def exec_exit_code(self, exec_id: str) -> int | None:
        """None while it runs."""
        try:
            with self._answering():
                found = self._api.exec_inspect(exec_id)
        except Refused as refusal:
            raise (ExecForgotten if refusal.status == 404 else Refused)(refusal.status, str(refusal)) from refusal
        if found["Running"]:
            return None
        if found["ExitCode"] is None:
            raise Refused(0, "the command did not start")
        return int(found["ExitCode"])

    def remembers(self, container: str) -> bool:
        """Whether this engine, not one before it, ran commands in ``container``: it keeps events while it lives."""
        with self.asked("GET", "_ping") as answer:
            now = parsedate_to_datetime(answer.headers["Date"]).timestamp() + 1  # the header has no fractions
        asked = {"container": [container], "event": ["exec_start"]}
        params = {"since": "0", "until": f"{now:.0f}", "filters": json.dumps(asked)}
        with self.asked("GET", "events", params=params) as answer:
            return bool(answer.content)

    def put(self, container: str, tar: bytes | IO[bytes]) -> None:
        """Unpack ``tar`` at ``/``; a directory is never replaced by a file, nor a file by a directory."""
        with self._answering():
            params = {"path": "/", "noOverwriteDirNonDir": "true"}
            _checked(
                self._api.put(self._url(f"containers/{container}/archive"), params=params, data=tar, timeout=ANSWER)
            )

    @contextmanager
    def get(self, container: str, path: str) -> Iterator[tuple[PathStat, IO[bytes]]]:
        """What ``path`` is, and a tar of it to read from."""
        with self._answering():
            url, params = self._url(f"containers/{container}/archive"), {"path": os.fsencode(path)}
            headers = {"Accept-Encoding": "identity"}
            with _checked(self._api.get(url, params=params, headers=headers, stream=True, timeout=ANSWER)) as response:
                stat = path_stat(response.headers["X-Docker-Container-Path-Stat"])
                yield stat, cast("IO[bytes]", response.raw)

    def hint(self, text: str) -> str:
        """What to do when the engine does not answer, from the words of the failure."""
        return hint(text, self.endpoint.address)

    @contextmanager
    def asked(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | Sequence[str]] | None = None,
        headers: Mapping[str, str | bytes] | None = None,
        data: Iterable[bytes] | None = None,
        silence: float = ANSWER,
    ) -> Iterator[requests.Response]:
        """A call that is not about containers; the answer is read as it comes, ``silence`` seconds for each part."""
        with self._answering():
            response = self._api.request(
                method,
                self._url(path),
                params=params,
                headers=headers,
                data=data,
                stream=True,
                timeout=(ANSWER, silence),
            )
            with _checked(response) as answer:
                yield answer

    def login(self, registry: str) -> Mapping[str, str]:
        """What the user's Docker configuration has for ``registry`` (``docker.io`` for Docker's own); empty if nothing.

        Raises Refused when it cannot be read.
        """
        try:
            found = docker.auth.load_config().resolve_authconfig(registry)
        except docker.errors.DockerException as failure:
            raise Refused(0, _one_line(str(failure))) from failure
        return {key: str(value) for key, value in (found or {}).items()}

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except docker.errors.APIError as refusal:
            raise Refused(refusal.status_code or 0, _one_line(refusal.explanation or str(refusal))) from refusal
        except (
            docker.errors.DockerException,
            requests.RequestException,
            urllib3.exceptions.HTTPError,
            OSError,
        ) as gone:
            self.lost = True
            text = _one_line(str(gone))
            raise EngineUnavailable(f"the {self.name} engine does not answer: {text}", hint=self.hint(text)) from gone

    def _url(self, path: str) -> str:
        return f"{self._api.base_url}/v{self._api.api_version}/{path}"


def _checked(response: requests.Response) -> requests.Response:
    if response.ok:
        return response
    with response:
        _refuse(response)


def _refuse(response: requests.Response) -> NoReturn:
    try:
        message = str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        message = response.text or response.reason
    raise Refused(response.status_code, _one_line(message))


def _one_line(text: str) -> str:
    return " ".join(text.split())[:400]
