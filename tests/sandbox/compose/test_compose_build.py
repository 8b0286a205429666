"""Images that tasks bring as a Dockerfile, with BuildKit and with the engine's own builder."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import docker
import pytest

from pytest_swe.errors import Cancelled, ImageUnavailable, RowInvalid, Unsupported
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.compose import program
from pytest_swe.sandbox.compose.build import BUILT, Build
from pytest_swe.sandbox.compose.content import content_hash
from pytest_swe.sandbox.compose.program import Compose
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.group import GroupSpec
from pytest_swe.sandbox.local import LocalProvider
from pytest_swe.testing.conformance.fixtures import SOON, new_labels, shell
from pytest_swe.trial.environment import Place, Wanted, made

from .conftest import WriteTask

pytestmark = pytest.mark.docker

#: As in a task: the entrypoint leaves a trace, and goes on with what it is given.
ENTRYPOINT = r"""
WORKDIR /app
RUN printf '#!/bin/sh\ntouch /tmp/ep\nexec "$@"\n' > /ep.sh && chmod +x /ep.sh
ENTRYPOINT ["/ep.sh"]
CMD ["ignored"]
USER nobody
"""


@pytest.fixture(scope="module")
def kind() -> str:
    """Podman's builder has tests beside its other ones."""
    return "docker"


def inspect(engine: docker.APIClient, image: str) -> dict[str, Any]:
    found: dict[str, Any] = engine.inspect_image(image)  # type: ignore[no-untyped-call]
    return found


@pytest.fixture(params=[pytest.param("buildkit", marks=pytest.mark.compose), "engine"])
def builder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "engine":
        monkeypatch.setattr(Compose, "found", lambda endpoint: None)
    return str(request.param)


def test_a_dockerfile_is_built_once_for_its_content(
    task: WriteTask, provider: DockerProvider, engine: docker.APIClient, test_image: str, builder: str
) -> None:
    directory = task({"Dockerfile": f"FROM {test_image}\nCOPY answer /answer\n", "answer": "42"})
    name = provider.build_image(directory)
    first = inspect(engine, name)
    assert first["Config"]["Labels"][BUILT] == name.rpartition(":")[2]
    (directory / ".git").mkdir()
    (directory / ".git" / "HEAD").write_text("x")
    assert provider.build_image(directory) == name
    assert inspect(engine, name)["Id"] == first["Id"]
    (directory / "answer").write_text("43")
    other = provider.build_image(directory)
    assert other != name
    with_answer = provider.acquire(SandboxSpec(image=other, workdir="/"), labels=new_labels())
    try:
        assert with_answer.read_file("/answer") == b"43"
    finally:
        with_answer.close()


def test_a_failing_build_says_its_last_lines(
    task: WriteTask, provider: DockerProvider, test_image: str, builder: str
) -> None:
    directory = task({"Dockerfile": f"FROM {test_image}\nRUN echo the-last-word >&2; exit 3\n"})
    with pytest.raises(ImageUnavailable, match="does not build") as failure:
        provider.build_image(directory)
    assert "the-last-word" in str(failure.value)
    assert "3" in str(failure.value)


def test_a_build_has_its_time(task: WriteTask, provider: DockerProvider, test_image: str, builder: str) -> None:
    directory = task({"Dockerfile": f"FROM {test_image}\nRUN sleep 120\n"})
    begin = time.monotonic()
    with pytest.raises(ImageUnavailable, match="not built in its time"):
        provider.build_image(directory, seconds=3)
    assert time.monotonic() - begin < 60


@pytest.mark.compose
def test_a_build_that_nobody_waits_for_any_more_is_ended(
    task: WriteTask, provider: DockerProvider, test_image: str
) -> None:
    """Its program with it, which is a process group of its own."""
    directory = task({"Dockerfile": f"FROM {test_image}\nRUN sleep 1357\n"})
    over = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        building = pool.submit(provider.build_image, directory, stopped=over.is_set)
        while not (programs := children("compose")):
            assert not building.done()
            time.sleep(0.1)
        over.set()
        with pytest.raises(Cancelled):
            building.result()
    assert not programs & children("compose")


def children(word: str) -> set[str]:
    """Numbers of this process's children with this word in their command lines."""
    found = Path("/proc/self/task").glob("*/children")
    pids = {pid for each in found for pid in each.read_text().split()}
    return {pid for pid in pids if word in Path(f"/proc/{pid}/cmdline").read_text().split("\0")}


def test_force_builds_what_is_there(
    task: WriteTask, provider: DockerProvider, engine: docker.APIClient, test_image: str
) -> None:
    directory = task({"Dockerfile": f"FROM {test_image}\nCOPY unique /unique\n"})
    name = provider.build_image(directory)
    repository, _, tag = name.partition(":")
    engine.tag(test_image, repository, tag, force=True)
    provider.build_image(directory)
    assert inspect(engine, name)["Id"] == inspect(engine, test_image)["Id"]
    provider.build_image(directory, force=True)
    assert inspect(engine, name)["Id"] != inspect(engine, test_image)["Id"]


