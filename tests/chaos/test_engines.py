"""An engine that goes away under a run, and containers that somebody else kills or removes."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from daemons import TINY, Daemon

from .accounting import nothing_is_lost, survived
from .conftest import ITEMS, MakeRoom
from .room import Room, wait_for

pytestmark = pytest.mark.docker

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    made = Daemon()
    try:
        made.start()
        made.load(TINY, programs=["bash", "git"])
        yield made
    finally:
        made.close()


@pytest.mark.dockerd
@pytest.mark.chaos
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
def test_the_engine_is_restarted(make_room: MakeRoom, daemon: Daemon, quiet: Lines, how: signal.Signals) -> None:
    room = make_room([TINY] * ITEMS, engine=daemon.address)
    room.start("-n2")
    room.wait_for_midst()
    daemon.stop(how)
    daemon.start()
    room.finish()
    # Nothing was anybody's fault but the engine's, and it came back in time.
    assert {line["status"] for line in room.lines()} == {"resolved", "unresolved"}, room.output
    survived(room, quiet)


@pytest.mark.dockerd
@pytest.mark.chaos
def test_the_engine_goes_for_good(make_room: MakeRoom, daemon: Daemon, quiet: Lines) -> None:
    """The next part of the run finds it again."""
    room = make_room([TINY] * ITEMS, engine=daemon.address)
    room.start("-n2")
    room.wait_for_midst()
    daemon.stop()
    room.finish()
    assert "engine_unavailable" in {line["reason"] for line in room.lines()}, room.output
    nothing_is_lost(room, exactly=True)
    daemon.start()
    # What the engine still had when it went, nobody could remove; the next part does.
    survived(room, quiet, ended_itself=False)


@pytest.mark.chaos
@pytest.mark.parametrize("harm", [("kill",), ("rm", "-f")], ids=["killed", "removed"])
def test_containers_go_while_others_list_them(room: Room, quiet: Lines, harm: tuple[str, ...]) -> None:
    ended = threading.Event()
    listing = threading.Thread(target=_list_all, args=(ended,))
    listing.start()
    try:
        room.start("-n2")
        room.wait_for_midst()
        for _ in range(3):
            wait_for(lambda: room.containers() or room.ended)
            room.docker(*harm, *room.containers()[:1])
        room.finish()
    finally:
        ended.set()
        listing.join()
    assert "error" not in {line["status"] for line in room.lines()}, room.output
    survived(room, quiet)


def _list_all(ended: threading.Event) -> None:
    while not ended.wait(0.1):
        subprocess.run(["docker", "ps", "-a", "--size"], capture_output=True)
