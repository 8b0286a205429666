"""The Docker and Podman providers on rootless engines: the whole contract, and what is rootless about them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from daemons import TINY
from rootless import RootlessDocker, RootlessEngine, RootlessPodman

from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.podman import PodmanProvider
from pytest_swe.testing.conformance import *  # noqa: F403
from pytest_swe.testing.conformance.fixtures import KillFromOutside, shell

pytestmark = pytest.mark.rootless


#: What starts each engine, and the provider for it.
ENGINES = {"docker": (RootlessDocker, DockerProvider), "podman": (RootlessPodman, PodmanProvider)}


@pytest.fixture(scope="module", params=[*ENGINES])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def daemon(engine: str) -> Iterator[RootlessEngine]:
    made = ENGINES[engine][0]()
    try:
        made.start()
        made.load()
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def provider(engine: str, daemon: RootlessEngine) -> Iterator[DockerProvider]:
    made = ENGINES[engine][1](host=daemon.address, pull=False)
    made.check()
    yield made
    made.close()


@pytest.fixture(scope="module")  # type: ignore[no-redef]
def sandbox_spec() -> SandboxSpec:
    return SandboxSpec(image=TINY, seconds=900)


@pytest.fixture
def kill_from_outside(daemon: RootlessEngine) -> Iterator[KillFromOutside]:
    with daemon.client() as client:
        yield lambda sandbox: client.kill(sandbox.id)


def test_it_says_what_it_is(provider: DockerProvider) -> None:
    able = provider.capabilities
    lacking = [name for name in ("cpus", "memory", "pids") if not getattr(able, name)]
    said = ", rootless" + (f", cannot limit {', '.join(lacking)}" if lacking else "")
    assert provider.check().endswith(f"{said})")


def test_root_inside_is_the_user_outside(sandbox: Sandbox, daemon: RootlessEngine) -> None:
    inside, outside, _ = shell(sandbox, "cat /proc/self/uid_map").splitlines()[0].split()
    assert (inside, outside) == ("0", str(daemon.user.pw_uid))
