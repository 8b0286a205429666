"""Sandboxes as containers of a Docker engine, through its API."""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_swe.errors import EngineUnavailable, SandboxError
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import Capabilities, Sandbox
from pytest_swe.sandbox.docker_config import refuse_unsupported
from pytest_swe.sandbox.docker_facts import platform_of
from pytest_swe.sandbox.docker_pool import PATIENCE, Link, Pool
from pytest_swe.sandbox.owner import PID, deadline_passed, owner_is_dead, prefixed

if TYPE_CHECKING:
    from pytest_swe.sandbox.compose.build import Builder
    from pytest_swe.sandbox.compose.group import Starter
    from pytest_swe.sandbox.docker_engine import Engine
    from pytest_swe.sandbox.group import Group, GroupSpec
    from pytest_swe.sandbox.images.pull import Puller, PullPolicy

#: Removals at once in a sweep; the engine gains nothing past eight.
SWEEPERS = 8


class DockerProvider:
    """See `pytest_swe.sandbox.base.SandboxProvider`; needs no more than a connection to an engine.

    ``host``: the engine's address or Docker context, else that of the environment. ``hosts``: several of them, as one
    pool. ``pull``: fetch missing images, as ``policy`` says. ``patience``: seconds for which new sandboxes wait for an
    engine that went away. Nothing is connected or imported before the first call.
    """

    name = "docker"

    def __init__(
        self,
        *,
        host: str | None = None,
        hosts: Sequence[str] = (),
        pull: bool = True,
        policy: PullPolicy | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._pull = pull
        self._policy = policy
        self._lock = threading.Lock()
        self._hosts = tuple(hosts)
        links = [Link(partial(self._connect, each), patience=patience) for each in (hosts or (host,))]
        self._pool = Pool(links, free_mb=self._free_mb)
        self._pullers: dict[Engine, Puller] = {}

    @property
    def capabilities(self) -> Capabilities:
        """What the engines say they can; before one answers, what engines usually can. Of several: what any can.

        ``shares_host`` is for several engines only when each is here: else their own room decides, not this host's.
        """
        found = [facts for link in self._pool.links if (facts := link.known_facts()) is not None]
        if not found:
            return Capabilities(platform=platform_of(platform.machine()))
        return Capabilities(
            cpus=any(each.cpus for each in found),
            memory=any(each.memory for each in found),
            pids=any(each.pids for each in found),
            platform=platform_of(found[0].machine),
            groups=_has_compose(),
            shares_host=all(each.is_here for each in found),
        )

    def check(self) -> str:
        """One line about each engine, also one that does not answer. Raises EngineUnavailable when none does."""
        lines, failures = [], []
        for link in self._pool.links:
            try:
                lines.append(self._checked(link))
            except EngineUnavailable as failure:
                lines.append(f"left out: {failure}")
                failures.append(failure)
        if len(failures) == len(lines):
            raise failures[0]
        return "; ".join(lines)

    def acquire(self, spec: SandboxSpec, *, labels: Mapping[str, str]) -> Sandbox:
        """Create and start a container; an image that is not there is pulled. For errors see the contract."""
        refuse_unsupported(spec)
        while True:
            with self._pool.placed(spec) as link:
                try:
                    return self._started(link.engine(), spec, labels)
                except EngineUnavailable:
                    if link.answers():  # it is there, and failed on this one
                        raise

    def build_image(
        self,
        directory: Path,
        *,
        seconds: float = 600.0,
        force: bool = False,
        stopped: Callable[[], bool] = lambda: False,
    ) -> str:
        """The name of the image of ``directory`` and its Dockerfile, built unless its content was built before.

        Of several engines the first that answers has it then. Raises RowInvalid, ImageUnavailable with the builder's
        last lines, DiskFull, EngineUnavailable, Cancelled.
        """
        from pytest_swe.sandbox.compose.build import Build

        return self._builder(self._pool.standing()[0].engine()).image(
            Build(directory=directory), seconds=seconds, force=force, stopped=stopped
        )

    def remove_built_images(self) -> int:
        """Remove the images that were built here and of which no container is made; returns how many they were."""
        from pytest_swe.sandbox.compose.build import remove_built

        return sum(remove_built(link.engine()) for link in self._pool.links)

    def acquire_group(self, spec: GroupSpec, *, labels: Mapping[str, str]) -> Group:
        """See `pytest_swe.sandbox.group.GroupProvider`; needs Docker Compose 2 beside the ``docker`` command."""
        from pytest_swe.sandbox.compose.program import refuse_without_plugin

        refuse_without_plugin()
        asked = replace(spec.main, keep_entrypoint=True)
        refuse_unsupported(asked)
        with self._pool.placed(asked) as link:
            return self._starter(link).group(spec, labels)

    def prepare_group(self, spec: GroupSpec) -> tuple[str, ...]:
        """Names of all images of a group, built or pulled. Variables of environments need no value yet.

        Raises as ``acquire_group`` does.
        """
        return self._starter(self._pool.standing()[0]).prepared(spec)

    def images(self) -> Mapping[str, Callable[[], Puller]]:
        """See `pytest_swe.sandbox.images.pull.HasImages`."""
        names = self._hosts if len(self._hosts) > 1 else (self.name,)
        return {name: partial(self._images_of, link) for name, link in zip(names, self._pool.links, strict=True)}

    def held_digests(self, image: str) -> frozenset[str]:
        """Every digest by which an engine has ``image`` now; empty when none has it, or answers."""
        from pytest_swe.sandbox.docker_answers import Refused

        found: set[str] = set()
        for link in self._pool.links:
            with suppress(SandboxError, Refused):
                held = self._puller(link.engine()).engine.find(image)
                if held is not None:
                    found |= {f"local:{held.id}", *(digest.rpartition("@")[2] for digest in held.digests)}
        return frozenset(found)

    def free_disk_mb(self) -> int | None:
        """MiB free where the engine keeps images and containers, of several the most; None where that is not known."""
        found = [self._free_mb(link) for link in self._pool.links if link.answers()]
        known = [free for free in found if free is not None]
        return max(known, default=None) if len(known) == len(found) else None

    def _free_mb(self, link: Link) -> int | None:
        try:
            return self._images_of(link).engine.free_mb()
        except SandboxError:
            return None  # whoever starts a sandbox is told

    def _images_of(self, link: Link) -> Puller:
        return self._puller(link.engine())

    def _starter(self, link: Link) -> Starter:
        from pytest_swe.sandbox.compose.group import Starter

        engine = link.engine()
        return Starter(engine, self._builder(engine), link.facts())

    def _builder(self, engine: Engine) -> Builder:
        from pytest_swe.sandbox.compose.build import Builder
        from pytest_swe.sandbox.compose.program import Compose

        return Builder(engine, self._puller(engine), Compose.found(engine.endpoint) if engine.has_buildkit else None)

    def _puller(self, engine: Engine) -> Puller:
        from pytest_swe.sandbox.docker_images import DockerImages
        from pytest_swe.sandbox.images.pull import Puller, PullPolicy

        with self._lock:
            if engine not in self._pullers:
                policy = self._policy or PullPolicy()
                self._pullers[engine] = Puller(DockerImages(engine), policy if self._pull else replace(policy, tries=0))
            return self._pullers[engine]

    def sweep(self, labels: Mapping[str, str] | None = None) -> int:
        """See the contract. Raises ValueError for empty ``labels``: that would be everybody's sandboxes."""
        if labels is not None and not labels:
            raise ValueError("sweep needs labels, or None for what dead owners left")
        failures: list[EngineUnavailable] = []
        removed = 0
        for link in self._pool.links:
            try:
                removed += self._swept(link.engine(), labels)
            except EngineUnavailable as failure:
                failures.append(failure)
        if failures:
            raise failures[0]
        return removed

    def close(self) -> None:
        self._pool.close()

    def _connect(self, host: str | None) -> Engine:
        from pytest_swe.sandbox.docker_engine import Engine

        return Engine(host)

    def _checked(self, link: Link) -> str:
        engine = link.engine()
        version, system = engine.version()
        where = f" at {engine.endpoint.address}" if len(self._pool.links) > 1 else ""
        return f"{engine.name} {version} ({system}{link.facts().notes()}){where}"

    def _started(self, engine: Engine, spec: SandboxSpec, labels: Mapping[str, str]) -> Sandbox:
        from pytest_swe.sandbox.compose.service_sandbox import ServiceSandbox
        from pytest_swe.sandbox.docker_sandbox import DockerSandbox
        from pytest_swe.sandbox.docker_start import started

        made = started(engine, spec, labels, self._puller(engine))
        attach = (*engine.command, "exec", "-it", made.container[:12], "bash")
        # What an image's own entrypoint started is no command of ours.
        kind = ServiceSandbox if spec.keep_entrypoint else DockerSandbox
        sandbox = kind(engine, made.container, user=made.user, workdir=spec.workdir, attach=attach)
        sandbox.image = made.image
        return sandbox

    def _swept(self, engine: Engine, labels: Mapping[str, str] | None) -> int:
        from pytest_swe.sandbox.compose.ends import remove_things, things

        wanted = [PID, *(f"{key}={value}" for key, value in prefixed(labels or {}).items())]
        found = engine.containers(wanted)
        if labels is None:
            found = [item for item in found if _is_over(item.labels)]
        with ThreadPoolExecutor(SWEEPERS) as pool:
            removed = sum(pool.map(engine.discard, [item.id for item in found]))
        beside = things(engine, wanted)
        remove_things(engine, [thing for thing in beside if labels is not None or _is_over(thing[1])])
        return removed


def _has_compose() -> bool:
    from pytest_swe.sandbox.compose.program import installed

    return installed() is not None


def _is_over(labels: Mapping[str, str]) -> bool:
    return owner_is_dead(labels) or deadline_passed(labels)
