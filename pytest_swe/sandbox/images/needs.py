"""Images that queued items still want, told by each run to all others of this host: no one removes those."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from pytest_swe.sandbox.host.places import state_directory
from pytest_swe.sandbox.owner import owner_is_dead, owner_labels
from pytest_swe.whole import write_whole

#: Seconds after which what a run said counts no more, in case its owner cannot be told from another process.
SECONDS = 7 * 24 * 3600


class ImageNeeds:
    """What one run still wants. Kept by the process that sees items end."""

    def __init__(self, run_id: str, directory: Path | None = None) -> None:
        self._path = _directory(directory) / f"{run_id}.json"
        self._owner = owner_labels({}, seconds=SECONDS)
        self._wanted: Counter[str] = Counter()

    def want(self, images: Iterable[str]) -> None:
        """One item each."""
        self._wanted.update(images)
        self._write()

    def done(self, image: str) -> None:
        """An item with ``image`` has ended."""
        self._wanted[image] -= 1
        if self._wanted[image] <= 0:
            del self._wanted[image]
            self._write()

    def close(self) -> None:
        self._path.unlink(missing_ok=True)

    def _write(self) -> None:
        write_whole(self._path, json.dumps({"owner": self._owner, "images": sorted(self._wanted)}))


def wanted_images(directory: Path | None = None) -> frozenset[str]:
    """What living runs of this host still want; what dead ones left is removed."""
    found: set[str] = set()
    for path in _directory(directory).glob("*.json"):
        try:
            data = json.loads(path.read_bytes())
            images, dead = [str(image) for image in data["images"]], owner_is_dead(data["owner"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # gone between, or not ours
        if dead:
            with contextlib.suppress(OSError):
                path.unlink()
        else:
            found.update(images)
    return frozenset(found)


def _directory(directory: Path | None) -> Path:
    place = directory or state_directory() / "image-needs"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place
