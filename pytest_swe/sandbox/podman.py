"""Sandboxes as containers of Podman, through its Docker-compatible API: the Docker provider, with Podman's own ways.

What differs in the API is in `podman_engine`. The service need not run as root: one socket is one user's Podman.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_swe.errors import UsageError
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.docker_pool import PATIENCE, Link

if TYPE_CHECKING:
    from pytest_swe.sandbox.compose.group import Starter
    from pytest_swe.sandbox.docker_engine import Engine
    from pytest_swe.sandbox.images.pull import PullPolicy

#: Where root's service listens.
ROOT_SOCKET = Path("/run/podman/podman.sock")


class PodmanProvider(DockerProvider):
    """See `pytest_swe.sandbox.base.SandboxProvider`; needs no more than the socket of ``podman system service``.

    ``host``: its address, else CONTAINER_HOST, else the user's socket, else root's; the rest is as for Docker.
    """

    name = "podman"

    def __init__(
        self,
        *,
        host: str | None = None,
        hosts: Sequence[str] = (),
        pull: bool = True,
        policy: PullPolicy | None = None,
        patience: float = PATIENCE,
    ) -> None:
        super().__init__(host=host, hosts=hosts, pull=pull, policy=policy, patience=patience)

    def _starter(self, link: Link) -> Starter:
        from pytest_swe.sandbox.compose.podman import PodmanStarter

        engine = link.engine()
        return PodmanStarter(engine, self._builder(engine), link.facts())

    def _connect(self, host: str | None) -> Engine:
        from pytest_swe.sandbox.podman_engine import PodmanEngine

        return PodmanEngine(spoken(host or usual_host()))


def usual_host() -> str:
    """The address of the service: CONTAINER_HOST, else the first socket that is there, else where one would be."""
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    own = Path(runtime) / "podman" / "podman.sock"
    places = (ROOT_SOCKET, own) if os.getuid() == 0 else (own, ROOT_SOCKET)
    socket = next((place for place in places if place.is_socket()), places[0])
    return os.environ.get("CONTAINER_HOST") or f"unix://{socket}"


def spoken(host: str) -> str:
    """``host``, unless it is of a kind that only Podman's own client speaks. Raises UsageError."""
    if host.startswith("ssh:"):
        raise UsageError(
            f"{host}: provider podman does not speak ssh",
            hint="forward the socket, ssh -NL /tmp/podman.sock:/run/podman/podman.sock HOST, and name unix:///tmp/podman.sock",
        )
    return host
