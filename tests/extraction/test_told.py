"""What of an agent's work is only told: ignored, excluded, nested, no files, too much; and what is a problem."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_swe.agent.baseline import record
from pytest_swe.agent.extraction import Extracted, extract

from . import trees
from .case import Case
from .directory import git
from .trees import put


def test_ignored_files_are_told(case: Case) -> None:
    put(case.tree, "old.log", b"changed by the agent\n")
    os.utime(case.tree / "old.log", (case.baseline.taken + 60,) * 2)
    (case.tree / "build/made.o").unlink()
    put(case.tree, "new.log", b"new\n")
    for number in range(60):
        put(case.tree, f"build/{number}", b"")
    found = case.extract()
    assert (found.patch, found.problem) == (b"", "")
    assert found.ignored == ("build/ (61 files)", "new.log (1 files)", "old.log (1 files)")


def test_what_stood_there_ignored_is_not_added_when_the_rules_change(case: Case) -> None:
    """The grading sandbox has these files too: a patch that adds them would not apply."""
    put(case.tree, ".gitignore", b"# nothing\n")
    put(case.tree, "build/new.o", b"new\n")
    found = case.extract()
    assert set(found.paths) == {".gitignore", "build/new.o"}
    expected = trees.files_of(case.tree)
    assert case.applied(found) == expected


def test_excluded_paths_keep_what_they_were(case: Case) -> None:
    put(case.tree, "a.py", b"work\n")
    put(case.tree, "tests/test_a.py", b"def test_a(): pass\n")
    put(case.tree, "tests/test_new.py", b"new\n")
    put(case.tree, "agent/logs/1.txt", b"log\n")
    put(case.tree, "x/y.pyc", b"x")
    (case.tree / "d/e f.py").unlink()
    found = case.extract("tests", "agent/logs/*", "*.pyc", "d/e f.py")
    assert found.paths == ("a.py",)
    assert [line.removesuffix(": excluded") for line in found.excluded] == [
        "agent/logs/1.txt",
        "d/e f.py",
        "tests/test_a.py",
        "tests/test_new.py",
        "x/y.pyc",
    ]


def test_repositories_within_are_told(case: Case) -> None:
    inner = case.tree / "inner"
    put(inner, "x.py", b"x\n")
    git(inner, "init", "-q")
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "inner")
    put(case.tree, "none/y.py", b"y\n")
    git(case.tree / "none", "init", "-q")
    found = case.extract()
    assert (found.patch, found.problem) == (b"", "")
    assert found.nested == ("inner/ (1 files)", "none/ (1 files)")


def test_changes_in_a_submodule_are_told(origin: Path, tmp_path: Path) -> None:
    sandbox, tree = trees.copy_of(origin, tmp_path / "agent")
    put(tmp_path / "lib", "lib.py", b"lib\n")
    git(tmp_path / "lib", "init", "-q")
    git(tmp_path / "lib", "add", ".")
    git(tmp_path / "lib", "commit", "-qm", "lib")
    git(tree, "submodule", "--quiet", "add", str(tmp_path / "lib"), "sub")
    git(tree, "commit", "-qm", "with a submodule")
    baseline = record(sandbox, "/testbed")
    assert b"sub" not in baseline.dirty
    assert extract(sandbox, baseline) == Extracted()
    put(tree, "sub/more.py", b"more\n")
    found = extract(sandbox, baseline)
    assert (found.patch, found.nested) == (b"", ("sub/ (1 files)",))


def test_pipes_and_large_files_are_told_and_the_rest_is_taken(case: Case) -> None:
    os.mkfifo(case.tree / "pipe")
    (case.tree / "b.py").unlink()
    os.mkfifo(case.tree / "b.py")
    for name in ("large.bin", "a.py"):
        with (case.tree / name).open("r+b" if name == "a.py" else "wb") as file:
            file.truncate(2**40)
    (case.tree / "around").symlink_to(".")
    (case.tree / "loop").symlink_to("loop")
    put(case.tree, "work.py", b"work\n")
    found = case.extract()
    assert set(found.paths) == {"around", "loop", "work.py"}
    assert found.excluded == (
        "a.py: larger than 16 MiB",
        "b.py: no file but a pipe, a socket or a device",
        "large.bin: larger than 16 MiB",
        "pipe: no file but a pipe, a socket or a device",
    )


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes", "d/.gitignore"])
def test_a_pipe_that_git_would_read_is_a_problem_at_once(case: Case, name: str) -> None:
    (case.tree / name).unlink(missing_ok=True)
    os.mkfifo(case.tree / name)
    assert "pipe" in case.extract(timeout=600).problem


def test_names_that_git_refuses_are_told(case: Case) -> None:
    put(case.tree, ".GIT/config", b"x\n")
    put(case.tree, "git~1", b"x\n")
    put(case.tree, "work.py", b"work\n")
    found = case.extract()
    assert found.paths == ("work.py",)
    assert found.excluded == (".GIT/config: git refuses this name", "git~1: git refuses this name")


def test_a_patch_over_the_limit_is_a_problem(case: Case) -> None:
    for number in range(4):
        put(case.tree, f"{number}.bin", os.urandom(8 * 2**20))
    found = case.extract()
    assert found.patch == b""
    assert "more than" in found.problem


def test_a_tree_that_is_gone_is_a_problem(case: Case) -> None:
    case.tree.rename(case.folder / "elsewhere")
    assert "no directory" in case.extract().problem
