"""Artifacts: which, under which names, and that nothing harmful is in what is kept."""

from __future__ import annotations

import io
import stat
import tarfile
from pathlib import Path

import pytest

from pytest_swe.harbor import artifacts as module
from pytest_swe.harbor.artifacts import TooLarge, sanitised, wanted
from pytest_swe.harbor.schema import TaskConfig

from .harbor_tasks import conformance_cases


def tar_of(*members: tarfile.TarInfo) -> io.BytesIO:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"x" * member.size) if member.isreg() else None)
    out.seek(0)
    return out


def member(
    name: str, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644, size: int = 1
) -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname, found.mode, found.uid, found.uname = kind, link, mode, 1000, "bob"
    found.size = size if kind == tarfile.REGTYPE else 0
    return found


def kept(*members: tarfile.TarInfo, exclude: tuple[str, ...] = ()) -> tuple[list[tarfile.TarInfo], int]:
    out = io.BytesIO()
    dropped = sanitised(tar_of(*members), out, exclude)
    out.seek(0)
    with tarfile.open(fileobj=out) as tar:
        return tar.getmembers(), dropped


def test_what_is_no_file_is_left_out_and_special_bits_are_cleared() -> None:
    members, dropped = kept(
        member("d", tarfile.DIRTYPE, mode=0o3777),
        member("d/file", mode=0o6755),
        member("d/link", tarfile.SYMTYPE, "/etc/passwd"),
        member("d/pipe", tarfile.FIFOTYPE),
        member("d/disk", tarfile.BLKTYPE),
        member("d/tty", tarfile.CHRTYPE),
        member("d/hard", tarfile.LNKTYPE, "d/file"),
        member("d/harder", tarfile.LNKTYPE, "d/link"),
        member("d/outside", tarfile.LNKTYPE, "../etc/passwd"),
        member("/absolute"),
        member("d/../../up"),
    )
    assert [found.name for found in members] == ["d", "d/file", "d/hard"]
    assert dropped == 8
    assert [stat.S_IMODE(found.mode) for found in members[:2]] == [0o777, 0o755]
    assert {(found.uid, found.uname) for found in members} == {(0, "")}


def test_patterns_leave_out_as_tar_does() -> None:
    names = ["d", "d/a.pyc", "d/sub", "d/sub/b.pyc", "d/node_modules", "d/node_modules/x", "d/keep"]
    members = [member(name, tarfile.REGTYPE if "." in name or name[-1] in "xp" else tarfile.DIRTYPE) for name in names]
    found, dropped = kept(*members, exclude=("*.pyc", "node_modules"))
    assert [each.name for each in found] == ["d", "d/sub", "d/keep"]
    assert dropped == 4


def test_an_artifact_has_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    with pytest.raises(TooLarge, match="more than"):
        sanitised(tar_of(member("a", size=6), member("b", size=6)), io.BytesIO())
    monkeypatch.setattr(module, "MAX_FILES", 1)
    with pytest.raises(TooLarge):
        sanitised(tar_of(member("a"), member("b")), io.BytesIO())


@pytest.mark.parametrize("raw", [b"", b"no tar at all" * 100])
def test_what_is_no_tar(raw: bytes) -> None:
    with pytest.raises(tarfile.TarError):
        sanitised(io.BytesIO(raw), io.BytesIO())


def test_destinations_mirror_the_source() -> None:
    config = TaskConfig.model_validate(
        {
            "artifacts": [
                "/app//out/",
                "rel/x",
                {"source": "/data/d", "destination": "./renamed/"},
                {"source": "/data", "service": "side"},
                {"source": "/app//out/", "service": "main"},
                "/logs/artifacts",
            ]
        }
    )
    assert [(each.source, each.destination, each.service) for each in wanted(config.artifacts)] == [
        ("/logs/artifacts", "logs/artifacts", None),
        ("/app//out/", "app/out", None),
        ("rel/x", "rel/x", None),
        ("/data/d", "renamed", None),
        ("/data", "data", "side"),
    ]


@pytest.mark.shared_data
def test_the_manifest_has_the_entries_of_harbor(shared_data: Path) -> None:
    import json
    import tomllib

    compared = 0
    for case in conformance_cases(shared_data).values():
        for observed in case["observed"]:
            if "artifacts/manifest.json" in observed:
                theirs = json.loads(observed["artifacts/manifest.json"])
                config = TaskConfig.model_validate(tomllib.loads(case["files"]["task.toml"]))
                listed = wanted(config.artifacts)
                assert [each.entry(t["type"], t["status"]) for each, t in zip(listed, theirs, strict=True)] == theirs
                compared += 1
    assert compared > 40
