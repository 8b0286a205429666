"""Files on no disk: those of a scripted sandbox. Regular files, directories, symlinks and modes, as in the contract."""

from __future__ import annotations

import io
import posixpath
import tarfile
import threading
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import BinaryIO

from pytest_swe.errors import SandboxFileError
from pytest_swe.sandbox.archive import rooted

#: Links that a path may go through, as Linux has it.
MOST_LINKS = 40


@dataclass(frozen=True, slots=True)
class Entry:
    """One file, directory or symlink: ``kind`` is the type of a member of a tar."""

    kind: bytes
    mode: int
    data: bytes = b""
    target: str = ""


class VirtualFiles(MutableMapping[str, bytes]):
    """Regular files by absolute path, as a mapping; what is more than that has a method.

    A symlink on the way is followed. Setting a file makes its parents. Raises SandboxFileError where a real one would
    fail; as a mapping, KeyError for what is no readable file.
    """

    def __init__(self, files: Mapping[str, bytes] | None = None) -> None:
        self._entries = {"/": Entry(tarfile.DIRTYPE, 0o755)}
        self._lock = threading.RLock()
        self.update(files or {})

    def __getitem__(self, path: str) -> bytes:
        try:
            return self.read(path)
        except SandboxFileError:
            raise KeyError(path) from None

    def __setitem__(self, path: str, data: bytes) -> None:
        with self._lock:
            place = self._real(path, path)
            there = self._entries.get(place)
            if there is not None and there.kind == tarfile.DIRTYPE:
                raise SandboxFileError(f"{path}: is a directory", path=path)
            self._make_parents(place, path)
            self._entries[place] = Entry(tarfile.REGTYPE, there.mode if there else 0o644, data)

    def __delitem__(self, path: str) -> None:
        with self._lock:
            place = self._name(path)
            if self._entries[place].kind == tarfile.DIRTYPE:
                raise KeyError(path)
            del self._entries[place]

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            return iter(sorted(name for name, entry in self._entries.items() if entry.kind == tarfile.REGTYPE))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def read(self, path: str) -> bytes:
        """The bytes of a regular file. Raises SandboxFileError for a path that is missing or is no file."""
        with self._lock:
            found = self._entries.get(self._real(path, path))
        if found is None:
            raise SandboxFileError(f"{path}: no such file", path=path)
        if found.kind == tarfile.DIRTYPE:
            raise SandboxFileError(f"{path}: is a directory", path=path)
        return found.data

    def make_directory(self, path: str) -> None:
        """A directory, parents made as needed; it may be there."""
        with self._lock:
            self._make_parents(posixpath.join(self._real(path, path), "below"), path)

    def remove(self, path: str) -> None:
        """Forget ``path`` with all that is below it; it need not be there."""
        with self._lock:
            top = self._name(path)
            for name in [name for name in self._entries if _is_below(name, top) and name != "/"]:
                del self._entries[name]

    def unpack(self, tar: BinaryIO, path: str) -> None:
        """A tar, below the directory ``path``, which is made; a link that is there already is not followed out of it.

        Raises SandboxFileError for what is no tar, and for what would be written outside ``path``.
        """
        moved, _ = rooted(tar, path)
        with moved, tarfile.open(fileobj=moved, mode="r|") as members, self._lock:
            top = self._real(path, path)
            self.make_directory(path)
            for member in members:
                place = self._name(f"/{member.name}")
                if not _is_below(place, top):
                    raise SandboxFileError(f"refused: {member.name!r} is outside the target directory", path=path)
                self._make_parents(place, path)
                content = members.extractfile(member) if member.isreg() else None
                self._place(place, self._entry(member, content.read() if content else b"", path), path)

    def pack(self, path: str) -> bytes:
        """``path`` with all that is below it, as a tar whose members start with its base name."""
        with self._lock:
            top = self._name(path)
            if top not in self._entries:
                raise SandboxFileError(f"{path}: no such file", path=path)
            found = sorted((name, entry) for name, entry in self._entries.items() if _is_below(name, top))
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for name, entry in found:
                member = tarfile.TarInfo(posixpath.basename(top) + name[len(top.rstrip("/")) :])
                member.type, member.mode, member.linkname = entry.kind, entry.mode, entry.target
                member.size = len(entry.data)
                tar.addfile(member, io.BytesIO(entry.data))
        return packed.getvalue()

    def _entry(self, member: tarfile.TarInfo, data: bytes, path: str) -> Entry:
        """What a member becomes; a hard link becomes a copy of what it names."""
        if member.islnk():
            named = self._entries.get(self._name(f"/{member.linkname}"))
            if named is None or named.kind == tarfile.DIRTYPE:
                raise SandboxFileError(f"{member.name!r} links to nothing", path=path)
            return named
        kind = member.type if member.isdir() or member.issym() else tarfile.REGTYPE
        return Entry(kind, member.mode & 0o7777, data, member.linkname)

    def _place(self, place: str, entry: Entry, path: str) -> None:
        there = self._entries.get(place)
        if there is not None and (there.kind == tarfile.DIRTYPE) != (entry.kind == tarfile.DIRTYPE):
            raise SandboxFileError(f"{place}: a directory and something else cannot have one name", path=path)
        self._entries[place] = entry

    def _make_parents(self, place: str, path: str) -> None:
        """The directories above the real path ``place``."""
        parent = posixpath.dirname(place)
        there = self._entries.get(parent)
        if there is None:
            self._make_parents(parent, path)
            self._entries[parent] = Entry(tarfile.DIRTYPE, 0o755)
        elif there.kind != tarfile.DIRTYPE:
            raise SandboxFileError(f"{path}: {parent} is no directory", path=path)

    def _name(self, path: str) -> str:
        """The real path of a name that may itself be a link."""
        parent, name = posixpath.split(posixpath.normpath(posixpath.join("/", path)))
        return posixpath.join(self._real(parent, path), name)

    def _real(self, path: str, asked: str) -> str:
        """``path`` without links, as far as it is there."""
        done, left, links = "/", _words(path), 0
        while left:
            word = left.pop(0)
            if word == "..":
                done = posixpath.dirname(done)
                continue
            step = posixpath.join(done, word)
            found = self._entries.get(step)
            if found is None or found.kind != tarfile.SYMTYPE:
                if found is not None and found.kind == tarfile.REGTYPE and left:
                    raise SandboxFileError(f"{asked}: {step} is no directory", path=asked)
                done = step
                continue
            links += 1
            if links > MOST_LINKS:
                raise SandboxFileError(f"{asked}: too many links", path=asked)
            left = [*_words(found.target), *left]
            done = "/" if found.target.startswith("/") else done
        return done


def _words(path: str) -> list[str]:
    return [word for word in path.split("/") if word not in ("", ".")]


def _is_below(name: str, top: str) -> bool:
    return name == top or name.startswith(top.rstrip("/") + "/")
