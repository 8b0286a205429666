"""A registry that answers badly while a run fetches its images from it."""

from __future__ import annotations

import secrets
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from daemons import busybox_image
from registries import Proxy, Request, proxy, registry

from .accounting import survived
from .conftest import ITEMS, MakeRoom

pytestmark = [pytest.mark.docker, pytest.mark.registry, pytest.mark.busybox, pytest.mark.chaos]

Lines = list[dict[str, Any]]
Answer = tuple[int, dict[str, str]] | str


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Proxy]:
    with registry(tmp_path) as port, proxy(port) as made:
        yield made


@pytest.fixture
def images(front: Proxy) -> Iterator[list[str]]:
    """One image for each item, all of one layer, in the registry and not in the engine."""
    names = [f"chaos-{secrets.token_hex(6)}:1" for _ in range(ITEMS)]
    direct = [f"127.0.0.1:{front.registry_port}/{name}" for name in names]
    docker("import", "-", direct[0], stdin=busybox_image(["bash", "git"]))
    for name in direct[1:]:
        docker("tag", direct[0], name)
    for name in direct:
        docker("push", "-q", name)
    docker("rmi", *direct)
    found = [f"127.0.0.1:{front.port}/{name}" for name in names]
    yield found
    subprocess.run(["docker", "rmi", "-f", *found], capture_output=True)


def docker(*command: str, stdin: bytes = b"") -> None:
    subprocess.run(["docker", *command], input=stdin, check=True, capture_output=True)


FAULTS: dict[str, Answer] = {"429": (429, {"Retry-After": "1"}), "500": (500, {}), "reset": "reset"}


@pytest.mark.parametrize(
    "faults",
    [[*FAULTS.values()], *([fault] for fault in FAULTS.values()), ["hang"]],
    ids=["in turns", *FAULTS, "hang"],
)
def test_it_answers_badly_now_and_then(
    make_room: MakeRoom, front: Proxy, images: list[str], quiet: Lines, faults: list[Answer]
) -> None:
    """The first two requests for the manifest of every second image."""
    asked: Counter[str] = Counter()

    def trouble(request: Request) -> Answer | None:
        if "/manifests/" not in request.path or not request.by_engine:
            return None
        asked[request.path] += 1
        odd = list(asked).index(request.path) % 2
        return faults[(len(asked) + asked[request.path]) % len(faults)] if odd and asked[request.path] <= 2 else None

    front.trouble = trouble
    room = make_room(images)
    # A request that hangs does so for a minute, and the engine asks again by itself.
    assert room.run("-n2", patience=900) == 1, room.output
    assert "error" not in {line["status"] for line in room.lines()}, room.output
    assert max(asked.values()) > 2
    survived(room, quiet)


def test_it_is_gone_until_the_next_part(make_room: MakeRoom, front: Proxy, images: list[str], quiet: Lines) -> None:
    front.trouble = lambda request: (500, {})
    room = make_room(images)
    assert room.run("-n2") == 1, room.output
    assert {line["reason"] for line in room.lines() if line["status"] == "error"} == {"image_unavailable"}
    front.trouble = lambda request: None
    survived(room, quiet)
