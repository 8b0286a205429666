"""Processes of a run that are killed or told to end."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from .accounting import survived
from .room import Room

pytestmark = pytest.mark.docker

Lines = list[dict[str, Any]]


def test_a_worker_is_killed(room: Room, quiet: Lines) -> None:
    room.start("-n2")
    room.wait_for_midst()
    os.kill(room.workers()[0], signal.SIGKILL)
    room.finish()
    assert [line["reason"] for line in room.lines() if line["status"] == "error"] == ["worker_crashed"]
    survived(room, quiet)


@pytest.mark.chaos
def test_the_controller_is_killed(room: Room, quiet: Lines) -> None:
    room.start("-n2")
    room.wait_for_midst()
    assert room.process is not None
    room.process.kill()
    room.finish()
    survived(room, quiet, ended_itself=False)


def test_everything_is_killed(room: Room, quiet: Lines) -> None:
    room.start("-n2")
    room.wait_for_midst()
    room.kill_all()
    room.finish()
    survived(room, quiet, ended_itself=False)


@pytest.mark.parametrize(
    ("how", "shape"),
    [
        pytest.param(signal.SIGTERM, "-n2", id="SIGTERM -n2"),
        pytest.param(signal.SIGTERM, "-n0", id="SIGTERM -n0", marks=pytest.mark.chaos),
        pytest.param(signal.SIGINT, "-n2", id="SIGINT -n2", marks=pytest.mark.chaos),
        pytest.param(signal.SIGINT, "-n0", id="SIGINT -n0", marks=pytest.mark.chaos),
    ],
)
def test_the_controller_is_told_to_end(room: Room, quiet: Lines, how: signal.Signals, shape: str) -> None:
    room.start(shape)
    room.wait_for_midst()
    assert room.process is not None
    room.process.send_signal(how)
    assert room.finish() == pytest.ExitCode.INTERRUPTED, room.output
    assert f"--swe-resume --swe-run-id {room.run_id}" in room.output
    survived(room, quiet)


@pytest.mark.parametrize("shape", ["-n2", pytest.param("-n0", marks=pytest.mark.chaos)])
def test_ctrl_c_twice(room: Room, quiet: Lines, shape: str) -> None:
    """As a terminal sends it: to every process of the group, and again before the first has done its work."""
    room.start(shape)
    room.wait_for_midst()
    assert room.process is not None
    for _ in range(2):
        os.killpg(room.process.pid, signal.SIGINT)
    assert room.finish() == pytest.ExitCode.INTERRUPTED, room.output
    survived(room, quiet)