def test_a_dockerfile_outside_is_refused(task: WriteTask, provider: DockerProvider, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    directory = task({})
    (directory / "Dockerfile").symlink_to("../Dockerfile")
    with pytest.raises(RowInvalid, match="leads out of its directory"):
        provider.build_image(directory)


def test_no_dockerfile_is_said(task: WriteTask, provider: DockerProvider) -> None:
    with pytest.raises(RowInvalid, match="there is no Dockerfile"):
        provider.build_image(task({"docker-compose.yaml": ""}))


def test_what_makes_another_image(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("bc")
    begin = content_hash(tmp_path, {})
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "x.pyc").write_text("x")
    assert content_hash(tmp_path, {}) == begin
    seen = {begin, content_hash(tmp_path, {"target": "x"})}
    (tmp_path / "a").chmod(0o755)
    seen.add(content_hash(tmp_path, {}))
    (tmp_path / "link").symlink_to("a")
    seen.add(content_hash(tmp_path, {}))
    (tmp_path / "a").rename(tmp_path / "ab")
    (tmp_path / "ab").write_text("c")
    seen.add(content_hash(tmp_path, {}))
    assert len(seen) == 5


def test_the_target_is_part_of_the_name(task: WriteTask) -> None:
    build = Build(directory=task({"Dockerfile": "FROM scratch\n"}))
    assert dataclasses.replace(build, target="x").name() != build.name()


@pytest.fixture
def kept(task: WriteTask, provider: DockerProvider, test_image: str) -> Iterator[Sandbox]:
    image = provider.build_image(task({"Dockerfile": f"FROM {test_image}\n{ENTRYPOINT}"}))
    spec = SandboxSpec(image=image, keep_entrypoint=True, user="", workdir="", seconds=120)
    made = provider.acquire(spec, labels=new_labels())
    yield made
    made.close()


def test_an_images_entrypoint_is_kept(kept: Sandbox) -> None:
    assert kept.exec(["test", "-e", "/tmp/ep"], timeout=SOON).exit_code == 0
    assert kept.exec(["sh", "-c", "id -un; pwd"], timeout=SOON).stdout == b"nobody\n/app\n"
    assert kept.exec(["id", "-u"], user="root", timeout=SOON).stdout == b"0\n"


def test_a_time_out_spares_it(kept: Sandbox) -> None:
    assert kept.exec(["sh", "-c", "sleep 100 & sleep 100"], timeout=1).timed_out
    assert "sleep 100" not in shell(kept, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").replace("sleep 120", "")


def test_it_ends_at_its_deadline(
    task: WriteTask, provider: DockerProvider, engine: docker.APIClient, test_image: str
) -> None:
    image = provider.build_image(task({"Dockerfile": f"FROM {test_image}\n{ENTRYPOINT}"}))
    spec = SandboxSpec(image=image, keep_entrypoint=True, user="", workdir="", seconds=2)
    made = provider.acquire(spec, labels=new_labels())
    try:
        assert engine.wait(made.id, timeout=60)["StatusCode"] == 0
    finally:
        made.close()


def test_who_cannot_refuses_it_by_name(tmp_path: Path) -> None:
    spec = SandboxSpec(image="x", keep_entrypoint=True, trusted=True)
    with pytest.raises(Unsupported, match="keep_entrypoint"):
        LocalProvider(state=tmp_path, isolate=False).acquire(spec, labels={})


def test_without_compose_a_group_is_refused_by_name(
    provider: DockerProvider, task: WriteTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "installed", lambda: None)
    directory = task({"docker-compose.yaml": "services: {main: {image: x}}"})
    spec = GroupSpec(main=SandboxSpec(image="x"), directory=directory, compose=directory / "docker-compose.yaml")
    assert not provider.capabilities.groups
    with pytest.raises(Unsupported, match=r"no `docker compose` here .*install"):
        provider.acquire_group(spec, labels=new_labels())


def test_a_trial_without_compose_says_what_to_install(
    task: WriteTask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whether an engine answers or not, with the words of the provider that could."""
    directory = task({"docker-compose.yaml": "services: {main: {image: x}}"})
    place = Place(directory=directory, compose=directory / "docker-compose.yaml")
    wanted = Wanted(place=place, spec=SandboxSpec(image=""), build_seconds=60)
    monkeypatch.setattr(program, "PLUGIN_DIRECTORIES", ())
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    (tmp_path / "docker").write_text("#!/bin/sh\n")
    (tmp_path / "docker").chmod(0o755)
    provider = DockerProvider(host=f"unix://{tmp_path}/no.sock", patience=0)
    for path, lacking in ((str(tmp_path), "`docker compose`"), (str(tmp_path / "empty"), "`docker` command")):
        monkeypatch.setenv("PATH", path)
        said = rf"this task has a compose file, and there is no {lacking} here \(install Docker Compose 2, "
        with pytest.raises(Unsupported, match=said):
            made(wanted, provider, {})
    with pytest.raises(
        Unsupported, match=r"provider local runs no tasks with a compose file .--swe-provider docker and podman do"
    ):
        made(wanted, LocalProvider(state=tmp_path, isolate=False), {})
