"""The Docker provider on a real engine: the conformance suite, and what is Docker's own."""

from __future__ import annotations

from collections.abc import Iterator

import docker
import pytest

from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.testing.conformance import *  # noqa: F403
from pytest_swe.testing.conformance.fixtures import KillFromOutside

pytestmark = pytest.mark.docker


@pytest.fixture(scope="session")
def engine() -> Iterator[docker.APIClient]:
    """The engine itself, behind the provider's back."""
    client = docker.APIClient(version="auto")
    yield client
    client.close()


@pytest.fixture(scope="module")
def provider() -> Iterator[DockerProvider]:
    made = DockerProvider(pull=False)
    yield made
    made.close()


@pytest.fixture
def kill_from_outside(engine: docker.APIClient) -> KillFromOutside:
    return lambda sandbox: engine.kill(sandbox.id)
