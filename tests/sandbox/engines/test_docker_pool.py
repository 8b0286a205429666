"""Several engines as one pool, each sandbox where its image and the most room are."""

from __future__ import annotations

import contextlib
import dataclasses
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from daemons import TINY, Daemon

from pytest_swe.errors import EngineUnavailable, ImageUnavailable, UsageError
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.docker import DockerProvider

pytestmark = pytest.mark.dockerd

SPEC = SandboxSpec(image=TINY, workdir="/testbed", seconds=600)
#: On the second engine only.
ELSEWHERE = "pytest-swe/elsewhere:1"


@pytest.fixture(scope="module")
def daemons() -> Iterator[tuple[Daemon, Daemon]]:
    with contextlib.ExitStack() as stack:
        made = []
        for images in ((TINY,), (TINY, ELSEWHERE)):
            daemon = Daemon()
            stack.callback(daemon.close)
            daemon.start()
            for image in images:
                daemon.load(image)
            made.append(daemon)
        yield made[0], made[1]


@pytest.fixture
def provider(daemons: tuple[Daemon, Daemon]) -> Iterator[DockerProvider]:
    made = DockerProvider(hosts=[each.address for each in daemons], pull=False)
    yield made
    made.close()


@pytest.fixture
def labels() -> dict[str, str]:
    return {"run": f"pool-{uuid.uuid4().hex}"}


def answers(sandbox: Sandbox) -> bool:
    return sandbox.exec(["true"], timeout=60).exit_code == 0


def test_sandboxes_go_where_the_most_room_is(
    provider: DockerProvider, daemons: tuple[Daemon, Daemon], labels: dict[str, str]
) -> None:
    """Those of others count: the first engine has three already."""
    first, second = daemons
    other = DockerProvider(host=first.address, pull=False)
    theirs = {"run": f"other-{uuid.uuid4().hex}"}
    for _ in range(3):
        other.acquire(SPEC, labels=theirs)
    made = [provider.acquire(SPEC, labels=labels) for _ in range(5)]
    assert all(map(answers, made))
    assert (first.containers(), second.containers()) == (4, 4)
    assert provider.sweep(labels) == 5
    assert (first.containers(), second.containers()) == (3, 0)
    assert other.sweep(theirs) == 3
    other.close()


def test_many_at_once_are_spread(
    provider: DockerProvider, daemons: tuple[Daemon, Daemon], labels: dict[str, str]
) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: provider.acquire(SPEC, labels=labels), range(8)))
    assert all(map(answers, made))
    counts = sorted(daemon.containers() for daemon in daemons)
    assert counts[0] >= 3, counts
    assert provider.sweep(labels) == 8


def test_an_image_decides_before_room_does(
    provider: DockerProvider, daemons: tuple[Daemon, Daemon], labels: dict[str, str]
) -> None:
    spec = dataclasses.replace(SPEC, image=ELSEWHERE)
    made = [provider.acquire(spec, labels=labels) for _ in range(2)]
    assert [daemon.containers() for daemon in daemons] == [0, 2]
    assert all(map(answers, made))
    with pytest.raises(ImageUnavailable):
        provider.acquire(dataclasses.replace(SPEC, image="no.such/image:1"), labels=labels)
    assert provider.sweep(labels) == 2


def test_what_it_says_of_itself(provider: DockerProvider, daemons: tuple[Daemon, Daemon]) -> None:
    line = provider.check()
    assert all(daemon.address in line for daemon in daemons)
    assert provider.capabilities.shares_host
    assert provider.capabilities.memory


def test_an_engine_that_is_gone_is_left_out(
    provider: DockerProvider, daemons: tuple[Daemon, Daemon], labels: dict[str, str]
) -> None:
    first, second = daemons
    before = [provider.acquire(SPEC, labels=labels) for _ in range(2)]
    first.stop()
    try:
        after = [provider.acquire(SPEC, labels=labels) for _ in range(3)]
        assert all(map(answers, after))
        assert second.containers() == 4
        with pytest.raises(EngineUnavailable):
            provider.sweep(labels)
        assert second.containers() == 0
    finally:
        first.start()
    assert provider.sweep(labels) == 1
    assert [daemon.containers() for daemon in daemons] == [0, 0]
    for each in before:
        each.close()


def test_a_name_that_is_no_engine_is_a_wrong_option(daemons: tuple[Daemon, Daemon]) -> None:
    provider = DockerProvider(hosts=[daemons[0].address, "nonesuch"])
    with pytest.raises(UsageError, match="nonesuch"):
        provider.check()
    provider.close()
