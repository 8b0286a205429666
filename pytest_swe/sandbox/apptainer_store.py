"""The images that were built on this host for apptainer: files (or directories), each with a note of what it is.

<name>-<key>.sif         the image; ``key`` is made of its name and id, so that two versions stand side by side
<name>-<key>.sif.json    its names, id, digests and size; written last
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from filelock import FileLock, Timeout

from pytest_swe.sandbox.host.records import remove_tree

_NOTE = ".json"
#: Directories for work, and the file in each that is locked while somebody works there.
_BUILDING, _ALIVE = "building-", "alive"
_MIB = 1024 * 1024

#: The link to its image in the folder of a sandbox: by it is known what is in use.
IN_USE = "image"


@dataclass(frozen=True, slots=True)
class Kept:
    """A built image. ``id`` is the engine's of what it was made from, ``digests`` are ``name@sha256:...``."""

    path: Path
    names: tuple[str, ...]
    id: str = ""
    digests: tuple[str, ...] = ()
    mb: int = 0


class Store:
    """``directory`` is where images stand, ``sandboxes`` where each sandbox has a folder."""

    def __init__(self, directory: Path, *, sandboxes: Path, unpacked: bool) -> None:
        self.directory = directory
        self.unpacked = unpacked
        self._sandboxes = sandboxes

    def find(self, name: str, image_id: str = "") -> Kept | None:
        """The image of that id, by default the one that was built last."""
        found = [kept for kept in self.all() if name in kept.names and image_id in ("", kept.id)]
        return found[-1] if found else None

    def all(self) -> Iterator[Kept]:
        """What is there, in the order in which it was built."""
        notes = []
        for note in self.directory.glob(f"*{_NOTE}"):
            with suppress(FileNotFoundError):  # removed just now
                notes.append((note.stat().st_mtime_ns, note))
        for _, note in sorted(notes):
            with suppress(OSError, ValueError, KeyError, TypeError):
                data = json.loads(note.read_bytes())
                names, digests = (tuple(map(str, data[key])) for key in ("names", "digests"))
                path = note.with_name(note.name.removesuffix(_NOTE))
                if path.exists() and path.is_dir() == self.unpacked:
                    yield Kept(path, names, str(data["id"]), digests, int(data["mb"]))

    def place(self, name: str, image_id: str) -> Path:
        """Where the image of this name and id stands, or is to stand."""
        shown = name.rpartition("/")[2].replace(":", "_").replace("@", "_")
        key = hashlib.sha256(f"{name} {image_id}".encode()).hexdigest()[:16]
        return self.directory / f"{shown}-{key}{'' if self.unpacked else '.sif'}"

    def keep(self, name: str, image_id: str, digests: tuple[str, ...], made: Path) -> None:
        """Take ``made``, which is whole and on the same file system."""
        path = self.place(name, image_id)
        if not path.exists():
            made.rename(path)
        self._note(Kept(path, (name,), image_id, digests, _mb(path)))

    def tag(self, name: str, other: str) -> None:
        """Give an image one more name."""
        with self.locked():
            kept = self.find(name)
            if kept is not None and other not in kept.names:
                self._note(replace(kept, names=(*kept.names, other)))

    def use(self, path: Path, folder: Path) -> bool:
        """Note that the sandbox in ``folder`` uses an image; False when it was removed meanwhile."""
        with self.locked():
            if not path.exists():
                return False
            # By a name without the colon of a tag, which means something to apptainer.
            (folder / IN_USE).symlink_to(path)
            return True

    def remove(self, name: str) -> bool:
        """Every version of ``name``; whether it is gone: not while a sandbox uses one."""
        with self.locked():
            kept = [each for each in self.all() if name in each.names]
            used = {os.readlink(link) for link in self._sandboxes.glob(f"*/{IN_USE}")}
            if any(str(each.path) in used for each in kept):
                return False
            gone = [path for each in kept if (path := self._without(each, name)) is not None]
        for path in gone:
            remove_tree(path)
        return True

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A directory to build in, on the same file system; what killed builds left is removed first."""
        with self.locked():
            self._clear()
            folder = self.directory / f"{_BUILDING}{secrets.token_hex(8)}"
            folder.mkdir(mode=0o700)
            alive = FileLock(folder / _ALIVE)
            alive.acquire()
        try:
            yield folder
        finally:
            remove_tree(folder)
            alive.release()

    def locked(self) -> FileLock:
        """For what is done in no time."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return FileLock(self.directory / "lock")

    def _clear(self) -> None:
        """Remove the directories in which nobody works any more."""
        for folder in self.directory.glob(f"{_BUILDING}*"):
            try:
                with FileLock(folder / _ALIVE, timeout=0):
                    remove_tree(folder)
            except (OSError, Timeout):
                continue

    def _without(self, kept: Kept, name: str) -> Path | None:
        """Take a name away; with the last one the image, whose new place is returned."""
        names = tuple(each for each in kept.names if each != name)
        if names:
            self._note(replace(kept, names=names))
            return None
        gone = self.directory / f"{_BUILDING}{secrets.token_hex(8)}"  # should its removal be cut short
        kept.path.with_name(f"{kept.path.name}{_NOTE}").unlink(missing_ok=True)
        kept.path.rename(gone)
        return gone

    def _note(self, kept: Kept) -> None:
        note = kept.path.with_name(f"{kept.path.name}{_NOTE}")
        beside = note.with_name(f".{note.name}.{secrets.token_hex(4)}")
        data = asdict(kept)
        del data["path"]
        beside.write_text(json.dumps(data), encoding="utf-8")
        beside.replace(note)


def _mb(path: Path) -> int:
    """MiB on disk."""
    places = [path, *(Path(root, name) for root, _, names in os.walk(path) for name in names)]
    blocks = 0
    for place in places:
        with suppress(OSError):
            blocks += place.lstat().st_blocks
    return blocks * 512 // _MIB
