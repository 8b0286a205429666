"""The program ``docker compose`` (version 2), run on files of ours alone, in an environment that holds nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_swe.errors import Unsupported
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

    def run(self, project: Mapping[str, JSON], arguments: Sequence[str], seconds: float) -> Ended:
        """One command on ``project``, a whole compose file as data; nothing in it is interpolated.

        The file may hold secrets: it is this user's alone, and gone when the command has ended.
        """
        with _private_directory() as place:
            file = place / "compose.json"
            file.touch(mode=0o600)
            file.write_text(json.dumps(_literal(dict(project))), encoding="utf-8")
            (place / "none.env").touch()
            # fmt: off
            command = [
                self.docker, "compose", "--file", str(file), "--project-directory", str(place),
                "--env-file", str(place / "none.env"), "--ansi", "never", "--progress", "plain", *arguments,
            ]
            # fmt: on
            return _ended(command, self._environment(), place / "output", seconds)

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
def _private_directory() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="pytest-swe-compose-"))  # mode 0700
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _ended(command: Sequence[str], environment: Mapping[str, str], output: Path, seconds: float) -> Ended:
    with output.open("w+b") as said:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environment, start_new_session=True
        )
        try:
            code: int | None = process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            code = None
        finally:
            # The plugin is a process of its own below ``docker``.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said.seek(max(0, said.seek(0, os.SEEK_END) - TAIL))
        return Ended(code, said.read().decode("utf-8", "replace"))


def _literal(value: JSON) -> JSON:
    """``value`` with every dollar doubled, which is Compose's word for one that stands for itself."""
    if isinstance(value, str):
        return value.replace("$", "$$")
    if isinstance(value, list):
        return [_literal(item) for item in value]
    if isinstance(value, dict):
        return {key: _literal(item) for key, item in value.items()}
    return value
