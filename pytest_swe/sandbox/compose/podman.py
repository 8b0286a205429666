"""Groups on Podman: Compose starts them through its Docker-compatible API, and what that lacks is done here.

* Its health checks are timers of systemd. Where there is none nobody runs them, and a start would wait for ever.
* The name server of its networks listens at an address of the host, and passes on what it does not know. So networks
  are made here, without it: then a closed one has no address of the host's at all, and names go into hosts files.
* Beside a Docker engine a firewall may cut its closed networks, and no program says so: that is looked at.

Measured with Podman 4.3.1, netavark 1.4.0.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from ipaddress import IPv4Network

from pytest_swe.errors import SandboxStartFailed
from pytest_swe.model import JSON
from pytest_swe.sandbox.compose.addresses import Addresses, Network, used
from pytest_swe.sandbox.compose.group import PROJECT, Starter
from pytest_swe.sandbox.compose.health import health_checked, said_in_full
from pytest_swe.sandbox.compose.plan import MAIN
from pytest_swe.sandbox.compose.project import Project
from pytest_swe.sandbox.compose.service import Service
from pytest_swe.sandbox.docker_answers import Container, Refused
from pytest_swe.sandbox.docker_sandbox import DockerSandbox

#: Seconds for a first word from a neighbour. A kernel says at once that nothing listens there.
REACHED = 5.0

#: Opens a connection to a port of which nothing is expected; bash does it without a program.
KNOCK = 'exec 3<>"/dev/tcp/$1/9"'


@dataclass(frozen=True, slots=True)
class PodmanStarter(Starter):
    """See `pytest_swe.sandbox.compose.group.Starter`."""

    def refuse_unseen(self) -> None:
        """Never: Podman looks at processes themselves."""

    def suited(self, project: Project) -> Project:
        """With the networks that its services are in, made now, and health checks in words that Podman takes.

        Raises SandboxStartFailed.
        """
        try:
            services = {name: self._checked_in_full(each, project) for name, each in project.plan.services.items()}
            plan = replace(project.plan, services=services)
            networks = {name: self._made(name, project) for name in used(plan)}
        except Refused as refusal:
            raise SandboxStartFailed(f"a network or service of this task could not be made: {refusal}") from refusal
        return replace(project, plan=plan, addresses=Addresses(plan, networks))

    def checking(self, project: Project) -> AbstractContextManager[None]:
        return health_checked(self.engine, f"{PROJECT}={project.name}")

    def refuse_apart(self, project: Project, containers: Mapping[str, Container]) -> None:
        """Raises SandboxStartFailed when main gets no answer at all from a neighbour that runs."""
        plan, addresses = project.plan, project.addresses
        assert addresses is not None
        others = sorted(name for name in containers.keys() - {MAIN} if self._runs(containers[name]))
        address = addresses.peer(plan.services[MAIN], [name for name in others if name in plan.services])
        if address is not None and self._is_cut_off(containers[MAIN], address):
            raise SandboxStartFailed(
                f"the services of this task do not reach each other: {address} does not answer",
                hint="a firewall of this host is between them, often Docker's; docs/providers/compose.md has the rule",
            )

    def _checked_in_full(self, service: Service, project: Project) -> Service:
        own = service.passed.get("healthcheck")
        if not isinstance(own, dict):
            return service
        # The Docker-compatible answer about an image leaves its check out.
        with self.engine.asked("GET", f"libpod/images/{project.images[service.name].name}/json") as answer:
            image = answer.json().get("Healthcheck") or {}
        return replace(service, passed={**service.passed, "healthcheck": said_in_full(own, image)})

    def _made(self, name: str, project: Project) -> Network:
        labels = {**project.labels, PROJECT: project.name}
        asked: dict[str, JSON] = {
            "name": f"{project.name}_{name}",
            "driver": "bridge",
            "internal": project.is_internal(name),
            "dns_enabled": False,
            "labels": {**labels},
        }
        headers = {"Content-Type": "application/json"}
        data = io.BytesIO(json.dumps(asked).encode())
        with self.engine.asked("POST", "libpod/networks/create", headers=headers, data=data) as answer:
            made = answer.json()
        return Network(str(made["name"]), IPv4Network(made["subnets"][0]["subnet"]))

    def _runs(self, container: Container) -> bool:
        state = self.engine.state(container.id)
        return state is not None and state.running

    def _is_cut_off(self, main: Container, address: str) -> bool:
        """Asked from inside of main; where it has no bash, nobody knows."""
        knocking = DockerSandbox(self.engine, main.id, user="0", workdir="/", attach=())
        return knocking.exec(["bash", "-c", KNOCK, "knock", address], cwd="/", timeout=REACHED).timed_out
