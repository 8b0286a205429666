"""The Podman provider on a rootless service: the whole contract, and what is rootless about it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from daemons import TINY
from rootless import RootlessPodman

from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.podman import PodmanProvider
from pytest_swe.testing.conformance import *  # noqa: F403
from pytest_swe.testing.conformance.fixtures import KillFromOutside, shell

pytestmark = pytest.mark.rootless


@pytest.fixture(scope="module")
def daemon() -> Iterator[RootlessPodman]:
    made = RootlessPodman()
    try:
        made.start()
        made.load()
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def provider(daemon: RootlessPodman) -> Iterator[PodmanProvider]:
    made = PodmanProvider(host=daemon.address, pull=False)
    made.check()
    yield made
    made.close()


@pytest.fixture(scope="module")  # type: ignore[no-redef]
def sandbox_spec() -> SandboxSpec:
    return SandboxSpec(image=TINY, seconds=900)


@pytest.fixture
def kill_from_outside(daemon: RootlessPodman) -> Iterator[KillFromOutside]:
    with daemon.client() as client:
        yield lambda sandbox: client.kill(sandbox.id)


def test_it_says_what_it_is(provider: PodmanProvider) -> None:
    able = provider.capabilities
    lacking = [name for name in ("cpus", "memory", "pids") if not getattr(able, name)]
    said = ", rootless" + (f", cannot limit {', '.join(lacking)}" if lacking else "")
    assert provider.check().endswith(f"{said})")


def test_root_inside_is_the_user_outside(sandbox: Sandbox, daemon: RootlessPodman) -> None:
    inside, outside, _ = shell(sandbox, "cat /proc/self/uid_map").splitlines()[0].split()
    assert (inside, outside) == ("0", str(daemon.user.pw_uid))
