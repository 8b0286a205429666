"""The index: built once per host, found again, never stale, never in the way."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_swe.dataset import cache, index
from pytest_swe.dataset.base import RowRef
from pytest_swe.dataset.index import Index
from pytest_swe.dataset.jsonl import JsonlReader
from pytest_swe.dataset.source import open_dataset
from pytest_swe.errors import UsageError


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Every file whose rows were listed, that is, not taken from an index."""
    seen: list[Path] = []
    listed = JsonlReader.refs

    def refs(self: JsonlReader, path: Path) -> Iterator[RowRef]:
        seen.append(path)
        return listed(self, path)

    monkeypatch.setattr(JsonlReader, "refs", refs)
    return seen


@pytest.fixture
def unwritable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host where neither the cache nor the temporary directory takes files (works for root too)."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PYTEST_SWE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    return tmp_path / "file"


def _write(path: Path, *ids: str) -> str:
    path.write_text("".join(json.dumps({"instance_id": instance_id, "repo": "a/a"}) + "\n" for instance_id in ids))
    return str(path)


def _ids(path: str) -> list[str]:
    return [ref.instance_id for ref in open_dataset(path).refs]


def test_the_rows_are_listed_once(tmp_path: Path, own_cache: Path, reads: list[Path]) -> None:
    path = _write(tmp_path / "d.jsonl", "a-1", "a-2")
    first, second = open_dataset(path), open_dataset(path)
    assert len(reads) == 1
    assert first.refs == second.refs
    assert first.digest == second.digest
    assert second.row("a-2") == {"instance_id": "a-2", "repo": "a/a"}


def test_everything_of_a_ref_survives_the_file(own_cache: Path) -> None:
    refs = (
        RowRef("a-1", 1, "/d/one", 0, 10, "a/a", "d" * 32, "", "dev", True),
        RowRef("", 2, "/d/two", 11, 5, "", "", "a problem: \u2028 'é'", "", True),
        RowRef("b-1", 3, "/d/\udcff", 2**40, 7, "b/b", "e" * 32, "", "old", False),
    )
    made = Index(reader="jsonl", digest="x", refs=refs, trusted=True)

    def again() -> Index:
        raise AssertionError("built again")

    assert index.cached("n", "k", lambda: made) == made
    assert index.cached("n", "k", again) == made


@pytest.mark.parametrize("replace", [False, True])
def test_a_rewritten_file_is_read_again(tmp_path: Path, own_cache: Path, reads: list[Path], replace: bool) -> None:
    path = tmp_path / "d.jsonl"
    for number in range(3):
        # The same size each time, at once: only the times and the inode differ.
        if replace:
            _write(tmp_path / "new", f"a-{number}")
            os.replace(tmp_path / "new", path)
        else:
            _write(path, f"a-{number}")
        assert _ids(str(path)) == [f"a-{number}"]
    assert len(reads) == 3


def test_a_fresh_file_is_waited_out(tmp_path: Path, own_cache: Path) -> None:
    """Older kernels stamp by the timer tick: a later write must not fall into the same one."""
    path = tmp_path / "d.jsonl"
    _write(path, "a-1")
    stamp = cache.Stamp.of(path)
    assert time.time() - stamp.mtime_ns / 1e9 >= 0.05
    _write(path, "a-2")
    assert cache.Stamp.of(path) != stamp


def test_a_file_put_back_with_its_old_time_is_read_again(tmp_path: Path, own_cache: Path) -> None:
    path = tmp_path / "d.jsonl"
    _write(path, "a-1")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    assert _ids(str(path)) == ["a-1"]
    _write(path, "a-2")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    assert _ids(str(path)) == ["a-2"]


def _damage(path: Path, how: str) -> None:
    content = path.read_bytes()
    if how == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "changed":
        path.write_bytes(content.replace(b'"a-1"', b'"a-7"'))  # still JSON
    elif how == "gone":
        path.unlink()
    else:
        path.write_bytes(b"\x00" * len(content))


@pytest.mark.parametrize("how", ["cut", "empty", "changed", "gone", "zeros"])
def test_a_torn_index_is_built_anew(tmp_path: Path, own_cache: Path, reads: list[Path], how: str) -> None:
    path = _write(tmp_path / "d.jsonl", "a-1")
    open_dataset(path)
    for file in own_cache.glob("index-*.json"):
        _damage(file, how)
    assert _ids(path) == ["a-1"]
    assert len(reads) == 2
    assert _ids(path) == ["a-1"]
    assert len(reads) == 2


