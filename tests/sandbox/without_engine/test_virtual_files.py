"""Virtual files, where the conformance suite does not look: as a mapping, and with links that were there before."""

from __future__ import annotations

import io
import tarfile

import pytest

from pytest_swe.errors import SandboxFileError
from pytest_swe.sandbox.virtual_files import VirtualFiles


def tar_of(*members: tuple[str, bytes, str]) -> io.BytesIO:
    """Members as name, type, and content or target."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, kind, text in members:
            member = tarfile.TarInfo(name)
            member.type = kind
            member.linkname = text if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            member.size = len(text) if kind == tarfile.REGTYPE else 0
            tar.addfile(member, io.BytesIO(text.encode()))
    out.seek(0)
    return out


def names(files: VirtualFiles, path: str) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(files.pack(path))) as tar:
        return tar.getnames()


def test_as_a_mapping_they_are_regular_files() -> None:
    files = VirtualFiles({"/a/one": b"1"})
    files.unpack(tar_of(("link", tarfile.SYMTYPE, "one"), ("empty", tarfile.DIRTYPE, "")), "/a")
    assert dict(files) == {"/a/one": b"1"}
    assert files["/a/link"] == b"1"
    assert "/a/empty" not in files
    del files["/a/one"]
    assert names(files, "/a") == ["a", "a/empty", "a/link"]
    with pytest.raises(KeyError):
        del files["/a/empty"]


def test_writing_through_a_link_writes_what_it_names() -> None:
    files = VirtualFiles({"/real/one": b"1"})
    files.unpack(tar_of(("link", tarfile.SYMTYPE, "real/one"), ("way", tarfile.SYMTYPE, "/real")), "/")
    files["/link"] = b"2"
    files["/way/new"] = b"3"
    assert dict(files) == {"/real/one": b"2", "/real/new": b"3"}


def test_a_link_that_is_there_leads_no_member_out_of_the_target() -> None:
    files = VirtualFiles({"/outside/kept": b"1"})
    files.unpack(tar_of(("out", tarfile.SYMTYPE, "/outside")), "/target")
    with pytest.raises(SandboxFileError, match="outside the target"):
        files.unpack(tar_of(("out/new", tarfile.REGTYPE, "x")), "/target")
    assert dict(files) == {"/outside/kept": b"1"}


def test_a_hard_link_is_the_same_content() -> None:
    files = VirtualFiles()
    files.unpack(tar_of(("one", tarfile.REGTYPE, "1"), ("two", tarfile.LNKTYPE, "one")), "/t")
    assert files["/t/two"] == b"1"


def test_a_name_is_a_file_or_a_directory() -> None:
    files = VirtualFiles({"/t/file": b"", "/t/directory/file": b""})
    with pytest.raises(SandboxFileError):
        files.unpack(tar_of(("directory", tarfile.REGTYPE, "x")), "/t")
    with pytest.raises(SandboxFileError):
        files.unpack(tar_of(("file", tarfile.DIRTYPE, "")), "/t")
    with pytest.raises(SandboxFileError):
        files.make_directory("/t/file")
    assert names(files, "/t") == ["t", "t/directory", "t/directory/file", "t/file"]


def test_what_is_removed_is_gone_with_what_is_below() -> None:
    files = VirtualFiles({"/t/a/b": b"", "/tea": b""})
    files.remove("/t")
    files.remove("/never")
    assert dict(files) == {"/tea": b""}
    files.remove("/")
    files["/again"] = b"x"
    assert names(files, "/again") == ["again"]
