"""What every case of chaos starts from: a room, and the lines of a run that nobody disturbs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .room import Room

#: Items of a short case: each kind of candidate, and enough to be in the midst of.
ITEMS = 7
ROOT = Path(__file__).parents[2]

MakeRoom = Callable[..., Room]


@pytest.fixture
def make_room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeRoom]:
    made: list[Room] = []

    def make(images: list[str], **options: Any) -> Room:
        made.append(Room(tmp_path_factory.mktemp("room"), images, **options))
        return made[-1]

    yield make
    for room in made:
        room.close()


@pytest.fixture(scope="session")
def image(test_image: str) -> str:
    """One of the quickstart's images: it has a work tree."""
    command = [sys.executable, str(ROOT / "datasets" / "quickstart" / "build.py"), "--base", test_image]
    subprocess.run(command, check=True, capture_output=True)
    return "pytest-swe/quickstart.pytest-swe__spans-1:1"


@pytest.fixture
def room(make_room: MakeRoom, image: str) -> Room:
    """A room of `ITEMS` rows on the usual engine."""
    return make_room([image] * ITEMS)


@pytest.fixture(scope="session")
def quiet(tmp_path_factory: pytest.TempPathFactory, image: str) -> list[dict[str, Any]]:
    """The lines of a quiet run of these rows."""
    return quiet_lines(tmp_path_factory.mktemp("quiet"), [image] * ITEMS)


def quiet_lines(place: Path, images: list[str], **options: Any) -> list[dict[str, Any]]:
    room = Room(place, images, **options)
    try:
        assert room.run("-n2") == 1, room.output
        assert [line["status"] for line in room.lines() if line["status"] == "error"] == []
        return room.lines()
    finally:
        room.close()
