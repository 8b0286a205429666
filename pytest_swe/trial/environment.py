"""The containers of a trial: made, made ready, and asked whether they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_swe.errors import SandboxStartFailed, Unsupported
from pytest_swe.harbor.schema import MAIN, EnvironmentTable, HealthCheck
from pytest_swe.model import Network, SandboxSpec
from pytest_swe.sandbox.base import BuildsImages, Sandbox, SandboxProvider
from pytest_swe.sandbox.group import COMPOSE_HINT, Group, GroupProvider, GroupSpec

#: Characters of what a health check printed last.
WORDS = 400


class HealthCheckFailed(SandboxStartFailed):
    """The container's own check said no as often as it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an environment is made from. ``image`` is ready, or empty; ``compose`` is the task's file, or None."""

    directory: Path
    image: str = ""
    compose: Path | None = None
    has_dockerfile: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What an environment must be. ``spec`` says all of its main container but the image, where that is built.

    ``build_seconds`` is what the making of images and the start may take; ``stopped`` says that nobody waits for it.
    """

    place: Place
    spec: SandboxSpec
    build_seconds: float
    force_build: bool = False
    compose_variables: Mapping[str, str] = field(default_factory=dict)
    secrets: frozenset[str] = frozenset()
    stopped: Callable[[], bool] = lambda: False


@dataclass(slots=True)
class Environment:
    """Containers that stand. ``services`` are all of them by name, ``main`` which is of ``image``."""

    main: Sandbox
    services: Mapping[str, Sandbox]
    group: Group | None = None
    image: str = ""

    @property
    def id(self) -> str:
        return self.group.id if self.group is not None else self.main.id

    @property
    def sidecars(self) -> tuple[str, ...]:
        """Names of the services beside ``main``."""
        return tuple(sorted(self.services.keys() - {MAIN}))

    def stop_main(self) -> None:
        """End ``main``; sidecars go on."""
        if self.group is not None:
            self.group.stop_main()
        else:
            self.main.close()

    def close(self) -> None:
        """Remove all of it."""
        (self.group or self.main).close()


def network_of(table_mode: str, hosts: tuple[str, ...], chosen: Network | None, what: str) -> Network:
    """Harbor's word as ours. Raises Unsupported for an allow-list, which nobody here enforces."""
    if chosen is not None:
        return chosen
    if table_mode == "allowlist":
        listed = ", ".join(hosts[:5])
        raise Unsupported(
            f"{what}: network_mode = allowlist ({listed}) is enforced by no provider", hint="--swe-network"
        )
    return "none" if table_mode == "no-network" else "full"


def made(wanted: Wanted, provider: SandboxProvider, labels: Mapping[str, str]) -> Environment:
    """The containers, started. Raises Unsupported, ImageUnavailable, SandboxError."""
    place, spec = wanted.place, replace(wanted.spec, image=wanted.place.image)
    if place.compose is not None:
        return _group(wanted, spec, provider, labels)
    if place.has_dockerfile and (not place.image or wanted.force_build):
        if not isinstance(provider, BuildsImages):
            raise Unsupported(f"provider {provider.name} builds no images: the task needs a docker_image")
        image = provider.build_image(
            place.directory, seconds=wanted.build_seconds, force=wanted.force_build, stopped=wanted.stopped
        )
        spec = replace(spec, image=image)
    main = provider.acquire(spec, labels=labels)
    return Environment(main, {"main": main}, image=spec.image)


def _group(wanted: Wanted, spec: SandboxSpec, provider: SandboxProvider, labels: Mapping[str, str]) -> Environment:
    if not isinstance(provider, GroupProvider):
        raise Unsupported(f"provider {provider.name} runs no tasks with a compose file", hint=COMPOSE_HINT)
    group = provider.acquire_group(
        GroupSpec(
            main=spec,
            directory=wanted.place.directory,
            compose=wanted.place.compose,
            variables=wanted.compose_variables,
            secrets=wanted.secrets,
            build_seconds=wanted.build_seconds,
            force_build=wanted.force_build,
            stopped=wanted.stopped,
        ),
        labels=labels,
    )
    return Environment(group.main, group.services, group, spec.image)


def refuse_hardware(table: EnvironmentTable) -> None:
    """Raises Unsupported, before anything is started."""
    if table.os == "windows":
        raise Unsupported("os = windows: only Linux containers are run")
    if table.gpus or table.tpu:
        raise Unsupported("gpus and tpu: no provider here has them")


def await_healthy(
    sandbox: Sandbox,
    check: HealthCheck,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Ask until it says yes. Raises HealthCheckFailed after ``retries`` times no in a row.

    Failures within ``start_period_sec`` do not count. Unlike Harbor 0.25.0, a check that takes too long is one failure.
    """
    begin, failures, said = clock(), 0, ""
    while True:
        done = sandbox.exec(["bash", "-c", check.command], timeout=check.timeout_sec)
        if not done.timed_out and done.exit_code == 0:
            return
        starting = clock() - begin < check.start_period_sec
        failures += not starting
        said = "it took too long" if done.timed_out else f"status {done.exit_code}"
        words = " ".join((done.stdout + b" " + done.stderr).decode("utf-8", "replace").split())[-WORDS:]
        said += f": {words}" if words else ""
        if failures >= check.retries:
            raise HealthCheckFailed(f"the health check failed {failures} times: {said}")
        sleep(check.start_interval_sec if starting else check.interval_sec)
