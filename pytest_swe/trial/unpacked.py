"""Directories that come out of containers, as plain bytes: bounded, and nothing in them is followed or executed."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping

from pytest_swe.harbor.rewards import Kind
from pytest_swe.report.keeping import Keeping

#: Of one directory.
MOST_BYTES = 64 * 1024 * 1024
MOST_FILES = 10_000

#: By path below the directory: the content of a regular file, or what something is that is none.
Unpacked = Mapping[str, bytes | Kind]


def unpacked(packed: bytes) -> Unpacked:
    """What a downloaded directory holds, or under the name "" the file that was downloaded."""
    found: dict[str, bytes | Kind] = {}
    room = MOST_BYTES
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        for member in tar:
            if len(found) >= MOST_FILES:
                break
            content = _content(tar, member, room)
            found[member.name.partition("/")[2]] = content
            room -= len(content) if isinstance(content, bytes) else 0
    return found


def plain(found: Unpacked) -> dict[str, bytes]:
    """Only the files with their contents."""
    return {name: content for name, content in found.items() if isinstance(content, bytes)}


def keep(found: Unpacked, keeping: Keeping) -> None:
    """Write the files below ``keeping``."""
    for name, content in plain(found).items():
        keeping.write(name, content)


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo, room: int) -> bytes | Kind:
    if member.isdir():
        return "directory"
    if member.issym() or member.islnk():
        return "link"
    file = tar.extractfile(member) if member.isreg() and not member.issparse() else None
    if file is None:
        return "other"
    return file.read() if member.size <= room else "too large"
