"""What stands on this host, on disk: a directory and a record of its labels per sandbox, so that a sweep finds it."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pytest_swe.sandbox.host.processes import kill_marked

_SUFFIX = ".json"


class Records:
    """The sandboxes of one kind below ``directory``. A directory is only ever removed by the id of its record.

    ``end`` ends what runs in one, from its id and directory; by default what is marked with its id.
    """

    def __init__(self, directory: Path, *, kind: str = "local", end: Callable[[str, Path], None] | None = None) -> None:
        self._directory = directory
        self._prefix = f"swe-{kind}-"
        self._end = end or (lambda sandbox_id, folder: kill_marked(f"{sandbox_id}."))

    def add(self, labels: Mapping[str, str]) -> tuple[str, Path]:
        """A new id and its private, empty directory. The record is there first: nothing can be left without one."""
        sandbox_id = f"{self._prefix}{secrets.token_hex(6)}"
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = self._directory / f".{sandbox_id}"
        unfinished.write_text(json.dumps({"labels": dict(labels)}))
        os.replace(unfinished, self._record(sandbox_id))
        folder = self._folder(sandbox_id)
        folder.mkdir(mode=0o700)
        return sandbox_id, folder

    def all(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Ids and labels of what stands. What is no record of ours is passed over."""
        for path in sorted(self._directory.glob(f"{self._prefix}*{_SUFFIX}")):
            try:
                labels = json.loads(path.read_bytes())["labels"]
            except (OSError, ValueError, KeyError, TypeError):
                continue
            if isinstance(labels, dict):
                yield path.stem, labels

    def remove(self, sandbox_id: str) -> bool:
        """Kill what runs in it, remove its directory, then its record; whether nothing is left. Never raises."""
        folder = self._folder(sandbox_id)
        self._end(sandbox_id, folder)
        if not remove_tree(folder):
            return False
        try:
            self._record(sandbox_id).unlink(missing_ok=True)
        except OSError:
            return False
        return True

    def _record(self, sandbox_id: str) -> Path:
        return self._directory / f"{sandbox_id}{_SUFFIX}"

    def _folder(self, sandbox_id: str) -> Path:
        return self._directory / sandbox_id


def remove_tree(folder: Path) -> bool:
    """Remove a directory, also one with read-only directories or a thousand levels in it (rm needs no recursion)."""
    for open_up in (False, True):
        if open_up:
            _quietly("chmod", "-R", "u+rwX", "--", str(folder))
        _quietly("rm", "-rf", "--", str(folder))
        if not os.path.lexists(folder):
            return True
    return False


def _quietly(*command: str) -> None:
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
