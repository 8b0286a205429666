"""Tars in and out of a directory that holds a candidate's files. Everything raises OSError or tarfile.TarError."""

from __future__ import annotations

import errno
import io
import os
import posixpath
import shutil
import stat
import tarfile
from typing import BinaryIO

from pytest_swe.sandbox.host import beneath

#: Directories inside each other; each costs a file descriptor while it is packed.
MAX_DEPTH = 200


def unpack(tar: BinaryIO, directory: int) -> None:
    """Unpack below ``directory``; modes, times of change and links are kept, devices and ``..`` are refused."""
    with tarfile.open(fileobj=tar, mode="r|") as members:
        for member in members:
            _unpack_member(members, member, directory)


def pack(parent: int, name: str, root: str) -> bytes:
    """``name`` in the directory ``parent`` as a tar whose members begin with ``root``."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        _pack_member(tar, packed, parent, name, root)
    return packed.getvalue()


def _unpack_member(tar: tarfile.TarFile, member: tarfile.TarInfo, directory: int) -> None:
    if ".." in member.name.split("/"):
        raise OSError(errno.EINVAL, f"member {member.name!r} leads out of it")
    if member.isdir():
        with beneath.walk(directory, f"{member.name}/.", make=True) as (made, _):
            os.fchmod(made, member.mode & 0o777 | stat.S_IRWXU)
        return
    folder, name = posixpath.split(member.name.rstrip("/"))
    with beneath.walk(directory, f"{folder}/.", make=True) as (parent, _):
        if member.isreg():
            _unpack_file(tar, member, parent, name)
        elif member.issym():
            beneath.remove(parent, name)
            os.symlink(member.linkname, name, dir_fd=parent)
        elif member.islnk():
            beneath.remove(parent, name)
            with beneath.walk(directory, member.linkname) as (source, linked):
                os.link(linked, name, src_dir_fd=source, dst_dir_fd=parent, follow_symlinks=False)
        else:
            raise OSError(errno.EINVAL, f"member {member.name!r} is neither file, directory nor link")


def _unpack_file(tar: tarfile.TarFile, member: tarfile.TarInfo, parent: int, name: str) -> None:
    content = tar.extractfile(member)
    assert content is not None, "a regular member has content"
    with beneath.new_file(parent, name, member.mode & 0o777) as file:
        shutil.copyfileobj(content, file)
        file.flush()
        os.utime(file.fileno(), (member.mtime, member.mtime))


def _pack_member(tar: tarfile.TarFile, packed: io.BytesIO, parent: int, name: str, member_name: str) -> None:
    found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    member = tarfile.TarInfo(member_name)
    member.mode = stat.S_IMODE(found.st_mode)
    member.mtime = int(found.st_mtime)
    if stat.S_ISREG(found.st_mode):
        data = beneath.read_file(parent, name, beneath.MAX_READ - packed.tell())
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    elif stat.S_ISLNK(found.st_mode):
        member.type, member.linkname = tarfile.SYMTYPE, os.readlink(name, dir_fd=parent)
        tar.addfile(member)
    elif stat.S_ISDIR(found.st_mode):
        member.type = tarfile.DIRTYPE
        tar.addfile(member)
        if member_name.count("/") >= MAX_DEPTH:
            raise OSError(errno.ENAMETOOLONG, f"has more than {MAX_DEPTH} directories inside each other")
        inside = beneath.enter(parent, name)
        try:
            for entry in sorted(os.listdir(inside)):
                _pack_member(tar, packed, inside, entry, f"{member_name}/{entry}")
        finally:
            os.close(inside)
