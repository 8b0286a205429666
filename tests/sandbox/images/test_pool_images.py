"""The images of several engines: each is prepared, has its own budget, and is left alone when its disk is short."""

from __future__ import annotations

import contextlib
import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemons import TINY, Daemon  # by its path, which pytest adds
from registries import Proxy

from pytest_swe.__main__ import main
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.admission import SPARE_DISK_MB
from pytest_swe.sandbox.base import free_disk_mb
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.images.pull import Puller, PullPolicy

from .conftest import Publish, layer, shell_layer
from .test_budget import large
from .test_prepare import Rows, own_state, rows, task_repository

__all__ = ["own_state", "rows"]

pytestmark = [pytest.mark.dockerd, pytest.mark.docker, pytest.mark.registry]

SPEC = SandboxSpec(image=TINY, workdir="/testbed", seconds=600)

#: MiB of the second engine's disk: fewer than a sandbox is to leave free.
SMALL_MB = SPARE_DISK_MB // 2


@pytest.fixture(scope="module")
def daemons() -> Iterator[tuple[Daemon, Daemon]]:
    """The second has a small disk of its own."""
    with contextlib.ExitStack() as stack:
        made = []
        for number in range(2):
            daemon = Daemon()
            stack.callback(daemon.close)
            if number:
                data = daemon.directory / "data"
                data.mkdir()
                size = f"size={SMALL_MB}m"
                subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(data)], check=True)
            daemon.start()
            daemon.load()
            made.append(daemon)
        yield made[0], made[1]


@pytest.fixture
def hosts(daemons: tuple[Daemon, Daemon]) -> str:
    return ",".join(daemon.address for daemon in daemons)


def has(daemon: Daemon, image: str) -> str:
    """The id of an image."""
    with daemon.client() as client:
        found = client.images(image)
        return str(found[0]["Id"]) if found else ""


def prepare(data: Path, hosts: str, *more: str) -> int:
    return main(["prepare", str(data), "--docker-hosts", hosts, "-j", "2", *more])


def test_every_engine_gets_every_image(
    rows: Rows, publish: Publish, daemons: tuple[Daemon, Daemon], hosts: str, capsys: pytest.CaptureFixture[str]
) -> None:
    images = [publish(shell_layer()), publish(shell_layer())]
    with daemons[0].client() as client:
        client.pull(images[0])
    data = rows(*images)
    assert prepare(data, hosts, "--dry-run") == 1
    said = capsys.readouterr().out
    assert f"{daemons[0].address}: 2 images, 1 there, 1 to prepare" in said
    assert f"{daemons[1].address}: 2 images, 0 there, 2 to prepare" in said
    [needs] = [line for line in said.splitlines() if line.startswith(f"{daemons[1].address}: to fetch")]
    assert int(needs.rpartition("free: ")[2].split()[0]) <= SMALL_MB
    assert f"missing on {daemons[1].address}: {images[0]} (for a__b-0): to prepare" in said
    assert prepare(data, hosts) == 0
    assert "[3/3]" in capsys.readouterr().out
    for image in images:
        assert has(daemons[0], image) == has(daemons[1], image) != ""
    assert prepare(data, hosts) == 0
    assert "[1/" not in capsys.readouterr().out


