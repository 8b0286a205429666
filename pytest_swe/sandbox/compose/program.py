"""The program ``docker compose`` (version 2), run on a file of ours alone, in an environment with nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pytest_swe.errors import Cancelled, Unsupported
from pytest_swe.model import JSON
from pytest_swe.sandbox.docker_endpoint import Endpoint

#: Where Docker's command line looks for its plugins, after the user's own directory.
#: https://github.com/docker/cli/blob/v28.2.2/cli-plugins/manager/manager_unix.go
PLUGIN_DIRECTORIES = (
    "/usr/local/lib/docker/cli-plugins",
    "/usr/local/libexec/docker/cli-plugins",
    "/usr/lib/docker/cli-plugins",
    "/usr/libexec/docker/cli-plugins",
)

#: What of this process's environment the program needs: its own plugins and log-ins, and ssh's agent.
KEPT = ("PATH", "HOME", "DOCKER_CONFIG", "SSH_AUTH_SOCK")

#: Bytes of what it printed that are looked at: what went wrong stands at the end.
TAIL = 64 * 1024

#: Seconds between two looks whether anybody still waits for it.
LOOK_EVERY = 0.2


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended; ``code`` is None when its time was over. ``text`` is the end of what it printed."""

    code: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Compose:
    """Compose for the engine at ``endpoint``."""

    docker: str
    endpoint: Endpoint

    @classmethod
    def found(cls, endpoint: Endpoint) -> Compose | None:
        """None where it is not installed."""
        docker = installed()
        return cls(docker, endpoint) if docker else None

    def run(
        self,
        project: Mapping[str, JSON],
        arguments: Sequence[str],
        seconds: float,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Ended:
        """One command on ``project``, a whole compose file as data; nothing in it is interpolated.

        The file may hold secrets: it is in no directory, and gone with this process, however that ends. Raises
        Cancelled once ``stopped`` says so.
        """
        # fmt: off
        command = [
            self.docker, "compose", "--file", "-", "--project-directory", "/", "--env-file", os.devnull,
            "--ansi", "never", "--progress", "plain", *arguments,
        ]
        # fmt: on
        with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as output:
            file.write(json.dumps(_literal(dict(project))).encode())
            file.seek(0)
            with _running(command, self._environment(), file, output) as process:
                code = _waited(process, time.monotonic() + seconds, stopped)
            output.seek(max(0, output.seek(0, os.SEEK_END) - TAIL))
            return Ended(code, output.read().decode("utf-8", "replace"))

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name in KEPT if (value := os.environ.get(name)) is not None}
        address = self.endpoint.address
        tls = self.endpoint.tls
        if address.startswith(("http://", "https://")):
            address = "tcp://" + address.partition("://")[2]
        found = {**kept, "DOCKER_HOST": address}
        if tls is not None and tls.directory is not None:
            found |= {"DOCKER_CERT_PATH": str(tls.directory)} | ({"DOCKER_TLS_VERIFY": "1"} if tls.verify else {})
        return found


def installed() -> str | None:
    """The ``docker`` command, where its plugin is there too; runs nothing."""
    docker = shutil.which("docker")
    own = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker") / "cli-plugins"
    plugins = (Path(place) / "docker-compose" for place in (own, *PLUGIN_DIRECTORIES))
    return docker if docker and any(os.access(plugin, os.X_OK) for plugin in plugins) else None


def refuse_without_plugin() -> None:
    """Raises Unsupported where there is no ``docker`` command, or no plugin for it."""
    if installed() is None:
        lacking = "`docker compose`" if shutil.which("docker") else "`docker` command"
        raise Unsupported(
            f"this task has a compose file, and there is no {lacking} here",
            hint="install Docker Compose 2, package docker-compose-plugin or docker-compose-v2",
        )


def needed(endpoint: Endpoint) -> Compose:
    """Raises Unsupported where there is no plugin."""
    refuse_without_plugin()
    docker = installed()
    assert docker is not None
    return Compose(docker, endpoint)


@contextlib.contextmanager
def _running(
    command: Sequence[str], environment: Mapping[str, str], file: IO[bytes], output: IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command, stdin=file, stdout=output, stderr=output, env=environment, start_new_session=True
    )
    try:
        yield process
    finally:
        # The plugin is a process of its own below ``docker``.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _waited(process: subprocess.Popen[bytes], deadline: float, stopped: Callable[[], bool]) -> int | None:
    """Its exit status; None when its time was over."""
    while not stopped():
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(min(LOOK_EVERY, max(0.0, deadline - time.monotonic())))
        if time.monotonic() >= deadline:
            return None
    raise Cancelled("the run was stopped")


def _literal(value: JSON) -> JSON:
    """``value`` with every dollar doubled, which is Compose's word for one that stands for itself."""
    if isinstance(value, str):
        return value.replace("$", "$$")
    if isinstance(value, list):
        return [_literal(item) for item in value]
    if isinstance(value, dict):
        return {key: _literal(item) for key, item in value.items()}
    return value
