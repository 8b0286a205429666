"""Three hundred items, and harm of every kind at random moments: in the end the file is that of a quiet run."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .accounting import nothing_is_lost, survived
from .conftest import MakeRoom, quiet_lines
from .room import Room

pytestmark = [pytest.mark.docker, pytest.mark.chaos]

ITEMS = 300
#: Seconds between two harms, at most.
PAUSE = 8.0
SEED = int(os.environ.get("PYTEST_SWE_CHAOS_SEED", "1"))


def kill_worker(room: Room, dice: random.Random) -> None:
    with contextlib.suppress(ProcessLookupError, IndexError, ValueError, OSError):
        os.kill(dice.choice(room.workers()), signal.SIGKILL)


def kill_container(room: Room, dice: random.Random) -> None:
    if found := room.containers():
        room.docker("kill", dice.choice(found))


def remove_container(room: Room, dice: random.Random) -> None:
    if found := room.containers():
        room.docker("rm", "-f", dice.choice(found))


def end_softly(room: Room, dice: random.Random) -> None:
    assert room.process is not None
    room.process.send_signal(dice.choice([signal.SIGINT, signal.SIGTERM]))


def kill_controller(room: Room, dice: random.Random) -> None:
    assert room.process is not None
    room.process.kill()


def kill_all(room: Room, dice: random.Random) -> None:
    with contextlib.suppress(ProcessLookupError):
        room.kill_all()


Harm = Callable[[Room, random.Random], None]
#: What a run goes on after, and what ends it.
SMALL: list[Harm] = [kill_worker, kill_container, remove_container, remove_container]
LARGE: list[Harm] = [end_softly, kill_controller, kill_all]
#: Ends of a run, then it is left alone with small harm.
ENDS = 6


def test_three_hundred_items(make_room: MakeRoom, image: str, tmp_path: Path) -> None:
    dice = random.Random(SEED)
    images = [image] * ITEMS
    quiet = quiet_lines(tmp_path, images, seconds=0.1)
    room = make_room(images, seconds=0.1)
    for part in range(ENDS + 1):
        before = room.part
        room.start("-n2", "--swe-resume")
        room.wait_for_midst()
        last_harm = None
        while not room.ended and last_harm not in LARGE:
            time.sleep(dice.uniform(0, PAUSE))
            last_harm = dice.choice(SMALL if part == ENDS or dice.random() < 0.7 else LARGE)
            last_harm(room, dice)
        softly = last_harm in (end_softly, *SMALL)
        room.finish()
        # One that was ended before it had its plan has left all as the part before it did.
        nothing_is_lost(room, exactly=softly and room.part != before)
    survived(room, quiet)
