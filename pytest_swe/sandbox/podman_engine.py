"""What Podman's Docker-compatible API does in its own way; what `Engine` says holds for it otherwise.

Measured with Podman 4.3.1; sources are of that version.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, cast

from pytest_swe.errors import EngineUnavailable
from pytest_swe.model import JSON
from pytest_swe.sandbox.docker_answers import PathStat, Refused, State
from pytest_swe.sandbox.docker_engine import Engine
from pytest_swe.sandbox.docker_facts import Facts, platform_of

#: Columns of Podman's own ``ps``. What looks like options is given to the ps *inside*, which may be the candidate's.
#: https://docs.podman.io/en/v4.3/markdown/podman-top.1.html
PS = "hpid,pid,ppid,state,comm"

#: The version of its own API that is spoken: the oldest that Podman 4 and 5 answer.
OWN = "v4.0.0"

#: Further looks at a container that is being removed, and seconds between them.
LOOKS = 5
LOOK_EVERY = 0.1

# A path to read is a pattern there, except that a path with an asterisk in it is never found: for an asterisk stands
# what matches no other character. https://github.com/containers/podman/blob/v4.3.1/libpod/container_stat_linux.go
_LITERAL = str.maketrans({"\\": r"\\", "?": r"\?", "[": r"\[", "*": "[^\x01-)+-\U0010ffff]"})


class PodmanEngine(Engine):
    """A connection to one Podman service, as root or rootless."""

    name = "Podman"
    plain = ()
    has_buildkit = False

    @property
    def command(self) -> tuple[str, ...]:
        return ("podman", "--url", self.endpoint.address)

    def hint(self, text: str) -> str:
        where = self.endpoint.address
        if "Permission" in text:
            return f"this user may not use {where}: start one of your own, systemctl --user start podman.socket"
        start = f"systemctl --user start podman.socket, or podman system service --time=0 {where}"
        return f"asked at {where}; start it: {start}; or set CONTAINER_HOST"

    def facts(self) -> Facts:
        """As `Engine.facts`. What it can limit are the cgroups that it has control of.

        Rootless on cgroups v1 there are none; it says otherwise in its ``/info``, and ignores a limit with no more
        than a warning in its log.
        """
        can = frozenset(cast("list[str]", self._own["cgroupControllers"]))
        cpus, memory, pids = (name in can for name in ("cpu", "memory", "pids"))
        return replace(super().facts(), rootless=self._rootless, cpus=cpus, memory=memory, pids=pids)

    def create(self, config: Mapping[str, JSON], *, name: str, platform: str | None) -> tuple[str, list[str]]:
        """As `Engine.create`. Podman takes the image that is there, whatever it was built for; so that is asked."""
        with self._answering():
            image = self._api.inspect_image(config["Image"])  # type: ignore[no-untyped-call]
        built_for = f"{image['Os']}/{image['Architecture']}"
        if platform is not None and not f"{platform}/".startswith(f"{built_for}/"):
            raise Refused(404, f"the image is for {built_for}, not {platform}")
        container, warnings = super().create(self._with_network(config), name=name, platform=platform)
        if built_for != platform_of(str(self._own["arch"])):
            warnings = [*warnings, f"the image's platform {built_for} does not match the detected host platform"]
        return container, warnings

    def state(self, container: str) -> State | None:
        """As `Engine.state`. Of a container that is being removed Podman first says 500, and 404 a moment later."""
        for _ in range(LOOKS):
            try:
                return super().state(container)
            except Refused:
                time.sleep(LOOK_EVERY)
        return super().state(container)

    def layers_bytes(self) -> int:
        """As `Engine.layers_bytes`. Its ``system/df`` says 0 for all, and counts shared layers with each image."""
        with self.asked("GET", "libpod/images/json") as answer:
            images = {str(image["Id"]) for image in answer.json()}
        found: dict[str, int] = {}
        for image in images:
            found |= self._layers_of(image)
        return sum(found.values())

    def processes(self, container: str) -> list[dict[str, str]]:
        """As `Engine.processes`. A process's parent is told by its number inside only."""
        with self.asked("GET", f"containers/{container}/top", params={"ps_args": PS}) as answer:
            # Of a container that is over it says nothing at all, and 200.
            rows = answer.json()["Processes"] or [] if answer.content else []
        outside = {inside: pid for pid, inside, *_ in rows}
        return [
            {"pid": pid, "ppid": outside.get(parent, "0"), "stat": state, "comm": comm}
            for pid, _, parent, state, comm in rows
        ]

    def remembers(self, container: str) -> bool:
        """As `Engine.remembers`. Containers are no children of the service, and outlive it."""
        return True

    @contextmanager
    def get(self, container: str, path: str) -> Iterator[tuple[PathStat, IO[bytes]]]:
        with super().get(container, path.translate(_LITERAL)) as found:
            yield found

    @functools.cached_property
    def _layers(self) -> dict[str, Mapping[str, int]]:
        return {}

    @functools.cached_property
    def _own(self) -> Mapping[str, JSON]:
        """What Podman's own API says of its host. Raises EngineUnavailable when this is no Podman."""
        try:
            with self.asked("GET", "libpod/info") as answer:
                return cast("Mapping[str, JSON]", answer.json()["host"])
        except Refused as refusal:
            raise EngineUnavailable(f"what answers at {self.endpoint.address} is no Podman: {refusal}") from refusal

    @property
    def _rootless(self) -> bool:
        return bool(cast("Mapping[str, JSON]", self._own["security"])["rootless"])

    def _url(self, path: str) -> str:
        """Its own calls have versions of their own; some take Docker's as well, some do not."""
        return f"{self._api.base_url}/{OWN}/{path}" if path.startswith("libpod/") else super()._url(path)

    def _layers_of(self, image: str) -> Mapping[str, int]:
        """Bytes of the layers of an image, by their digests; asked once. None for one that is gone meanwhile."""
        if image not in self._layers:
            try:
                with self.asked("GET", f"images/{image}/json") as answer:
                    layers = [str(layer) for layer in answer.json()["RootFS"]["Layers"] or ()]
                with self.asked("GET", f"images/{image}/history") as answer:
                    sizes = [int(step["Size"]) for step in answer.json()]
            except Refused:
                return {}
            # The newest step comes first; a step that made no layer has no bytes, and a layer's tar has some.
            self._layers[image] = dict(zip(layers, [size for size in reversed(sizes) if size], strict=False))
        return self._layers[image]

    def _with_network(self, config: Mapping[str, JSON]) -> dict[str, JSON]:
        """Rootless, a network is that of its user: a bridge needs more of its host."""
        host = cast("Mapping[str, JSON]", config["HostConfig"])
        mode = host["NetworkMode"]
        if mode == "bridge" and self._rootless:
            mode = self._own.get("rootlessNetworkCmd") or "slirp4netns"
        return {**config, "HostConfig": {**host, "NetworkMode": mode}}
