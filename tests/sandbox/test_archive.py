"""Tars on their way into a sandbox."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_swe.errors import SandboxFileError
from pytest_swe.sandbox import archive

names = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=30).filter(
    lambda name: name not in (".", "..")
)
paths = st.lists(names, min_size=1, max_size=4).map("/".join)


def tar_of(*members: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> io.BytesIO:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    out.seek(0)
    return out


def info(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.mode = kind, link, mode
    return made


def moved(tar: io.BytesIO, path: str = "/target") -> list[tarfile.TarInfo]:
    out, count = archive.rooted(tar, path)
    with out, tarfile.open(fileobj=out, mode="r|") as result:
        found = list(result)
    assert len(found) == count
    return found


@given(path=paths, target=paths, data=st.binary(max_size=2000), mode=st.integers(0, 0o7777))
def test_every_file_arrives_below_the_target(path: str, target: str, data: bytes, mode: int) -> None:
    out, count = archive.rooted(tar_of((info(path, mode=mode), data)), "/" + target)
    assert count == 1
    with out, tarfile.open(fileobj=out, mode="r|") as tar:
        found = tar.next()
        assert found is not None
        content = tar.extractfile(found)
        assert content is not None
        assert (found.name, found.mode, content.read()) == (f"{target}/{path}", mode, data)


@given(path=paths, data=st.binary(max_size=2000))
def test_one_file_is_read_back(path: str, data: bytes) -> None:
    assert archive.first_file(io.BytesIO(archive.one_file("/" + path, data))) == data


def test_owner_time_and_link_stay() -> None:
    file = info("f", mode=0o4755)
    file.uid, file.gid, file.mtime = 1000, 1001, 1_000_000_000
    link, hard = info("l", tarfile.SYMTYPE, "../../outside"), info("h", tarfile.LNKTYPE, "./f")
    found = {item.name: item for item in moved(tar_of((file, b"x"), (link, b""), (hard, b"")))}
    kept = found["target/f"]
    assert (kept.uid, kept.gid, kept.mtime, kept.mode) == (1000, 1001, 1_000_000_000, 0o4755)
    assert found["target/l"].linkname == "../../outside"
    assert found["target/h"].linkname == "target/f"


def test_the_top_directory_keeps_its_mode() -> None:
    assert [item.name for item in moved(tar_of((info("./", tarfile.DIRTYPE), b""), (info("./a"), b"x")))] == [
        "target/a"
    ]


def test_names_that_are_no_utf8_stay_bytes() -> None:
    [found] = moved(tar_of((info("caf\udce9"), b"x"), form=tarfile.GNU_FORMAT))
    assert found.name == "target/caf\udce9"


@pytest.mark.parametrize(
    "members",
    [
        [info("../a")],
        [info("a/../../b")],
        [info("/etc/passwd")],
        [info("a/..")],
        [info("h", tarfile.LNKTYPE, "../outside")],
        [info("h", tarfile.LNKTYPE, "/etc/passwd")],
        [info("l", tarfile.SYMTYPE, "/etc"), info("l/passwd")],
        [info("l", tarfile.SYMTYPE, "/etc"), info("./l/x/passwd")],
        [info("l", tarfile.SYMTYPE, "/"), info("h", tarfile.LNKTYPE, "l/etc/passwd")],
        [info("l", tarfile.SYMTYPE, "/"), info("h", tarfile.LNKTYPE, "l"), info("h/etc/passwd")],
        [info("device", tarfile.CHRTYPE)],
        [info("device", tarfile.BLKTYPE)],
    ],
)
def test_what_could_reach_outside_is_refused(members: list[tarfile.TarInfo]) -> None:
    with pytest.raises(SandboxFileError, match="refused"):
        moved(tar_of(*((member, b"") for member in members)))


def test_a_file_in_place_of_a_link_is_no_link_any_more() -> None:
    members = [info("l", tarfile.SYMTYPE, "/etc"), info("l", tarfile.DIRTYPE), info("l/a")]
    assert [item.name for item in moved(tar_of(*((member, b"") for member in members)))][-1] == "target/l/a"


def test_a_sparse_file_is_refused() -> None:
    sparse = info("huge")
    sparse.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(1 << 40)}
    with pytest.raises(SandboxFileError, match="refused"):
        moved(tar_of((sparse, b"0\n" + b"\0" * 510)))


@given(junk=st.binary(min_size=1, max_size=3000))
def test_junk_is_an_error_or_nothing(junk: bytes) -> None:
    try:
        out, _ = archive.rooted(io.BytesIO(junk), "/target")
    except SandboxFileError:
        return
    out.close()


@given(cut=st.integers(1, 3000))
def test_a_tar_cut_short_is_an_error_or_ends_between_members(cut: int) -> None:
    whole = tar_of((info("a"), b"x" * 600), (info("b"), b"y" * 600)).getvalue()
    try:
        found = moved(io.BytesIO(whole[:cut]))
    except SandboxFileError:
        return
    assert [(item.name, item.size) for item in found] == [("target/a", 600), ("target/b", 600)][: len(found)]


def test_a_large_tar_goes_through_the_disk() -> None:
    data = bytes(range(256)) * (archive.SPOOL // 256 + 1)
    [found] = moved(tar_of((info("large"), data)))
    assert found.size == len(data)


def test_files_are_unpacked_on_this_host(tmp_path: Path) -> None:
    archive.unpack(tar_of((info("a/b", mode=0o755), b"one"), (info("c"), b"two")), tmp_path)
    assert (tmp_path / "a" / "b").read_bytes() == b"one"
    assert (tmp_path / "a" / "b").stat().st_mode & 0o111
    assert (tmp_path / "c").read_bytes() == b"two"


@pytest.mark.parametrize(
    "member",
    [
        info("../out"),
        info("/tmp/out"),
        info("out", tarfile.SYMTYPE, "/etc/passwd"),
        info("out", tarfile.SYMTYPE, "../../x"),
        info("out", tarfile.LNKTYPE, "../x"),
        info("out", tarfile.CHRTYPE),
    ],
    ids=lambda member: f"{member.name} {member.linkname}",
)
def test_nothing_is_unpacked_outside_on_this_host(tmp_path: Path, member: tarfile.TarInfo) -> None:
    place = tmp_path / "place"
    place.mkdir()
    with pytest.raises((SandboxFileError, tarfile.TarError)):
        archive.unpack(tar_of((member, b"")), place)
    assert list(tmp_path.rglob("*")) == [place]
