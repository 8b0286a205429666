"""The compose file that is really used: the plan's words, and our hold on every service, network and volume."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_swe.errors import Unsupported
from pytest_swe.model import JSON, SandboxSpec
from pytest_swe.sandbox.compose import guard
from pytest_swe.sandbox.compose.addresses import DEFAULT, Addresses
from pytest_swe.sandbox.compose.plan import MAIN, SIDECAR_MB, Plan
from pytest_swe.sandbox.compose.service import Service
from pytest_swe.sandbox.docker_config import PIDS
from pytest_swe.sandbox.docker_facts import Facts
from pytest_swe.sandbox.docker_images import ImageConfig

_MIB = 1024 * 1024

#: No service asks a name server of the host: an engine asks some of those itself, for containers without a way out.
#: https://github.com/moby/moby/security/advisories/GHSA-mq39-4gv4-mvpx
NO_NAME_SERVER = "127.0.0.1"

#: The engine's resolver says nothing when nobody answers it; without these each foreign name took 20 seconds to fail.
QUICKLY = ("timeout:1", "attempts:2")

#: The bridge of an internal network has no address of the host's then, so nothing that listens on the host is reached.
NO_HOST = {"com.docker.network.bridge.inhibit_ipv4": "true"}


@dataclass(frozen=True, slots=True)
class Image:
    """What a service is made of: the engine's name for it, and what it says of itself."""

    name: str
    config: ImageConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A group that is to be started. ``labels`` go on everything; ``facts`` say what the engine can limit.

    ``addresses``: networks that are there already, and who is where in them; None where Compose sees to it.
    """

    name: str
    plan: Plan
    main: SandboxSpec
    images: Mapping[str, Image]
    labels: Mapping[str, str]
    facts: Facts
    addresses: Addresses | None = None

    def file(self) -> dict[str, JSON]:
        """The whole compose file. Raises Unsupported for a service that cannot be held."""
        networks: dict[str, JSON] = {name: self._network(name) for name in self._networks()}
        volumes: dict[str, JSON] = {name: {"labels": dict(self.labels)} for name in self.plan.volumes}
        services: dict[str, JSON] = {name: self._service(each) for name, each in self.plan.services.items()}
        files: dict[str, JSON] = {kind: found for kind, found in self.plan.files.items() if found}
        return {"name": self.name, "services": services, "networks": networks, "volumes": volumes, **files}

    def is_internal(self, network: str) -> bool:
        """Whether nothing leaves a network of the file."""
        return self._is_closed or network in self.plan.internal

    def _networks(self) -> frozenset[str]:
        if self.addresses is not None:
            return frozenset(self.addresses.networks)
        return self.plan.networks | {DEFAULT}

    def _network(self, name: str) -> dict[str, JSON]:
        if self.addresses is not None:
            return {"external": True, "name": self.addresses.networks[name].name}
        network: dict[str, JSON] = {"labels": dict(self.labels)}
        if self._is_closed:
            network["driver_opts"] = dict(NO_HOST)
        return {**network, "internal": True} if self.is_internal(name) else network

    @property
    def _is_closed(self) -> bool:
        return self.main.network == "none"

    def _service(self, service: Service) -> dict[str, JSON]:
        made: dict[str, JSON] = {
            **service.passed,
            "image": self.images[service.name].name,
            "pull_policy": "never",
            "entrypoint": [*self._first_process(service)],
            "command": [],
            "labels": dict(self.labels),
            "restart": "no",
            "init": False,
            "cap_drop": ["ALL"],
            "cap_add": [*sorted(self._capabilities(service))],
            "security_opt": ["no-new-privileges:true"],
            "stop_signal": "SIGKILL",
            "logging": {"driver": "json-file", "options": {"max-size": "256k", "max-file": "1"}},
        }
        if service.platform:
            made["platform"] = service.platform
        if self._is_closed and "network_mode" not in service.passed:
            made |= {"dns": [NO_NAME_SERVER], "dns_opt": [*QUICKLY]}
        if self.addresses is not None and "network_mode" not in service.passed:
            made |= {"networks": self.addresses.attachments(service), "extra_hosts": self.addresses.hosts(service)}
        made |= self._limits(service)
        return made | (self._main(service) if service.name == MAIN else {"user": service.user} if service.user else {})

    def _first_process(self, service: Service) -> list[str]:
        image = self.images[service.name].config
        if service.name == MAIN:
            return guard.main(service, image, self.main.seconds)
        words = guard.sidecar(service, image, self.main.seconds)
        if words is None:
            raise Unsupported(f"service {service.name}: neither the compose file nor its image has a command")
        return words

    def _capabilities(self, service: Service) -> frozenset[str]:
        more = self.main.capabilities if service.name == MAIN else ()
        return service.capabilities | {name.upper().removeprefix("CAP_") for name in more}

    def _main(self, service: Service) -> dict[str, JSON]:
        """What the spec says wins over the file. Commands run as the image's user, but the container is root's."""
        environment = service.passed.get("environment")
        variables = environment if isinstance(environment, dict) else {}
        made: dict[str, JSON] = {"user": service.user or "0", "environment": {**variables, **self.main.env}}
        return {**made, "working_dir": self.main.workdir} if self.main.workdir else made

    def _limits(self, service: Service) -> dict[str, JSON]:
        is_main = service.name == MAIN
        made: dict[str, JSON] = {}
        cpus = self.main.cpus if is_main and self.main.cpus is not None else service.cpus
        memory = self._memory(service)
        pids = min(self.main.pids if is_main and self.main.pids is not None else PIDS, service.pids or PIDS)
        for name, value, able in (
            ("cpus", cpus, self.facts.cpus),
            ("mem_limit", memory, self.facts.memory),
            ("pids_limit", pids, self.facts.pids),
        ):
            if value is not None and able:
                made[name] = value
        if "mem_limit" in made:
            made["memswap_limit"] = made["mem_limit"]  # the same number for both means no swap
        return made

    def _memory(self, service: Service) -> int | None:
        """Bytes. Main's is the spec's, or less where the file says so."""
        if service.name != MAIN:
            return service.memory or SIDECAR_MB * _MIB
        mine = self.main.memory_mb * _MIB if self.main.memory_mb is not None else None
        return min(filter(None, (mine, service.memory)), default=None)
