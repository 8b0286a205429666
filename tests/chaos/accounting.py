"""What must hold after a run that was harmed: the one place where it is said, for every case."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from .room import Room

ROOT = Path(__file__).parents[2]
#: What differs between two runs of the same items, on images that do the same.
VARYING = frozenset({"run_id", "worker", "seconds", "phases_ms", "started_at", "attempts", "logs"})
VARYING |= {"image", "image_digest", "fingerprint"}
#: Names of files that are there only while something is written.
UNFINISHED = ("*.tmp", "*unfinished*", ".*.tmp", ".workers", "building-*")


def survived(room: Room, quiet: list[dict[str, Any]], *, ended_itself: bool = True) -> None:
    """Every rule, of a run that has ended: harmed, then gone on with to the end.

    ``quiet``: the lines of a run of the same items that nobody disturbed. ``ended_itself``: the run could see to what
    it leaves; after a SIGKILL of all only the next part can.
    """
    nothing_is_lost(room, exactly=ended_itself)
    nothing_is_told(room)
    if ended_itself:
        nothing_is_left(room)
    status = room.resume()
    assert status == 1, room.output
    nothing_is_lost(room, exactly=True)
    assert _comparable(room.lines()) == _comparable(quiet), room.output
    assert json.loads((room.directory / "run.json").read_text())["did_not_run"] == []
    nothing_is_left(room)
    nothing_is_told(room)


def nothing_is_lost(room: Room, *, exactly: bool) -> None:
    """Every expected item has one line, or ``run.json`` says that it did not run; not both, if the run could say so."""
    lines = Counter(line["instance_id"] for line in room.lines())
    assert not [name for name, count in lines.items() if count > 1], room.output
    missing = set(json.loads((room.directory / "run.json").read_text())["did_not_run"])
    missing = {name.partition("@")[0] for name in missing}
    assert lines.keys() | missing == set(room.ids), room.output
    if exactly:
        assert not lines.keys() & missing, room.output
        assert ("did not run: " in room.output) == bool(missing), room.output


def nothing_is_left(room: Room) -> None:
    """No container, process, lock, reservation or unfinished file."""
    assert room.containers() == []
    assert room.processes() == []
    # xdist's base of temporary directories is pytest's own, and stays as it does in every run.
    assert [name for name in os.listdir(room.place / "tmp") if not name.startswith("pytest-of-")] == []
    trees = (room.results, room.place / "state", room.place / "cache")
    assert [path for tree in trees for path in tree.rglob("admission/*.json")] == []
    assert [path for tree in trees for name in UNFINISHED for path in tree.rglob(name)] == []
    assert [path for path in _files(room) if not _can_be_locked(path)] == []


def nothing_is_told(room: Room) -> None:
    """No secret in any file or on the terminal; no path of this host in what is handed on: lines, summary, logs."""
    for path in (*_files(room), room.place / "terminal"):
        text = path.read_bytes()
        for secret in (room.secret, room.login):
            assert secret.encode() not in text, path
    for path in _handed_on(room):
        text = path.read_bytes()
        for place in (room.place, room.results, ROOT, Path(sys.prefix), Path.home()):
            assert f"{place}/".encode() not in text, path


def _handed_on(room: Room) -> list[Path]:
    """All of a run's directory but ``run.json``, which says where its parts stand."""
    found = [path for path in room.directory.rglob("*") if path.is_file() and path.name != "run.json"]
    return [path for path in found if not path.is_symlink()]


def _files(room: Room) -> list[Path]:
    trees = (room.results, room.place / "state", room.place / "cache", room.place / "tmp")
    return [path for tree in trees for path in tree.rglob("*") if path.is_file()]


def _can_be_locked(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _comparable(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what varies; that files beside a line could not be written is no part of its verdict."""
    plain = [{key: value for key, value in line.items() if key not in VARYING} for line in lines]
    for line in plain:
        line["flags"] = [flag for flag in line["flags"] if flag != "logs_not_written"]
    return sorted(plain, key=lambda line: str(line["instance_id"]))
