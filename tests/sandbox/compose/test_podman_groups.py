"""What Compose does not get from Podman, and what is done instead: health checks, names, and a look at the firewall."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest

from pytest_swe.errors import SandboxStartFailed
from pytest_swe.sandbox.compose.addresses import Network
from pytest_swe.sandbox.compose.podman import PodmanStarter
from pytest_swe.sandbox.compose.project import Project
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.testing.conformance.fixtures import SOON, new_labels, shell

from .groups import LONG, AcquireGroup, left, spec_of

pytestmark = [pytest.mark.compose, pytest.mark.podman]

#: Healthy once its check has been run twice.
SECOND = "test -e /tmp/once && touch /tmp/twice; touch /tmp/once; test -e /tmp/twice"


@pytest.fixture(scope="module")
def kind() -> str:
    return "podman"


def health_of(engine: docker.APIClient, container: str) -> str:
    return str(engine.inspect_container(container)["State"]["Health"]["Status"])


def test_the_check_of_an_image_holds_with_what_the_file_says_of_it(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], engine: docker.APIClient, test_image: str
) -> None:
    """The image has the command, the file how often; a command of several words stays what it is."""
    check = f'HEALTHCHECK --interval=1h CMD ["sh", "-c", "{SECOND}"]\n'
    text = "services: {side: {build: side, command: sleep 999, healthcheck: {interval: 1s}}}"
    group = acquire_group(spec_of(compose_task(text, {"side/Dockerfile": f"FROM {test_image}\n{check}"})))
    side = group.services["side"]
    assert health_of(engine, side.id) == "healthy"
    assert side.exec(["test", "-e", "/tmp/twice"], timeout=SOON).exit_code == 0


def test_a_check_that_the_file_takes_away_is_never_run(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], test_image: str
) -> None:
    """A service without a check counts as soon as it runs; this one would never be healthy."""
    check = "HEALTHCHECK --interval=1s --retries=1 CMD touch /checked; false\n"
    text = "services: {side: {build: side, command: sleep 999, healthcheck: {disable: true}}}"
    group = acquire_group(spec_of(compose_task(text, {"side/Dockerfile": f"FROM {test_image}\n{check}"})))
    assert group.services["side"].exec(["test", "-e", "/checked"], timeout=SOON).exit_code == 1


def test_a_check_that_hangs_costs_its_group_alone(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], provider: DockerProvider, test_image: str
) -> None:
    """The engine is not taken for one that went away, with all other sandboxes of the run."""
    check = "{test: sleep 1000, interval: 1s, timeout: 1s, retries: 1}"
    side = f"{{image: {test_image}, command: sleep 999, healthcheck: {check}}}"
    with pytest.raises(SandboxStartFailed, match="service side did not become healthy"):
        acquire_group(spec_of(compose_task(f"services: {{side: {side}}}"), build_seconds=25))
    engine = provider._pool.links[0].engine()
    assert (engine.lost, engine.outages) == (False, 0)


def test_a_name_is_known_where_a_network_is_shared(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], test_image: str
) -> None:
    text = f"""
services:
  main: {{command: sleep 999, networks: [front]}}
  web: {{image: {test_image}, command: sleep 999, networks: {{front: {{aliases: [shop, till]}}, back: }}}}
  store: {{image: {test_image}, command: sleep 999, networks: [back]}}
  beside: {{image: {test_image}, command: sleep 999, network_mode: "service:store"}}
networks: {{front: {{}}, back: {{}}}}
"""
    group = acquire_group(spec_of(compose_task(text)))

    def known(service: str) -> set[str]:
        said = shell(group.services[service], "getent hosts main web shop till store beside | awk '{print $2}'; true")
        return set(said.split())

    assert known("main") == {"main", "web", "shop", "till"}
    assert known("web") == {"main", "web", "shop", "till", "store"}
    assert known("store") == known("beside") == {"web", "store"}


@pytest.fixture
def a_firewall_between(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As Docker's on the same host, for the networks that this test makes."""
    made = PodmanStarter._made
    rules: list[list[str]] = []

    def cut(self: PodmanStarter, name: str, project: Project) -> Network:
        network = made(self, name, project)
        rules.append(["DOCKER-USER", "-s", str(network.subnet), "-m", "physdev", "--physdev-is-bridged", "-j", "DROP"])
        subprocess.run(["iptables", "-I", *rules[-1]], check=True)
        return network

    monkeypatch.setattr(PodmanStarter, "_made", cut)
    yield
    for rule in rules:
        subprocess.run(["iptables", "-D", *rule], check=True)


@pytest.mark.docker  # its firewall is what cuts
def test_services_that_do_not_reach_each_other_are_no_group(
    acquire_group: AcquireGroup,
    compose_task: Callable[..., Path],
    engine: docker.APIClient,
    test_image: str,
    a_firewall_between: None,
) -> None:
    """A candidate would be called unresolved for what it could not reach."""
    labels = new_labels()
    with pytest.raises(SandboxStartFailed, match=r"do not reach each other: .* does not answer .*firewall"):
        acquire_group(spec_of(compose_task(LONG.format(image=test_image))), labels)
    assert left(engine, labels) == []
