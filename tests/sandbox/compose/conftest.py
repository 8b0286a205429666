"""Real engines that make groups, the provider on each, and tasks made of a few files."""

from __future__ import annotations

import contextlib
import dataclasses
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import docker
import pytest

from pytest_swe.sandbox.compose.build import Build, Builder
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.group import Group, GroupSpec
from pytest_swe.sandbox.podman import PodmanProvider, usual_host
from pytest_swe.testing.conformance.fixtures import new_labels

from .groups import SERVER, AcquireGroup, Standing, spec_of

PROVIDERS = {"docker": DockerProvider, "podman": PodmanProvider}

WriteTask = Callable[[Mapping[str, str]], Path]


@pytest.fixture(
    scope="module",
    params=[pytest.param("docker", marks=pytest.mark.docker), pytest.param("podman", marks=pytest.mark.podman)],
)
def kind(request: pytest.FixtureRequest) -> str:
    """Whose groups these are."""
    return str(request.param)


@pytest.fixture(scope="module")
def engine(kind: str) -> Iterator[docker.APIClient]:
    """The engine itself (that of ``DOCKER_HOST`` or ``CONTAINER_HOST``), behind the provider's back."""
    client = docker.DockerClient.from_env().api if kind == "docker" else docker.APIClient(usual_host(), timeout=60)
    yield client
    client.close()


@pytest.fixture(scope="module")
def provider(kind: str) -> Iterator[DockerProvider]:
    made = PROVIDERS[kind](pull=False)
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
    made: set[tuple[str, ...]] = set()
    build = Builder._build

    def noted(self: Builder, wanted: Build, name: str, deadline: float, stopped: Callable[[], bool]) -> None:
        made.add((*self.engine.command, "image", "rm", "--force", name))
        build(self, wanted, name, deadline, stopped)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Builder, "_build", noted)
        yield
    for removal in made:
        subprocess.run(removal, capture_output=True)


@pytest.fixture
def compose_task(task: WriteTask) -> Callable[[str, Mapping[str, str]], Path]:
    """A task with a compose file, and whatever else it is given."""

    def write(compose: str, more: Mapping[str, str] | None = None) -> Path:
        return task({"docker-compose.yaml": compose, **(more or {})})

    return write


@pytest.fixture
def acquire_group(provider: DockerProvider) -> Iterator[AcquireGroup]:
    with contextlib.ExitStack() as stack:

        def acquire(spec: GroupSpec, labels: Mapping[str, str] | None = None) -> Group:
            group = provider.acquire_group(spec, labels=labels or new_labels())
            stack.callback(group.close)
            return group

        yield acquire


@pytest.fixture(scope="module")
def standing(provider: DockerProvider, tmp_path_factory: pytest.TempPathFactory, test_image: str) -> Iterator[Standing]:
    """Main is built here, and has a command of its own."""
    directory, labels = tmp_path_factory.mktemp("environment"), new_labels()
    command = "    command: sh -c 'sleep 4321 & exec sleep 4321'\n"
    text = SERVER.format(image=test_image).replace("  main:\n", f"  main:\n{command}", 1)
    (directory / "docker-compose.yaml").write_text(text)
    (directory / "Dockerfile").write_text(f"FROM {test_image}\nWORKDIR /app\nRUN echo {labels}\n")
    spec = spec_of(directory, variables={"SHOWN": "fromtask"})
    main = dataclasses.replace(spec.main, image="", env={"OF_THE_TASK": "spec"})
    group = provider.acquire_group(dataclasses.replace(spec, main=main), labels=labels)
    yield Standing(group, labels)
    group.close()
