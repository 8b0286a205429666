"""Addresses and names that services are given, on an engine whose closed networks have no name server of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

from pytest_swe.errors import Unsupported
from pytest_swe.model import JSON
from pytest_swe.sandbox.compose.plan import Plan
from pytest_swe.sandbox.compose.service import Service

DEFAULT = "default"

#: The address of a network that is its gateway's, where it has one.
_GATEWAY = 1


@dataclass(frozen=True, slots=True)
class Network:
    """A network that is there already: the engine's name for it, and its addresses."""

    name: str
    subnet: IPv4Network


def attached(service: Service) -> Mapping[str, Sequence[str]]:
    """Networks of a service, and the names that it has in each beside its own; none for one that has another's."""
    if "network_mode" in service.passed:
        return {}
    networks = service.passed.get("networks")
    if not isinstance(networks, dict) or not networks:
        return {DEFAULT: ()}
    return {name: _aliases(how) for name, how in networks.items()}


def used(plan: Plan) -> tuple[str, ...]:
    """Networks that a service is in, in order."""
    return tuple(sorted({name for service in plan.services.values() for name in attached(service)}))


@dataclass(frozen=True, slots=True)
class Addresses:
    """Who is where. ``networks`` go by their names in the compose file."""

    plan: Plan
    networks: Mapping[str, Network]

    def address(self, service: str, network: str) -> str:
        """Raises Unsupported when there are more services than addresses."""
        place = _GATEWAY + 1 + sorted(self.plan.services).index(service)
        subnet = self.networks[network].subnet
        if place >= subnet.num_addresses - 1:
            raise Unsupported(f"{len(self.plan.services)} services, and network {network} has no address for each")
        return str(subnet[place])

    def attachments(self, service: Service) -> dict[str, JSON]:
        """The networks of a service, in Compose's words."""
        return {name: {"ipv4_address": self.address(service.name, name)} for name in attached(service)}

    def hosts(self, service: Service) -> list[JSON]:
        """Every name that a service knows, with its address, in Compose's words; itself among them."""
        return [f"{name}:{address}" for name, address in self._known(service)]

    def peer(self, service: Service, others: Sequence[str]) -> str | None:
        """The address of one of ``others`` in a network of ``service``; None where they share none."""
        for name in others:
            for network in attached(self.plan.services[name]):
                if network in attached(service):
                    return self.address(name, network)
        return None

    def _known(self, service: Service) -> Iterator[tuple[str, str]]:
        for network in attached(service):
            for name, other in sorted(self.plan.services.items()):
                found = attached(other)
                if network in found:
                    for known in (name, *found[network]):
                        yield known, self.address(name, network)


def _aliases(how: JSON) -> tuple[str, ...]:
    aliases = how.get("aliases") if isinstance(how, dict) else None
    return tuple(str(alias) for alias in aliases) if isinstance(aliases, list) else ()
