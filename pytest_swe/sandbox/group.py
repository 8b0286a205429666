"""Several sandboxes on one network: what a task's compose file asks for, and who can make it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import Sandbox

#: What to do where a provider makes no groups.
COMPOSE_HINT = "--swe-provider docker and podman do"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSpec:
    """What a group must be. ``main`` says what the service ``main`` is held to.

    ``main.image`` is the prebuilt image of ``main``, or empty: then it is built from ``directory`` (its Dockerfile).
    ``directory`` is the build context and what relative paths in ``compose`` are relative to; nothing outside of it is
    read. ``compose`` is the task's own file, or None. ``variables`` are all that ``${NAME}`` in it may stand for: the
    host's environment is not looked at. ``secrets`` names those of them that no file, log or label may show.
    ``build_seconds`` bounds builds, pulls and the start, health checks included; ``stopped`` says that nobody waits for
    it any more.
    """

    main: SandboxSpec
    directory: Path
    compose: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    secrets: frozenset[str] = frozenset()
    build_seconds: float = 600.0
    force_build: bool = False
    stopped: Callable[[], bool] = lambda: False


@runtime_checkable
class Group(Protocol):
    """Sandboxes that see each other by their service names. ``services`` holds ``main`` as well."""

    id: str
    main: Sandbox
    services: Mapping[str, Sandbox]

    def stop_main(self) -> None:
        """End ``main`` and all that runs in it; the others go on, and files of ``main`` can still be read."""
        ...

    def close(self) -> None:
        """Remove every container, network and volume of the group. Idempotent, from several threads, never raises."""
        ...


@runtime_checkable
class GroupProvider(Protocol):
    """A provider that can make groups; what does not implement this refuses tasks with a compose file by name.

    One that has the method, and cannot here, says in it what is missing.
    """

    def acquire_group(self, spec: GroupSpec, *, labels: Mapping[str, str]) -> Group:
        """A fresh group; every container, network and volume carries ``labels``, and ends at ``spec.main.seconds``.

        Raises Unsupported naming what a compose file asks for and may not have (before anything is started),
        ImageUnavailable when a build fails, SandboxStartFailed when a service does not become healthy in time,
        Cancelled once ``spec.stopped`` says so.
        """
        ...
