"""The tree in which an agent begins, by the driver itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from driver_bench import Bench, BenchSandbox, make_bench

from pytest_swe.errors import HarnessError
from pytest_swe.evaluation.begin import HIDE, ONE_COMMIT, begin
from pytest_swe.evaluation.driver import DIRECTORY
from pytest_swe.evaluation.plan import Around
from pytest_swe.model import ExecResult
from pytest_swe.sandbox.archive import unpack


class Placed(BenchSandbox):
    """The same, in whatever directory below the driver's it is asked for."""

    def upload(self, tar: BinaryIO, path: str) -> None:
        unpack(tar, Path(self._placed(path)))

    def exec(self, argv: Sequence[str], **how: Any) -> ExecResult:
        return super().exec([self._placed(word) for word in argv], **how)

    def _placed(self, word: str) -> str:
        return word.replace(DIRECTORY, str(self._bench.here)) if word.startswith(DIRECTORY) else word


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)


def git(bench: Bench, *args: str) -> str:
    name = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    done = subprocess.run(["git", *name, *args], cwd=bench.tree, capture_output=True, text=True, check=True)
    return done.stdout


def begun(bench: Bench, around: Around) -> None:
    bench.here.mkdir(exist_ok=True)
    assert begin(around, Placed(bench)) == str(bench.tree)


def test_only_what_the_preparations_read_goes_in_and_nothing_stays(bench: Bench) -> None:
    files = {"document": b"read\n", "tests.patch": b"secret\n"}
    begun(bench, Around(prepare='ls "${0%/*}/files" > seen; cp "${0%/*}/files/document" README', files=files))
    assert (bench.tree / "README").read_text() == "read\n"
    assert (bench.tree / "seen").read_text() == "document\n"
    assert not list(bench.here.rglob("driver.sh"))


def test_what_is_hidden_is_gone_from_the_tree_and_its_past(bench: Bench) -> None:
    (bench.tree / "hidden").mkdir()
    (bench.tree / "hidden" / "test.py").write_text("secret\n")
    git(bench, "add", "--all")
    git(bench, "commit", "-qm", "with the tests")
    begun(bench, Around(begin=f"{HIDE}hide hidden not-there\n"))
    assert not (bench.tree / "hidden").exists()
    assert git(bench, "log", "--all", "--format=%s").split() == ["begin"]
    assert "secret" not in git(bench, "log", "--all", "-p")
    assert git(bench, "status", "--porcelain") == ""


def test_the_past_stays_where_it_shows_nothing(bench: Bench) -> None:
    git(bench, "add", "--all")
    git(bench, "commit", "-qm", "mine", "--allow-empty")
    (bench.tree / "hidden").symlink_to(bench.here)
    begun(bench, Around(begin=f"{HIDE}hide hidden\n"))
    assert not (bench.tree / "hidden").is_symlink()
    assert bench.here.is_dir()
    assert "mine" in git(bench, "log", "--format=%s")


@pytest.mark.parametrize("begin", [ONE_COMMIT, f"{HIDE}one_commit\n"], ids=["alone", "hiding"])
def test_one_commit_is_all_there_is_whoever_owns_the_tree(bench: Bench, begin: str) -> None:
    git(bench, "commit", "-qm", "fix", "--allow-empty")
    if os.geteuid() == 0:
        for path in (bench.tree, *bench.tree.rglob("*")):
            os.chown(path, 12345, 12345, follow_symlinks=False)
    begun(bench, Around(begin=begin))
    said = git(bench, "-c", f"safe.directory={bench.tree}", "log", "--all", "--format=%s")
    assert said.split() == ["begin"]


@pytest.mark.parametrize("around", [Around(prepare="echo no; exit 1"), Around(begin="echo no; exit 1")])
def test_a_tree_that_cannot_be_prepared_starts_no_agent(bench: Bench, around: Around) -> None:
    with pytest.raises(HarnessError, match="could not be prepared: no"):
        begun(bench, around)
