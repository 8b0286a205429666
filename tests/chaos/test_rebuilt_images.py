"""An image that is another now, under the name that it had in an earlier part of a run."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Callable, Iterator

import pytest

from .conftest import MakeRoom
from .room import Room

pytestmark = pytest.mark.docker

Tag = Callable[[str], None]
FIRST, SECOND = (f"pytest-swe/quickstart.pytest-swe__spans-{number}:1" for number in (1, 2))


@pytest.fixture
def name(image: str) -> Iterator[str]:
    found = f"pytest-swe/chaos-{secrets.token_hex(6)}:1"
    yield found
    subprocess.run(["docker", "rmi", found], capture_output=True)


def build(name: str, image: str) -> str:
    """Let ``name`` be ``image``; returns its digest as a line has it."""
    subprocess.run(["docker", "tag", image, name], check=True)
    command = ["docker", "image", "inspect", "-f", "{{.Id}}", name]
    return "local:" + subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def digests(room: Room) -> list[str]:
    return [line["image_digest"] for line in room.lines()]


@pytest.mark.parametrize("shape", ["-n2", pytest.param("-n0", marks=pytest.mark.chaos)])
def test_answers_of_another_image_are_none(make_room: MakeRoom, name: str, shape: str) -> None:
    room = make_room([name] * 2, seconds=0)
    before = build(name, FIRST)
    assert room.run(shape) == 1, room.output
    first = room.lines()
    assert digests(room) == [before] * 2

    assert room.run(shape, "--swe-resume") == 1
    assert "resumed: 2 of these lines" in room.output
    assert room.lines() == first

    after = build(name, SECOND)
    assert room.run(shape, "--swe-resume") == 1
    assert "evaluated again: 2 answers were of an image that is another now" in room.output
    assert digests(room) == [after] * 2

    # What is not there cannot be compared: a row whose image was removed since is no reason to fetch it.
    second = room.lines()
    subprocess.run(["docker", "rmi", name], check=True, capture_output=True)
    assert room.run(shape, "--swe-resume") == 1
    assert room.lines() == second


@pytest.mark.chaos
def test_a_cache_does_not_answer_for_another_image(make_room: MakeRoom, name: str) -> None:
    room = make_room([name], seconds=0)
    build(name, FIRST)
    assert room.run("-n0", "--swe-cache", "answers") == 0, room.output
    room.run_id += "-again"
    assert room.run("-n0", "--swe-cache", "answers") == 0
    assert [line["flags"] for line in room.lines()] == [["cached"]]
    after = build(name, SECOND)
    for flags in ([], ["cached"]):
        room.run_id += "-again"
        assert room.run("-n0", "--swe-cache", "answers") == 0
        assert digests(room) == [after]
        assert [line["flags"] for line in room.lines()] == [flags]
