"""Pulls from a real registry, through a proxy that answers badly."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import docker
import pytest
from registries import Proxy, Request, Trouble

from pytest_swe.errors import ImageUnavailable
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import ImageFacts, image_of
from pytest_swe.sandbox.images.mirrors import Mirrors
from pytest_swe.sandbox.images.reference import parse

from .conftest import Client, MakeClient, Publish, inspected, layer, shell_layer

pytestmark = [pytest.mark.docker, pytest.mark.registry, pytest.mark.busybox]


def first(times: int, answer: tuple[int, dict[str, str]] | str, *, of: str = "/manifests/") -> Trouble:
    """Trouble for so many requests of the engine for ``of``; our own client sees what the engine saw last."""
    seen = [0]

    def trouble(request: Request) -> tuple[int, dict[str, str]] | str | None:
        if of not in request.path or ("sha256:" in request.path and of == "/manifests/"):
            return None
        seen[0] += request.by_engine and (of != "/manifests/" or request.method == "HEAD")
        return answer if seen[0] <= times else None

    return trouble


def test_an_image_comes_with_its_digest(client: MakeClient, publish: Publish, front: Proxy) -> None:
    image = publish(shell_layer())
    made = client()
    sandbox = made.provider.acquire(SandboxSpec(image=image, workdir="/", seconds=60), labels={"run": "images"})
    try:
        facts = image_of(sandbox)
        assert facts.digest == made.images.registries.look(parse(image)).digest
        assert facts.digest.startswith("sha256:")
        assert facts.seconds > 0
    finally:
        sandbox.close()
    again = made.provider.acquire(SandboxSpec(image=image, workdir="/", seconds=60), labels={"run": "images"})
    again.close()
    assert image_of(again) == ImageFacts(facts.digest, 0.0)
    assert front.pulls == 1
    assert made.waits == []


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_registry_in_trouble_is_asked_again(client: MakeClient, publish: Publish, front: Proxy, status: int) -> None:
    image = publish(layer({"a": b"a"}))
    front.trouble = first(2, (status, {}))
    made = client()
    assert made.images.ready(image).pulled
    assert front.pulls == 3
    assert len(made.waits) == 2


def test_a_reset_is_asked_again(client: MakeClient, publish: Publish, front: Proxy) -> None:
    image = publish(layer({"a": b"a"}))
    front.trouble = first(2, "reset")
    made = client()
    assert made.images.ready(image).pulled
    assert len(made.waits) >= 1  # the engine asks again by itself, too


def test_a_reset_in_a_blob_is_asked_again(client: MakeClient, publish: Publish, front: Proxy) -> None:
    image = publish(layer({"a": b"a"}))
    front.trouble = first(1, "reset", of="/blobs/")
    assert client().images.ready(image).pulled


def test_a_hang_is_cut_and_asked_again(client: MakeClient, publish: Publish, front: Proxy) -> None:
    image = publish(layer({"a": b"a"}))
    front.trouble = lambda request: "hang" if request.by_engine and len(front.seen) < 3 else None
    made = client(silence=1.0)
    assert made.images.ready(image).pulled
    assert len(made.waits) >= 1


def test_a_hang_without_end_is_an_error(client: MakeClient, publish: Publish, front: Proxy) -> None:
    image = publish(layer({"a": b"a"}))
    front.trouble = lambda request: "hang" if request.by_engine else None
    with pytest.raises(ImageUnavailable, match="nothing came"):
        client(silence=0.5, tries=2).images.ready(image)


def in_ninety_seconds() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)


@pytest.mark.parametrize(("said", "least"), [(lambda: "7", 7.0), (in_ninety_seconds, 60.0)], ids=["seconds", "date"])
def test_a_registry_is_given_the_time_it_asks_for(
    client: MakeClient, publish: Publish, front: Proxy, said: Callable[[], str], least: float
) -> None:
    image = publish(layer({"a": b"a"}))
    front.trouble = lambda request: (429, {"Retry-After": said()}) if "/manifests/" in request.path else None
    made = client(tries=2)
    with pytest.raises(ImageUnavailable, match="limits pulls"):
        made.images.ready(image)
    assert len(made.waits) == 1
    assert made.waits[0] >= least
    # While it is held off nobody asks it: the second round did not reach it either.
    assert front.pulls == 1


def test_after_the_wait_the_pull_goes_on(client: MakeClient, publish: Publish, front: Proxy) -> None:
    image = publish(layer({"a": b"a"}))
    front.trouble = lambda request: (
        (429, {"Retry-After": "0"}) if "/manifests/" in request.path and front.pulls <= 1 else None
    )
    made = client()
    assert made.images.ready(image).pulled
    assert front.pulls == 2


def test_a_wait_that_is_too_long_is_told_at_once(client: MakeClient, publish: Publish, front: Proxy) -> None:
    image = publish(layer({"a": b"a"}))
    front.trouble = lambda request: (429, {"Retry-After": "21600"})
    made = client()
    with pytest.raises(ImageUnavailable, match="limits pulls"):
        made.images.ready(image)
    assert made.waits == []


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_is_refused_is_asked_for_once(client: MakeClient, front: Proxy, status: int) -> None:
    front.trouble = lambda request: (status, {}) if "/manifests/" in request.path else None
    made = client()
    image = f"127.0.0.1:{front.port}/not/there:1"
    for _ in range(2):
        with pytest.raises(ImageUnavailable):
            made.images.ready(image)
    assert front.pulls == 1
    assert made.waits == []


def test_a_mirror_is_asked_first_and_gives_the_name(
    client: MakeClient, publish: Publish, front: Proxy, engine: docker.APIClient
) -> None:
    image = publish(shell_layer())
    own = image.replace(f"127.0.0.1:{front.port}", "registry.invalid/somebody")
    made = client(mirrors=Mirrors.of([f"registry.invalid/somebody=127.0.0.1:{front.port}"]))
    try:
        sandbox = made.provider.acquire(SandboxSpec(image=own, workdir="/", seconds=60), labels={"run": "images"})
        sandbox.close()
        assert image_of(sandbox).digest.startswith("sha256:")
        assert inspected(engine, own)["Id"] == inspected(engine, image)["Id"]
    finally:
        engine.remove_image(own, force=True)


def test_a_mirror_that_has_it_not_leads_to_the_next(client: MakeClient, publish: Publish, front: Proxy) -> None:
    image = publish(layer({"a": b"a"}))
    place = f"127.0.0.1:{front.port}"
    front.trouble = lambda request: (500, {}) if "/v2/broken/" in request.path else None
    made = client(mirrors=Mirrors.of([f"{place}={place}/empty", f"{place}={place}/broken"]))
    assert made.images.ready(image).name == image
    asked = [r.path.split("/")[2] for r in front.seen if "/manifests/" in r.path and r.by_engine]
    assert [name for name, _ in itertools.groupby(asked)][:2] == ["empty", "broken"]
    assert made.waits == []  # another name is no reason to wait


PULL = """
import sys
from pathlib import Path
from pytest_swe.errors import ImageUnavailable
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.images.pull import PullPolicy
provider = DockerProvider(policy=PullPolicy(directory=Path(sys.argv[1]), pulls=int(sys.argv[2]), tries=1))
[images] = [connect() for connect in provider.images().values()]
sys.stdin.readline()
for image in sys.argv[3:]:
    try:
        print("pulled" if images.ready(image).pulled else "there")
    except ImageUnavailable as error:
        print("unavailable")
