"""Images of Podman, with a service of the tests' own whose registry is the proxy."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from registries import Proxy, proxy

from pytest_swe.__main__ import main
from pytest_swe.errors import ImageUnavailable
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import image_of
from pytest_swe.sandbox.images.mirrors import Mirrors
from pytest_swe.sandbox.images.pull import Puller, PullPolicy
from pytest_swe.sandbox.images.reference import parse
from pytest_swe.sandbox.podman import PodmanProvider

from .conftest import Publish, inspected, layer, saved, shell_layer
from .test_budget import large
from .test_prepare import Rows, own_state, rows, task_repository

__all__ = ["own_state", "rows"]

pytestmark = [pytest.mark.podman, pytest.mark.docker, pytest.mark.registry, pytest.mark.busybox]

SCRIPT = Path(__file__).parents[3] / ".ci" / "podman.sh"


@pytest.fixture(scope="module")
def standing(registry_port: int) -> Iterator[Proxy]:
    with proxy(registry_port) as made:
        yield made


@pytest.fixture
def front(standing: Proxy) -> Proxy:
    """One for all tests: the service knows it by its port."""
    standing.trouble = lambda request: None
    standing.seen.clear()
    return standing


@pytest.fixture(scope="module")
def service(standing: Proxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Podman without images, which speaks to the proxy without TLS."""
    place = tmp_path_factory.mktemp("podman")
    conf = place / "registries.conf"
    conf.write_text(f'[[registry]]\nlocation = "127.0.0.1:{standing.port}"\ninsecure = true\n')
    environment = {**os.environ, "CONTAINERS_REGISTRIES_CONF": str(conf)}
    command = ["bash", str(SCRIPT), "serve", str(place)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
    try:
        yield done.stdout.strip()
    finally:
        subprocess.run(["bash", str(SCRIPT), "stop", str(place)], timeout=120, check=True)


@pytest.fixture(autouse=True)
def used(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTAINER_HOST", service)


@pytest.fixture
def podman(service: str) -> Iterator[docker.APIClient]:
    """The service itself, behind the provider's back."""
    client = docker.APIClient(service, timeout=60)
    yield client
    client.close()


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def provider(tmp_path: Path, waits: list[float]) -> Iterator[Callable[..., PodmanProvider]]:
    made: list[PodmanProvider] = []

    def make(**policy: Any) -> PodmanProvider:
        settings = {"directory": tmp_path / "hosts", "wanted": frozenset, "sleep": waits.append, **policy}
        made.append(PodmanProvider(policy=PullPolicy(**settings)))
        return made[-1]

    yield make
    for each in made:
        each.close()


def puller_of(provider: PodmanProvider) -> Puller:
    [connect] = provider.images().values()
    return connect()


def test_an_image_comes_from_its_registry_with_its_digest(
    provider: Callable[..., PodmanProvider], publish: Publish, waits: list[float]
) -> None:
    # Podman starts no command where nobody is known.
    image, made = publish(shell_layer(), layer({"etc/passwd": b"root:x:0:0::/:/bin/sh\n"})), provider()
    sandbox = made.acquire(SandboxSpec(image=image, workdir="/", seconds=60), labels={"run": "images"})
    try:
        assert image_of(sandbox).digest == puller_of(made).registries.look(parse(image)).digest
        assert sandbox.exec(["true"], timeout=60).exit_code == 0
    finally:
        sandbox.close()
    assert waits == []


def test_a_registry_in_trouble_is_asked_again(
    provider: Callable[..., PodmanProvider], publish: Publish, front: Proxy, waits: list[float]
) -> None:
    image = publish(layer({"a": b"a"}))
    asked = iter(range(1000))
    front.trouble = lambda request: (503, {}) if "/manifests/" in request.path and next(asked) < 6 else None
    assert puller_of(provider(tries=8)).ready(image).fetched
    assert len(waits) < 7


def test_a_registry_that_limits_pulls_is_given_its_time(
    provider: Callable[..., PodmanProvider], publish: Publish, front: Proxy, waits: list[float]
) -> None:
    """Podman itself asks five times more, as fast as the registry allows; so that is no time at all here."""
    image = publish(layer({"a": b"a"}))
    front.trouble = lambda request: (
        (429, {"Retry-After": "0" if request.by_engine else "9"}) if "/manifests/" in request.path else None
    )
    with pytest.raises(ImageUnavailable, match="limits pulls"):
        puller_of(provider(tries=2)).ready(image)
    assert len(waits) == 1
    assert waits[0] >= 9


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_is_refused_is_asked_for_once(
    provider: Callable[..., PodmanProvider], front: Proxy, waits: list[float], status: int
) -> None:
    front.trouble = lambda request: (status, {}) if "/manifests/" in request.path else None
    made = puller_of(provider())
    with pytest.raises(ImageUnavailable):
        made.ready(f"127.0.0.1:{front.port}/not/there:1")
    assert waits == []


def test_a_mirror_gives_the_image_its_name(
    provider: Callable[..., PodmanProvider], publish: Publish, front: Proxy, podman: docker.APIClient
) -> None:
    image, place = publish(shell_layer()), f"127.0.0.1:{front.port}"
    own = image.replace(place, "registry.invalid")
    made = provider(mirrors=Mirrors.of([f"registry.invalid={place}"]))
    sandbox = made.acquire(SandboxSpec(image=own, workdir="/", seconds=60), labels={"run": "images"})
    sandbox.close()
    assert inspected(podman, own)["Id"] == inspected(podman, image)["Id"]


def test_everything_is_prepared_and_a_second_run_only_looks(
    rows: Rows, publish: Publish, front: Proxy, capsys: pytest.CaptureFixture[str]
) -> None:
    images = [publish(shell_layer()), publish(shell_layer())]
    missing = f"127.0.0.1:{front.port}/not/there:1"
    assert main(["prepare", str(rows(*images, missing)), "--provider", "podman", "-j", "2"]) == 1
    said = capsys.readouterr().out
    assert "3 images, 0 there, 3 to prepare" in said
    assert "free: " in said
    assert "2 of 3 images are there" in said
    assert f"missing: {missing} (for a__b-2): cannot pull" in said
    seen = len(front.seen)
    assert main(["prepare", str(rows(*images)), "--provider", "podman"]) == 0
    assert len(front.seen) == seen


def test_a_task_repository_is_built(tmp_path: Path, podman: docker.APIClient, engine: docker.APIClient) -> None:
    name = f"registry.invalid/built-{uuid.uuid4().hex}"
    podman.load_image(saved(f"{name}-shell:1", [shell_layer()], str(engine.version()["Arch"])))  # type: ignore[no-untyped-call]
    place = task_repository(tmp_path / "repo", f"{name}:1", f"{name}-base:1")
    assert main(["prepare", str(place), "--base", f"{name}-shell:1", "--provider", "podman"]) == 0
    assert "FROM_BASE=1" in inspected(podman, f"{name}:1")["Config"]["Env"]


def test_a_bundle_brings_the_same_images(
    rows: Rows, publish: Publish, tmp_path: Path, podman: docker.APIClient
) -> None:
    images = [publish(shell_layer()), publish(shell_layer())]
    data = rows(*images)
    assert main(["prepare", str(data), "--provider", "podman"]) == 0
    ids = [inspected(podman, image)["Id"] for image in images]
    assert main(["bundle", "export", str(data), str(tmp_path / "bundle"), "--provider", "podman"]) == 0
    assert json.loads((tmp_path / "bundle" / "bundle.json").read_text())["images"] == dict(
        zip(images, ids, strict=True)
    )
    for image in images:
        podman.remove_image(image)
    assert main(["bundle", "import", str(tmp_path / "bundle"), "--provider", "podman"]) == 0
    assert [inspected(podman, image)["Id"] for image in images] == ids


def test_layers_that_images_share_count_once_and_the_longest_unused_goes(
    provider: Callable[..., PodmanProvider], publish: Publish
) -> None:
    made = puller_of(provider())
    before = made.engine.used_mb()
    shared = large(16)
    old, used, new = publish(shared, large(16)), publish(shared, large(16)), publish(large(16))
    made.ready(old)
    made.ready(used)
    assert 48 <= made.engine.used_mb() - before <= 50
    for number, record in enumerate(sorted(made.host.records(), key=lambda record: record.image != old)):
        os.utime(made.host.path_of(record), (number, number))
    tight = puller_of(provider(budget_mb=before + 52))
    tight.ready(new)
    assert [made.engine.find(image) is not None for image in (old, used, new)][0::2] == [False, True]
    assert made.engine.used_mb() <= before + 52
