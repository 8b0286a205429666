"""The Docker and Podman providers on rootless engines: the whole contract, and what is rootless about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from daemons import TINY
from rootless import RootlessDocker, RootlessEngine, RootlessPodman

from pytest_swe.errors import Unsupported
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.group import GroupSpec
from pytest_swe.sandbox.podman import PodmanProvider
from pytest_swe.testing.conformance import *  # noqa: F403
from pytest_swe.testing.conformance.fixtures import KillFromOutside, new_labels, shell

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


@pytest.mark.compose
def test_a_group_of_services(provider: DockerProvider, sandbox_spec: SandboxSpec, tmp_path: Path) -> None:
    """Two services, the one waiting for the other's health, or a refusal by name."""
    server = "mkdir /www; echo hello > /www/log; exec busybox httpd -f -p 8000 -h /www"
    check = "{test: [CMD, busybox, wget, -q, -O, /dev/null, 'http://localhost:8000/log'], interval: 1s, retries: 60}"
    side = f"{{image: {TINY}, command: [sh, -c, '{server}'], healthcheck: {check}}}"
    file = tmp_path / "docker-compose.yaml"
    file.write_text(f"services: {{main: {{depends_on: {{side: {{condition: service_healthy}}}}}}, side: {side}}}\n")
    spec = GroupSpec(main=sandbox_spec, directory=tmp_path, compose=file)
    if provider.name == "docker" and not provider.capabilities.pids:
        with pytest.raises(Unsupported, match="rootless Docker engine without control groups"):
            provider.acquire_group(spec, labels=new_labels())
        return
    group = provider.acquire_group(spec, labels=new_labels())
    try:
        assert shell(group.main, "busybox wget -q -O - http://side:8000/log") == "hello\n"
    finally:
        group.close()
