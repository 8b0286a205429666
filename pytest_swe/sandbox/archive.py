"""Tar streams on their way into a sandbox: checked on the host, moved below their target, never unpacked there."""

from __future__ import annotations

import io
import posixpath
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO

from pytest_swe.errors import SandboxFileError

#: Bytes of a rewritten tar that stay in memory; a larger one goes to disk.
SPOOL = 8 * 1024 * 1024

#: GNU's format holds any bytes in a name and any length of it, without extra members per file.
_FORMAT = tarfile.GNU_FORMAT


def rooted(tar: BinaryIO, path: str) -> tuple[IO[bytes], int]:
    """``tar`` with its members moved below the absolute ``path``, to be unpacked at ``/``; and how many they are.

    Modes, owners, times, symlinks and hard links stay. The caller closes the result. Raises SandboxFileError for
    what would be written outside ``path`` (absolute names, ``..``, through a symlink of the archive), for device
    nodes, for sparse files (a kilobyte of those can be a terabyte), and for what is no tar.
    """
    target = posixpath.normpath(path).lstrip("/")
    out = tempfile.SpooledTemporaryFile(max_size=SPOOL)
    count = 0
    try:
        with (
            tarfile.open(fileobj=tar, mode="r|") as source,
            tarfile.open(fileobj=out, mode="w|", format=_FORMAT) as moved,
        ):
            for member in _checked(source, path):
                data = source.extractfile(member) if member.isreg() else None
                member.name = posixpath.join(target, member.name)
                # Numbers say whose it is, not what they are called here or there.
                member.uname = member.gname = ""
                if member.islnk():
                    member.linkname = posixpath.join(target, member.linkname)
                moved.addfile(member, data)
                count += 1
        out.seek(0)
    except tarfile.TarError as broken:
        out.close()
        raise SandboxFileError(f"not a tar: {broken}", path=path) from broken
    except BaseException:
        out.close()
        raise
    return out, count


def one_file(path: str, data: bytes, mode: int = 0o644) -> bytes:
    """A tar, to be unpacked at ``/``, of one file of root's."""
    out = io.BytesIO()
    member = tarfile.TarInfo(posixpath.normpath(path).lstrip("/"))
    member.size, member.mode = len(data), mode
    with tarfile.open(fileobj=out, mode="w", format=_FORMAT) as tar:
        tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def one_directory(path: str) -> bytes:
    """A tar, to be unpacked at ``/``, of one empty directory of root's."""
    out = io.BytesIO()
    member = tarfile.TarInfo(posixpath.normpath(path).lstrip("/"))
    member.type, member.mode = tarfile.DIRTYPE, 0o755
    with tarfile.open(fileobj=out, mode="w", format=_FORMAT) as tar:
        tar.addfile(member)
    return out.getvalue()


def first_file(stream: IO[bytes]) -> bytes:
    """The bytes of the first member of a tar stream. Raises tarfile.TarError when it is cut short or no file."""
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        member = tar.next()
        data = tar.extractfile(member) if member is not None else None
        if member is None or data is None:
            raise tarfile.ReadError("no file in the archive")
        content = data.read()
        if len(content) != member.size:
            raise tarfile.ReadError("the archive is cut short")
        return content


def unpack(tar: BinaryIO, place: Path) -> None:
    """Unpack on this host, below ``place``, with the rights of whoever does it.

    Raises SandboxFileError for what `rooted` refuses, tarfile.TarError for a link that leads out. Python before 3.11.4
    has no filters, and there every link is refused.
    """
    with tarfile.open(fileobj=tar) as source:
        careful = getattr(tarfile, "data_filter", None)
        if careful is not None:
            source.extraction_filter = careful
        for member in _checked(source, str(place)):
            if careful is None and (member.islnk() or member.issym()):
                raise SandboxFileError(f"refused: {member.name!r} is a link", path=str(place))
            source.extract(member, place)


def _checked(source: tarfile.TarFile, path: str) -> Iterator[tarfile.TarInfo]:
    """The members with their names normalised; the top directory itself (``.``) is not one."""
    links: set[str] = set()
    for member in source:
        shown = member.name
        member.name = _inside(member.name, shown, path)
        if member.islnk():
            member.linkname = _inside(member.linkname, shown, path)
        if member.issparse() or (member.isdev() and not member.isfifo()):
            raise SandboxFileError(f"refused: {shown!r} is a device node or a sparse file", path=path)
        names = [member.name, member.linkname] if member.islnk() else [member.name]
        if any(parent in links for name in names for parent in _parents(name)):
            raise SandboxFileError(f"refused: {shown!r} goes through a symlink of the same archive", path=path)
        if member.issym() or (member.islnk() and member.linkname in links):
            links.add(member.name)
        else:
            links.discard(member.name)
        if member.name != ".":
            yield member


def _inside(name: str, shown: str, path: str) -> str:
    if name.startswith("/") or ".." in name.split("/"):
        raise SandboxFileError(f"refused: {shown!r} is outside the target directory", path=path)
    return posixpath.normpath(name)


def _parents(name: str) -> Iterator[str]:
    parent = posixpath.dirname(name)
    while parent:
        yield parent
        parent = posixpath.dirname(parent)
