"""A group of sandboxes as one Compose project: started, found again, and removed with all that belongs to it."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from pytest_swe.errors import EngineUnavailable, ImageUnavailable, Unsupported
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.compose.build import Builder
from pytest_swe.sandbox.compose.ends import remove_things, things
from pytest_swe.sandbox.compose.plan import MAIN, Plan, plan_of
from pytest_swe.sandbox.compose.program import Compose, needed
from pytest_swe.sandbox.compose.project import Image, Project
from pytest_swe.sandbox.compose.service_sandbox import ServiceSandbox
from pytest_swe.sandbox.compose.trouble import failed_start
from pytest_swe.sandbox.docker_answers import Container, Refused
from pytest_swe.sandbox.docker_engine import Engine
from pytest_swe.sandbox.docker_facts import Facts
from pytest_swe.sandbox.docker_images import image_config
from pytest_swe.sandbox.group import GroupSpec
from pytest_swe.sandbox.owner import owner_labels

log = logging.getLogger(__name__)

#: Labels of Compose's own.
PROJECT = "com.docker.compose.project"
SERVICE = "com.docker.compose.service"

#: Containers removed at once.
REMOVERS = 8


class ComposeGroup:
    """See `pytest_swe.sandbox.group.Group`."""

    def __init__(self, engine: Engine, name: str, services: Mapping[str, Sandbox]) -> None:
        self.id = name
        self.services = services
        self.main = services[MAIN]
        self._engine = engine
        self._lock = threading.Lock()
        self._closed = False

    def stop_main(self) -> None:
        """See the contract; of a main that has ended nothing is left to end."""
        try:
            self._engine.kill(self.main.id)
        except Refused as refusal:
            state = self._engine.state(self.main.id)  # engines have different numbers for one that has ended
            if state is not None and state.running:
                raise EngineUnavailable(f"the {self._engine.name} engine did not stop main: {refusal}") from refusal

    def close(self) -> None:
        """See the contract; what cannot be removed is logged, and left to a sweep."""
        with self._lock:
            if not self._closed:
                remove_group(self._engine, self.id)
            self._closed = True


@dataclass(frozen=True, slots=True)
class Starter:
    """Makes groups on one engine."""

    engine: Engine
    builder: Builder
    facts: Facts

    def images(self, plan: Plan, spec: GroupSpec, deadline: float) -> dict[str, Image]:
        """The image of each service: built or had. Raises ImageUnavailable, DiskFull, EngineUnavailable."""
        names: dict[str, str] = {}
        for name, service in sorted(plan.services.items(), key=lambda item: item[0] != MAIN):
            if service.build is not None:
                left = deadline - time.monotonic()
                names[name] = self.builder.image(
                    service.build, seconds=left, force=spec.force_build, stopped=spec.stopped
                )
            else:
                names[name] = self.builder.puller.ready(service.image, service.platform).name
        try:
            return {name: Image(image, image_config(self.engine, image)) for name, image in names.items()}
        except Refused as refusal:
            raise ImageUnavailable(f"an image is gone again: {refusal}") from refusal

    def prepared(self, spec: GroupSpec) -> tuple[str, ...]:
        """See `pytest_swe.sandbox.docker.DockerProvider.prepare_group`."""
        plan = plan_of(spec, is_here=self.facts.is_here, unset_may_be=True)
        found = self.images(plan, spec, time.monotonic() + spec.build_seconds)
        return tuple(sorted({image.name for image in found.values()}))

    def group(self, spec: GroupSpec, labels: Mapping[str, str]) -> ComposeGroup:
        """For errors see `pytest_swe.sandbox.group.GroupProvider`; nothing is left behind then."""
        compose = needed(self.engine.endpoint)
        self.refuse_unseen()
        plan = plan_of(spec, is_here=self.facts.is_here)
        deadline = time.monotonic() + spec.build_seconds
        project = Project(
            name=f"swe-{uuid.uuid4().hex}",
            plan=plan,
            main=spec.main,
            images=self.images(plan, spec, deadline),
            labels=owner_labels(labels, seconds=spec.main.seconds),
            facts=self.facts,
        )
        try:
            return self._started(compose, self.suited(project), spec, deadline)
        except BaseException:
            remove_group(self.engine, project.name)
            raise

    def refuse_unseen(self) -> None:
        """Raises Unsupported where the engine cannot tell which processes a service has: they could not be ended.

        Docker's asks control groups; a rootless one has them with cgroup v2 alone.
        """
        if self.facts.rootless and not self.facts.pids:
            raise Unsupported(
                "a rootless Docker engine without control groups runs no tasks with a compose file",
                hint="--swe-provider podman does, and an engine of root's",
            )

    def suited(self, project: Project) -> Project:
        """In the engine's own ways, for one that does not take all that Compose says."""
        return project

    def checking(self, project: Project) -> AbstractContextManager[None]:
        """Run the services' health checks as long as it lasts, for an engine that does not."""
        return nullcontext()

    def refuse_apart(self, project: Project, containers: Mapping[str, Container]) -> None:
        """Raises SandboxStartFailed for services that do not reach each other, on an engine where that happens."""

    def _started(self, compose: Compose, project: Project, spec: GroupSpec, deadline: float) -> ComposeGroup:
        left = max(1.0, deadline - time.monotonic())
        with self.checking(project):
            ended = compose.run(project.file(), ["up", "--detach", "--wait", "--no-build"], left, spec.stopped)
        containers = _by_service(self.engine, project.name)
        if ended.code != 0 or MAIN not in containers:
            secrets = {name: spec.variables.get(name, "") for name in spec.secrets}
            raise failed_start(self.engine, project.plan, containers, ended, secrets)
        self.refuse_apart(project, containers)
        services = {name: self._sandbox(name, each, project) for name, each in containers.items()}
        return ComposeGroup(self.engine, project.name, services)

    def _sandbox(self, name: str, container: Container, project: Project) -> Sandbox:
        """Commands run as the image's or the file's user, or as the spec says of main."""
        user = project.plan.services[name].user or project.images[name].config.user
        is_main = name == MAIN
        return ServiceSandbox(
            self.engine,
            container.id,
            user=(project.main.user if is_main else "") or user,
            workdir=project.main.workdir if is_main else "",
            attach=(*self.engine.command, "exec", "-it", container.id[:12], "bash" if is_main else "sh"),
        )


def remove_group(engine: Engine, name: str) -> None:
    """Everything of one project; never raises."""
    try:
        containers = engine.containers([f"{PROJECT}={name}"])
        with ThreadPoolExecutor(REMOVERS) as pool:
            list(pool.map(engine.discard, [each.id for each in containers]))
        remove_things(engine, things(engine, [f"{PROJECT}={name}"]))
    except (EngineUnavailable, Refused) as failure:
        log.warning("group %s is left behind: %s", name, failure)


def _by_service(engine: Engine, name: str) -> dict[str, Container]:
    found = engine.containers([f"{PROJECT}={name}"])
    return {each.labels.get(SERVICE, ""): each for each in found}