@pytest.mark.parametrize("how", ["cut", "empty", "gone"])
@pytest.mark.parametrize("everything", [True, False])
def test_a_torn_copy_is_made_anew(tmp_path: Path, own_cache: Path, how: str, everything: bool) -> None:
    path = tmp_path / "d.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"instance_id": "a-1"}\n{"instance_id": "a-2"}\n'))
    open_dataset(str(path))
    for file in list(own_cache.glob("*.json*" if everything else "gzip-*.jsonl")):
        if not file.name.endswith(".lock"):
            _damage(file, how)
    dataset = open_dataset(str(path))
    assert [dataset.load(ref)["instance_id"] for ref in dataset.refs] == ["a-1", "a-2"]


def test_whoever_comes_first_builds_for_all(own_cache: Path) -> None:
    built: list[int] = []
    start = threading.Barrier(8)

    def build() -> Index:
        built.append(1)
        time.sleep(0.1)
        return Index(reader="jsonl", digest="x", refs=())

    def ask() -> None:
        start.wait()
        assert index.cached("n", "k", build).digest == "x"

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1


def test_processes_share_one_copy(tmp_path: Path, own_cache: Path) -> None:
    path = tmp_path / "d.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(b'{"instance_id": "a-%d"}\n' % n for n in range(2000))))
    code = "import sys; from pytest_swe.dataset.source import open_dataset; print(len(open_dataset(sys.argv[1]).refs))"
    running = [subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) for _ in range(4)]
    assert [process.communicate()[0].strip() for process in running] == [b"2000"] * 4
    assert len(list(own_cache.glob("gzip-*.jsonl"))) == len(list(own_cache.glob("index-*.json"))) == 1
    assert not list(own_cache.glob("unfinished-*"))


def test_an_unwritable_cache_is_in_nobodys_way(tmp_path: Path, unwritable: Path, reads: list[Path]) -> None:
    path = _write(tmp_path / "d.jsonl", "a-1")
    assert _ids(path) == _ids(path) == ["a-1"]
    assert len(reads) == 2


def test_a_copy_needs_a_place_and_says_so(tmp_path: Path, unwritable: Path) -> None:
    path = tmp_path / "d.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"instance_id": "a-1"}\n'))
    with pytest.raises(UsageError, match="set PYTEST_SWE_CACHE_DIR"):
        open_dataset(str(path))


def test_the_temporary_directory_serves_when_the_cache_does_not(
    tmp_path: Path, unwritable: Path, monkeypatch: pytest.MonkeyPatch, reads: list[Path]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = _write(tmp_path / "d.jsonl", "a-1")
    assert _ids(path) == _ids(path) == ["a-1"]
    assert len(reads) == 1
    assert (tmp_path / f"pytest-swe-{os.getuid()}").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("planted", ["open to all", "a link"])
def test_a_temporary_directory_that_somebody_planted_is_not_used(
    tmp_path: Path, unwritable: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    place = tmp_path / f"pytest-swe-{os.getuid()}"
    if planted == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        place.symlink_to(tmp_path / "elsewhere")
    else:
        place.mkdir()
        place.chmod(0o777)
    assert cache.writable() is None
    assert place not in list(cache.readable())


def test_where_the_cache_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_SWE_CACHE_DIR", str(tmp_path / "named"))
    assert cache.writable() == tmp_path / "named"
    monkeypatch.delenv("PYTEST_SWE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.writable() == tmp_path / "xdg" / "pytest-swe"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.writable() == tmp_path / "home" / ".cache" / "pytest-swe"


def test_old_copies_go_and_nothing_else(tmp_path: Path, own_cache: Path) -> None:
    own_cache.mkdir()
    old = [own_cache / f"gzip-{'0' * 32}-5.jsonl", own_cache / f"index-{'1' * 32}.json"]
    others = [own_cache / "thesis.json", own_cache / f"gzip-{'2' * 32}-5.jsonl", own_cache / "data-5.jsonl"]
    for file in [*old, *others]:
        file.write_text("12345")
    for file in [*old, others[0], others[2]]:
        os.utime(file, (1_000_000_000, 1_000_000_000))
    cache.materialised("gzip", "k", lambda target: target.write(b"x"))
    assert [file.exists() for file in old] == [False, False]
    assert all(file.exists() for file in others)


def test_a_failed_conversion_leaves_nothing(own_cache: Path) -> None:
    def fail(target: object) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.materialised("gzip", "k", fail)
    assert [file.name for file in own_cache.iterdir() if not file.name.endswith(".lock")] == []