def test_what_is_missing_is_told_for_each_engine(
    rows: Rows, front: Proxy, daemons: tuple[Daemon, Daemon], hosts: str, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = f"127.0.0.1:{front.port}/not/there:1"
    assert prepare(rows(missing), hosts) == 1
    said = capsys.readouterr().out
    for daemon in daemons:
        assert f"missing on {daemon.address}: {missing} (for a__b-0): cannot pull" in said


def test_an_engine_that_is_gone_does_not_stop_the_others(
    rows: Rows, publish: Publish, daemons: tuple[Daemon, Daemon], capsys: pytest.CaptureFixture[str]
) -> None:
    image, nobody = publish(shell_layer()), "unix:///no/engine"
    assert prepare(rows(image), f"{nobody},{daemons[1].address}") == 1
    said = capsys.readouterr().out
    assert f"nothing is known of {nobody}: " in said
    assert f"1 of 1 images are there on {daemons[1].address}" in said
    assert has(daemons[1], image)
    assert prepare(rows(image), f"{nobody},unix:///nor/there") == 2
    assert "does not answer" in capsys.readouterr().err


def test_what_is_built_is_the_same_everywhere(
    tmp_path: Path, daemons: tuple[Daemon, Daemon], hosts: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Built twice it would be two images."""
    name = f"registry.invalid/built-{uuid.uuid4().hex}"
    place = task_repository(tmp_path / "repo", f"{name}:1", f"{name}-base:1")
    task = place / "tasks" / "a__b-1" / "Dockerfile"
    task.write_text(task.read_text() + "RUN head -c 16 /dev/urandom > /unique\n")
    assert prepare(place, hosts, "--base", TINY) == 0
    said = capsys.readouterr().out
    assert "  built  " in said
    assert "  copied  " in said
    assert has(daemons[0], f"{name}:1") == has(daemons[1], f"{name}:1") != ""


def test_a_bundle_goes_to_every_engine(
    rows: Rows, publish: Publish, tmp_path: Path, daemons: tuple[Daemon, Daemon], hosts: str
) -> None:
    image = publish(shell_layer())
    with daemons[1].client() as client:
        client.pull(image)
        image_id = has(daemons[1], image)
        assert main(["bundle", "export", str(rows(image)), str(tmp_path / "b"), "--docker-hosts", hosts]) == 0
        client.remove_image(image)
    assert main(["bundle", "import", str(tmp_path / "b"), "--docker-hosts", hosts]) == 0
    assert [has(daemon, image) for daemon in daemons] == [image_id, image_id]


def test_each_engine_keeps_its_own_budget(publish: Publish, daemons: tuple[Daemon, Daemon], tmp_path: Path) -> None:
    def pullers(budget_mb: int | None = None) -> tuple[DockerProvider, list[Puller]]:
        policy = PullPolicy(directory=tmp_path / "budget", wanted=frozenset, budget_mb=budget_mb)
        provider = DockerProvider(hosts=[daemon.address for daemon in daemons], policy=policy)
        return provider, [connect() for connect in provider.images().values()]

    provider, (first, second) = pullers()
    old, new = publish(large(64)), publish(large(64))
    first.ready(old)
    second.ready(old)
    # The first engine has less on it, so that what is too much for the second is not for it.
    extra = publish(layer({"data": os.urandom(16) + bytes(96 * 1024**2)}))
    with daemons[1].client() as client:
        client.pull(extra)
    allowed = (first.engine.used_mb() + second.engine.used_mb()) // 2 + 64
    provider.close()
    provider, (first, second) = pullers(allowed)
    first.ready(new)
    second.ready(new)
    provider.close()
    assert has(daemons[0], old) != ""
    assert has(daemons[1], old) == ""
    assert has(daemons[1], new) != ""
    assert has(daemons[1], extra) != ""


def test_sandboxes_keep_away_from_a_short_disk(daemons: tuple[Daemon, Daemon]) -> None:
    """Also from the engine that alone has the image, where another can pull it."""
    provider = DockerProvider(hosts=[daemon.address for daemon in daemons], pull=False)
    labels = {"run": f"disk-{uuid.uuid4().hex}"}
    try:
        free = free_disk_mb(provider)
        assert free is not None
        assert free > SMALL_MB
        for _ in range(4):
            provider.acquire(SPEC, labels=labels)
        assert [daemon.containers() for daemon in daemons] == [4, 0]
        assert provider.sweep(labels) == 4
    finally:
        provider.close()
    alone = DockerProvider(hosts=[daemons[1].address, "unix:///no/engine"], pull=False)
    try:
        assert (free_disk_mb(alone) or 0) <= SMALL_MB
        with contextlib.closing(alone.acquire(SPEC, labels=labels)):  # where no other is, it must do
            assert daemons[1].containers() == 1
    finally:
        alone.close()


def test_hosts_are_for_docker(rows: Rows, hosts: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prepare", str(rows(TINY)), "--provider", "podman", "--docker-hosts", hosts]) == 2
    assert "--docker-hosts is for --provider docker" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        prepare(rows(TINY), "a,a")
