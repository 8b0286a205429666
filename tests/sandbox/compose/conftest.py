"""A real engine, the provider on it, and tasks made of a few files."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import docker
import pytest

from pytest_swe.sandbox.compose.build import Build, Builder
from pytest_swe.sandbox.docker import DockerProvider

WriteTask = Callable[[Mapping[str, str]], Path]


@pytest.fixture(scope="session")
def engine() -> Iterator[docker.APIClient]:
    """The engine itself (that of ``DOCKER_HOST``), behind the provider's back."""
    client = docker.DockerClient.from_env().api
    yield client
    client.close()


@pytest.fixture(scope="module")
def provider() -> Iterator[DockerProvider]:
    made = DockerProvider(pull=False)
    yield made
    made.close()


@pytest.fixture
def task(tmp_path: Path) -> WriteTask:
    """Writes files below a new directory; no two have the same content, so no test finds another's image."""

    def write(files: Mapping[str, str]) -> Path:
        root = tmp_path / f"environment-{uuid.uuid4().hex[:8]}"
        for name, text in {**files, "unique": uuid.uuid4().hex}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return root

    return write


@pytest.fixture(scope="session", autouse=True)
def built_images_go() -> Iterator[None]:
    """Images that these tests built are removed, and no others: somebody else may build at the same time."""
    made: set[str] = set()
    build = Builder._build

    def noted(self: Builder, wanted: Build, name: str, deadline: float) -> None:
        made.add(name)
        build(self, wanted, name, deadline)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Builder, "_build", noted)
        yield
    for name in made:
        subprocess.run(["docker", "image", "rm", "--force", name], capture_output=True)
