"""The model endpoint of one item: holds the keys on the host, and is reached from sandboxes that have no network.

A relay in the sandbox (`relay`) listens on its loopback. Its requests come out as the output of commands that the host
runs there, and answers go in as their input (`line`, `pump`); so it works wherever commands do, and nothing listens on
the host. What is asked of the upstream, and what of its answer goes back, is `service`'s.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_swe.agent.base import ModelEndpoint, Usage
from pytest_swe.agent.endpoint.connection import Connections
from pytest_swe.agent.endpoint.line import PYTHONS, Line, Started
from pytest_swe.agent.endpoint.meter import Counts, Trouble
from pytest_swe.agent.endpoint.pump import Pump
from pytest_swe.agent.endpoint.questions import Asked
from pytest_swe.agent.endpoint.recorder import Recorder
from pytest_swe.agent.endpoint.routes import Limits, ModelRoute, RouteName
from pytest_swe.agent.endpoint.service import Service
from pytest_swe.agent.endpoint.upstream import Upstream
from pytest_swe.agent.endpoint.within import WithinSandbox
from pytest_swe.errors import SweError, UsageError
from pytest_swe.masking import Secrets
from pytest_swe.sandbox.base import Sandbox

#: Ports that are planned ahead: below those that a kernel hands out itself, above those of usual servers.
PLANNED_PORTS = range(20000, 30000)


@dataclass(frozen=True, slots=True)
class Planned:
    """An endpoint whose address is known before the sandbox is there in which it will be opened."""

    endpoint: ModelEndpoint
    route: RouteName
    port: int


@dataclass(frozen=True, slots=True)
class Opened:
    """An endpoint, and the sandbox through which to run what shall reach it.

    ``sandbox`` is the one that was given, or a view of it where nothing outlives its command: there each command
    that is run through the view has the endpoint, others have not.
    """

    endpoint: ModelEndpoint
    sandbox: Sandbox


class ModelGate:
    """The endpoint of one item, for all its sandboxes.

    ``calls_file`` gets one JSON line per call. Keys are read from the environment now, by the names that the routes
    carry. Raises UsageError when one is not set, or when two routes have one name.
    """

    def __init__(
        self, routes: Iterable[ModelRoute], *, calls_file: Path | None = None, limits: Limits | None = None
    ) -> None:
        self._limits = limits or Limits()
        self._notes: list[str] = []
        self._connections: list[Connections] = []
        chosen = list(routes)
        if len({route.route for route in chosen}) < len(chosen):
            raise UsageError("there can be one model for each of the routes policy and user")
        upstreams = [Upstream(route, self._limits) for route in chosen]
        keys = Secrets(upstream.key for upstream in upstreams)
        self._recorder = Recorder(
            calls_file, keys, body_bytes=self._limits.body_bytes, file_bytes=self._limits.file_bytes
        )
        self._services = {
            route.route: Service(route, self._limits, upstream, recorder=self._recorder, keys=keys)
            for route, upstream in zip(chosen, upstreams, strict=True)
        }

    @property
    def routes(self) -> frozenset[RouteName]:
        """Those that it has."""
        return frozenset(self._services)

    def planned(self, route: RouteName) -> Planned:
        """Choose where a route will be reached, for a sandbox that is still to be made. Raises UsageError."""
        port = secrets.choice(PLANNED_PORTS)
        return Planned(_endpoint(self._service(route), port), route, port)

    @contextmanager
    def opened(
        self,
        sandbox: Sandbox,
        route: RouteName = "policy",
        *,
        pythons: Sequence[str] = PYTHONS,
        port: int = 0,
    ) -> Iterator[Opened]:
        """Make a route reachable in ``sandbox`` while the block lasts; then nothing of it is left there.

        ``pythons``: interpreters in the sandbox, the first that works runs the relay. ``port`` is that of a plan.
        Raises Unsupported when no interpreter works, AgentSetupFailed when the relay does not start, SandboxError.
        """
        service = self._service(route)
        line = Line(sandbox, limit=self._limits.request_bytes, port=port)
        line.lay()
        try:
            started = line.start(pythons)
        except SweError:
            line.remove()
            raise
        endpoint = _endpoint(service, started.port)
        if not line.is_reached():
            line.stop()
            yield Opened(endpoint, self._view(sandbox, started, service))
            return
        pump = self._pump(line, service)
        pump.start()
        try:
            yield Opened(endpoint, sandbox)
        finally:
            self._notes += pump.notes()
            pump.stop(line.stop)
            self._notes += pump.notes()

    def usage(self, route: RouteName = "policy") -> Usage:
        """What a route has used so far; nothing for one that is not there."""
        return self._services[route].meter.usage if route in self._services else Usage()

    def counts(self, route: RouteName = "policy") -> Counts:
        """How many calls of a route were sent, failed, were tried again or refused."""
        return self._services[route].meter.counts if route in self._services else Counts()

    @property
    def questions(self) -> Asked:
        """How many questions the model of the route ``user`` was asked."""
        service = self._services.get("user")
        return service.questions.counted if service is not None and service.questions is not None else Asked()

    @property
    def trouble(self) -> Trouble | None:
        """Why a model's server failed for good: of the last call of any route. None when those had their answers."""
        found = [service.meter.trouble for service in self._services.values()]
        return next((trouble for trouble in found if trouble is not None), None)

    @property
    def is_broken(self) -> bool:
        """Whether a server that failed the agent for good fails us too: then it is no work of the agent's."""
        return any(service.is_broken() for service in self._services.values() if service.meter.trouble is not None)

    @property
    def notes(self) -> tuple[str, ...]:
        """What went wrong with the relays in the sandboxes; complete when they are closed."""
        return tuple(self._notes)

    def close(self) -> None:
        """End every call under way, and the file. Idempotent, never raises."""
        for connections in list(self._connections):
            connections.cancel()
        self._recorder.close()

    def _service(self, route: RouteName) -> Service:
        service = self._services.get(route)
        if service is None:
            raise UsageError(f"there is no {route} model", hint=f"name one with --swe-{_option(route)}model-url")
        return service

    def _pump(self, line: Line, service: Service) -> Pump:
        made = Connections()
        self._connections.append(made)
        return Pump(
            line,
            lambda request: service.answer(request, made),
            cancel=made.cancel,
            parallel=self._limits.parallel,
        )

    def _view(self, sandbox: Sandbox, started: Started, service: Service) -> Sandbox:
        return WithinSandbox(
            sandbox,
            started,
            make_line=lambda: Line(sandbox, limit=self._limits.request_bytes, patient=True),
            make_pump=lambda line: self._pump(line, service),
            note=self._notes.extend,
        )


def _endpoint(service: Service, port: int) -> ModelEndpoint:
    return ModelEndpoint(
        url=f"http://127.0.0.1:{port}/{service.prefix}",
        protocol=service.route.protocol,
        model=service.route.model,
    )


def _option(route: RouteName) -> str:
    return "" if route == "policy" else f"{route}-"
