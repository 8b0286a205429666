"""Groups on a real engine: what runs, and who sees whom."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docker
import pytest

from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.container import CAPABILITIES
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.group import GroupProvider
from pytest_swe.testing.conformance.fixtures import SOON, shell

from .groups import FETCH, REACH, SERVER, AcquireGroup, Standing, spec_of

pytestmark = pytest.mark.compose


def test_the_provider_makes_groups(provider: DockerProvider) -> None:
    assert isinstance(provider, GroupProvider)
    assert provider.capabilities.groups


def test_services_see_each_other_by_name_and_variables_are_the_specs(standing: Standing) -> None:
    group = standing.group
    assert set(group.services) == {"main", "side"}
    assert group.services["main"] is group.main
    assert shell(group.main, FETCH) == "hello\n\n"
    assert shell(group.main, "pwd; echo $FROM_COMPOSE $OF_THE_TASK") == "/app\n1 spec\n"
    side = group.services["side"]
    said = shell(side, "echo $SHOWN; echo $IMAGE; echo $LIMITS; echo $HOST; echo $DOLLAR").splitlines()
    assert said[0] == "fromtask"
    assert said[1].startswith("pytest-swe/task:")
    assert said[2:] == ["1 512M", "none", "$HOME"]
    side.write_file("/data/two", b"2")
    assert side.read_file("/data/two") == b"2"


#: Numbers of capabilities: https://github.com/torvalds/linux/blob/v6.12/include/uapi/linux/capability.h
BITS = {
    "CHOWN": 0,
    "DAC_OVERRIDE": 1,
    "FOWNER": 3,
    "FSETID": 4,
    "KILL": 5,
    "SETGID": 6,
    "SETUID": 7,
    "SETPCAP": 8,
    "NET_BIND_SERVICE": 10,
    "NET_RAW": 13,
    "SYS_CHROOT": 18,
    "MKNOD": 27,
    "AUDIT_WRITE": 29,
    "SETFCAP": 31,
}


def test_every_service_is_held(standing: Standing, engine: docker.APIClient) -> None:
    group, labels = standing.group, standing.labels
    for name, sandbox in group.services.items():
        found = engine.inspect_container(sandbox.id)
        host = found["HostConfig"]
        status = shell(sandbox, "cat /proc/1/status")
        assert f"CapBnd:\t{sum(1 << BITS[each] for each in CAPABILITIES):016x}\n" in status, name
        assert "NoNewPrivs:\t1\n" in status
        assert host["Memory"] == host["MemorySwap"] > 0
        assert host["PidsLimit"] > 0
        assert host["RestartPolicy"]["Name"] in ("no", "")
        assert not host["Privileged"]
        assert {f"pytest-swe.{key}": value for key, value in labels.items()}.items() <= found["Config"][
            "Labels"
        ].items()
        assert "pytest-swe.deadline" in found["Config"]["Labels"]
    assert engine.inspect_container(group.main.id)["HostConfig"]["Memory"] == 512 * 1024 * 1024


def test_nothing_leaves_a_group_without_network(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], engine: docker.APIClient, test_image: str
) -> None:
    """Not to the world, to the host, to another group, nor by way of a name server; from no service."""
    text = SERVER.format(image=test_image) + "    networks: [default, second]\nnetworks: {second: {}}\n"
    specs = [spec_of(compose_task(text)), spec_of(compose_task(SERVER.format(image=test_image)))]
    with ThreadPoolExecutor(2) as pool:
        group, other = pool.map(acquire_group, specs)
    assert shell(group.main, FETCH) == "hello\n\n"
    with listening() as port:
        there = ["1.1.1.1:53", f"{address_of(engine, other.services['side'])}:8000"]
        there += [f"{gateway}:{port}" for gateway in gateways(engine, group.services["side"])]
        assert len(there) == 4
        for sandbox in group.services.values():
            assert sandbox.exec(["python3", "-c", REACH, *there, "side:8000"], timeout=SOON).stdout == b"side:8000\n"
            assert sandbox.exec(["getent", "hosts", "example.org"], timeout=SOON).exit_code == 2


def address_of(engine: docker.APIClient, sandbox: Sandbox) -> str:
    networks = engine.inspect_container(sandbox.id)["NetworkSettings"]["Networks"]
    return str(next(iter(networks.values()))["IPAddress"])


def gateways(engine: docker.APIClient, sandbox: Sandbox) -> list[str]:
    """The host's addresses in the networks of a service, if it had any."""
    networks = engine.inspect_container(sandbox.id)["NetworkSettings"]["Networks"].values()
    return [str(engine.inspect_network(each["NetworkID"])["IPAM"]["Config"][0]["Gateway"]) for each in networks]


@contextlib.contextmanager
def listening() -> Iterator[str]:
    """A port of this host that all of its addresses answer at."""
    with socket.create_server(("0.0.0.0", 0)) as server:
        yield str(server.getsockname()[1])


def test_a_group_with_network_reaches_out(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], engine: docker.APIClient, test_image: str
) -> None:
    group = acquire_group(spec_of(compose_task(SERVER.format(image=test_image)), network="full"))
    with listening() as port:
        for sandbox in group.services.values():
            (gateway,) = gateways(engine, sandbox)
            there = f"{gateway}:{port}"
            assert sandbox.exec(["python3", "-c", REACH, there], timeout=SOON).stdout.decode() == f"{there}\n"


def test_two_groups_of_one_task_do_not_meet(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], test_image: str
) -> None:
    text = SERVER.format(image=test_image) + "    volumes: ['kept:/kept']\nvolumes: {kept: {}}\n"
    spec = spec_of(compose_task(text))
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(lambda _: acquire_group(spec), range(2))
    one.services["side"].write_file("/kept/mark", b"one")
    one.services["side"].write_file("/data/log", b"changed")
    assert two.services["side"].exec(["ls", "/kept"], timeout=SOON).stdout == b""
    assert shell(two.main, FETCH) == "hello\n\n"
    assert shell(one.main, FETCH) == "changed\n"
    one.close()
    assert shell(two.main, FETCH) == "hello\n\n"