provider.close()
"""


def at_once(count: int, place: Path, pulls: int, images: list[list[str]]) -> list[str]:
    """What so many processes say, which ask at the same time."""
    command = [sys.executable, "-c", PULL, str(place), str(pulls)]
    started = [
        subprocess.Popen([*command, *images[n % len(images)]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for n in range(count)
    ]
    for process in started:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    return [line for process in started for line in process.communicate(timeout=120)[0].split()]


def test_processes_of_a_host_pull_once(publish: Publish, front: Proxy, tmp_path: Path) -> None:
    image = publish(layer({"a": b"a" * 100_000}))
    said = at_once(4, tmp_path, 3, [[image]])
    assert sorted(said) == ["pulled", "there", "there", "there"]
    assert front.pulls == 1
    assert len(front.blobs) == len(set(front.blobs))


def test_who_waits_for_a_pull_that_fails_does_not_ask_again(client: MakeClient, front: Proxy) -> None:
    begun = threading.Barrier(4)

    def trouble(request: Request) -> tuple[int, dict[str, str]] | None:
        if "/manifests/" not in request.path:
            return None
        threading.Event().wait(1.0)  # in which all have come
        return 404, {}

    def ask(made: Client) -> str:
        begun.wait(60)
        with pytest.raises(ImageUnavailable) as raised:
            made.images.ready(f"127.0.0.1:{front.port}/not/there:1")
        return str(raised.value)

    front.trouble = trouble
    clients = [client() for _ in range(4)]  # each remembers for itself, as processes do
    for made in clients:
        assert made.images.held("not/there:1") is None  # connected
    with ThreadPoolExecutor(4) as pool:
        said = set(pool.map(ask, clients))
    assert len(said) == 1
    assert front.pulls == 1


def test_only_so_many_pulls_at_a_time(publish: Publish, front: Proxy, tmp_path: Path) -> None:
    images = [publish(layer({"a": b"a"})) for _ in range(4)]
    # Which images the registry was asked for, in order: with one place they do not mix.
    said = at_once(4, tmp_path, 1, [[image] for image in images])
    assert said == ["pulled"] * 4
    order = [request.path.split("/")[2] for request in front.seen if request.path.count("/") > 3 and request.by_engine]
    assert len([name for name, _ in itertools.groupby(order)]) == 4
