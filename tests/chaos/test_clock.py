"""A wall clock that is stepped under a run: limits and deadlines do not notice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .accounting import survived
from .room import Room

pytestmark = [pytest.mark.docker, pytest.mark.faketime]

Lines = list[dict[str, Any]]


def library() -> str:
    (found,) = [*Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")]
    return str(found)


@pytest.mark.parametrize("step", ["+400d", pytest.param("-400d", marks=pytest.mark.chaos)])
def test_it_is_stepped(room: Room, quiet: Lines, step: str) -> None:
    clock = room.place / "clock"
    clock.write_text("+0\n")
    fake = {"LD_PRELOAD": library(), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1"}
    fake |= {"FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    room.start("-n2", env=fake)
    room.wait_for_midst()
    clock.write_text(f"{step}\n")
    # A sweep of somebody with the new time, while sandboxes of living owners stand.
    room.wait_for_midst()
    before = set(room.containers())
    sweep = [sys.executable, "-m", "pytest_swe", "sweep", "--provider", "docker"]
    subprocess.run(sweep, env={**room.env, **fake}, check=True, capture_output=True)
    assert before
    assert room.finish() == 1, room.output
    assert [line["attempts"] for line in room.lines()] == [[]] * len(room.ids), room.output
    assert "error" not in {line["status"] for line in room.lines()}
    assert all(0 <= line["seconds"] < 600 for line in room.lines())
    survived(room, quiet)
