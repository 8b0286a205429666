"""A directory of results that cannot be written to any more."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .accounting import nothing_is_left, nothing_is_told, survived
from .conftest import ITEMS, MakeRoom
from .room import Room

pytestmark = [pytest.mark.docker, pytest.mark.mounts]

Lines = list[dict[str, Any]]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    mount("-t", "tmpfs", "-o", "size=16m", "tmpfs", place)
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(place: Path) -> None:
    with contextlib.suppress(OSError), (place / "filler").open("wb", buffering=0) as file:
        while file.write(b"\0" * 4096):
            pass


def mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True)


@pytest.mark.parametrize("shape", ["-n2", pytest.param("-n0", marks=pytest.mark.chaos)])
def test_the_disk_is_full(make_room: MakeRoom, image: str, small: Path, quiet: Lines, shape: str) -> None:
    room = make_room([image] * ITEMS, results=small / "results")
    room.start(shape)
    room.wait_for_midst()
    fill(small)
    assert room.finish() == pytest.ExitCode.INTERNAL_ERROR, room.output
    said_once(room, "No space left on device")
    nothing_is_left(room)
    (small / "filler").unlink()
    survived(room, quiet, ended_itself=False)


@pytest.mark.chaos
def test_the_place_becomes_read_only(room: Room, quiet: Lines) -> None:
    """What is open stays open; what is to be made cannot be: logs and the summary.

    Something read-only is laid over it, because no mount can be made read-only while a file in it is being written.
    """
    room.start("-n2")
    room.wait_for_midst()
    mount("-t", "tmpfs", "-o", "ro", "tmpfs", room.directory)
    try:
        room.finish()
        assert "Read-only file system" in room.output
        assert "Traceback" not in room.output
    finally:
        subprocess.run(["umount", "--lazy", str(room.directory)], check=True)
    assert len(room.lines()) == len(room.ids)
    survived(room, quiet, ended_itself=False)


def test_a_place_that_is_read_only_from_the_start(make_room: MakeRoom, image: str, small: Path) -> None:
    mount("-o", "remount,ro", small)
    room = make_room([image] * ITEMS, results=small / "results")
    assert room.run("-n2") == pytest.ExitCode.USAGE_ERROR, room.output
    assert "Read-only file system" in room.output
    assert "name a place that can be written" in room.output
    nothing_is_left(room)


@pytest.mark.chaos
@pytest.mark.parametrize("what", ["the file", "the run's directory", "all results"])
def test_it_is_removed(room: Room, quiet: Lines, what: str) -> None:
    room.start("-n2")
    room.wait_for_midst()
    remove: dict[str, Callable[[], object]] = {
        "the file": room.rewards.unlink,
        "the run's directory": lambda: shutil.rmtree(room.directory, ignore_errors=True),
        "all results": lambda: shutil.rmtree(room.results, ignore_errors=True),
    }
    remove[what]()
    assert room.finish() == 1, room.output
    survived(room, quiet)


def said_once(room: Room, words: str) -> None:
    """And what did not run, though ``run.json`` cannot say it."""
    assert words in room.output
    missing = len(room.ids) - len(room.lines())
    assert not missing or f"did not run: {missing} (" in room.output
    assert "Traceback" not in room.output
    nothing_is_told(room)
