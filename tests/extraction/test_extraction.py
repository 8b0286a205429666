"""What is taken of an agent's work, however it came to be there and whatever its git is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_swe.agent.baseline import record
from pytest_swe.agent.extraction import Extracted, extract

from . import trees
from .case import Case
from .directory import DirectorySandbox, git
from .trees import put


def test_no_work_is_an_empty_patch_though_the_image_is_dirty(case: Case) -> None:
    assert case.extract() == Extracted()


def everything(tree: Path) -> None:
    put(tree, "a.py", (tree / "a.py").read_bytes().replace(b"line 3\n", b"line three\n"))
    put(tree, "b.py", b"rewritten\n")
    put(tree, "untracked.txt", b"changed by the agent\n")
    put(tree, 'new dir/\u00fc "x".py', b"no newline at the end")
    put(tree, "new.bin", b"\0\1\2" * 100)
    put(tree, "data.bin", b"\0" * 50)
    put(tree, "--help", b"")
    (tree / "d/e f.py").rename(tree / "moved.py")
    (tree / "d/deep/er/g.py").unlink()
    (tree / "run.sh").chmod(0o644)
    (tree / "-dash").chmod(0o755)
    (tree / "link").unlink()
    (tree / "link").symlink_to("nowhere/at all")
    (tree / "empty").unlink()
    put(tree, "empty/now/a/directory", b"x\n")
    put(tree, "crlf.txt", b"l1\r\nl2 changed\r\nl3\r\n")
    put(tree, "forced.log", b"tracked, so it counts\n")


def test_everything_at_once(case: Case) -> None:
    everything(case.tree)
    found = case.extract()
    assert case.applied(found) == trees.files_of(case.tree)
    assert found.dirty_before == ("b.py", "untracked.txt")
    assert b"rename from d/e f.py" in found.patch
    assert (found.ignored, found.excluded, found.nested) == ((), (), ())


@pytest.mark.parametrize("way", ["staged", "committed", "branch", "detached", "no index", "no repository", "soft"])
def test_however_it_came_to_be_there(case: Case, way: str) -> None:
    everything(case.tree)
    tree = case.tree
    if way in ("branch", "detached"):
        git(tree, "checkout", "-q", *(["-b", "mine"] if way == "branch" else ["--detach"]))
    if way != "no repository":
        git(tree, "add", "-A")
    if way in ("committed", "branch", "detached", "soft"):
        git(tree, "commit", "-qm", "work")
    if way == "soft":
        git(tree, "update-ref", "HEAD", git(tree, "commit-tree", "HEAD^{tree}", "-m", "orphan").decode().strip())
    if way == "no index":
        (tree / ".git/index").unlink()
    if way == "no repository":
        (tree / ".git").rename(case.folder / "gone")
    assert case.applied(case.extract()) == trees.files_of(tree)


SETTINGS = {
    "color.ui": "always",
    "diff.noprefix": "true",
    "diff.mnemonicPrefix": "true",
    "diff.renames": "copies",
    "diff.context": "0",
    "diff.orderFile": "/dev/zero",
    "diff.ignoreSubmodules": "all",
    "core.quotePath": "false",
    "core.fileMode": "false",
    "core.symlinks": "false",
    "core.ignoreCase": "true",
    "core.autocrlf": "true",
    "core.worktree": "/",
    "core.bare": "true",
    "core.excludesFile": "{tree}/everything",
    "core.sparseCheckout": "true",
    "status.showUntrackedFiles": "no",
    "submodule.recurse": "true",
    "index.version": "4",
    "index.sparse": "true",
}
PROGRAMS = (
    "diff.external",
    "core.fsmonitor",
    "core.pager",
    "diff.own.textconv",
    "diff.own.command",
    "filter.own.clean",
)


def test_no_setting_of_the_agent_matters_and_none_of_its_programs_runs(case: Case) -> None:
    tree = case.tree
    everything(tree)
    program, ran = case.folder / "program", case.folder / "ran"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    put(tree, "everything", b"*\n")
    put(tree, ".gitattributes", b"* filter=own diff=own\n*.py binary\ncrlf.txt text\n")
    put(tree, ".git/info/attributes", b"* filter=own diff=own -text\n")
    put(tree, ".git/info/exclude", b"*\n")
    for name in PROGRAMS:
        git(tree, "config", name, str(program))
    for hook in ("post-index-change", "reference-transaction", "pre-commit", "fsmonitor-watchman"):
        put(tree, f".git/hooks/{hook}", program.read_bytes())
        (tree / ".git/hooks" / hook).chmod(0o755)
    for name, value in SETTINGS.items():
        git(tree, "config", name, value.format(tree=tree), check=False)
    with (tree / ".git/config").open("a") as config:
        config.write(
            "".join(f"[{n.rpartition('.')[0]}]\n\t{n.rpartition('.')[2]} = {v}\n" for n, v in SETTINGS.items())
        )
    found = case.extract()
    assert not ran.exists()
    assert case.applied(found) == trees.files_of(tree)


def test_what_the_repository_tracks_counts_though_the_rules_ignore_it(case: Case) -> None:
    put(case.tree, "staged.log", b"staged by force\n")
    git(case.tree, "add", "-f", "staged.log")
    put(case.tree, "committed.log", b"committed by force\n")
    git(case.tree, "add", "-f", "committed.log")
    git(case.tree, "commit", "-qm", "by force")
    (case.tree / ".git/index").unlink()
    git(case.tree, "read-tree", "HEAD~")
    git(case.tree, "add", "-f", "staged.log")
    put(case.tree, "ignored.log", b"ignored\n")
    found = case.extract()
    assert set(found.paths) == {"staged.log", "committed.log"}
    assert found.ignored == ("ignored.log",)


def test_a_renamed_hidden_test_stays_and_its_copy_is_new(case: Case) -> None:
    (case.tree / "tests/test_a.py").rename(case.tree / "kept.py")
    found = case.extract("tests/test_a.py")
    files = case.applied(found)
    assert files["tests/test_a.py"] == files["kept.py"]


def test_a_repository_made_where_tracked_files_are_hides_nothing(case: Case) -> None:
    git(case.tree / "d", "init", "-q")
    put(case.tree, "d/e f.py", b"changed\n")
    put(case.tree, "d/new.py", b"new\n")
    found = case.extract()
    assert set(found.paths) == {"d/e f.py", "d/new.py"}


def test_a_tree_without_a_repository(tmp_path: Path) -> None:
    put(tmp_path / "work", "a.txt", b"a\n")
    sandbox = DirectorySandbox(tmp_path)
    baseline = record(sandbox, "/work")
    put(tmp_path / "work", "a.txt", b"b\n")
    assert extract(sandbox, baseline).patch.endswith(b"@@ -1 +1 @@\n-a\n+b\n")


def test_ids_are_of_the_repository_s_own_kind(tmp_path: Path) -> None:
    """Of a binary file git compares the whole id before it applies anything."""
    put(tmp_path / "work", "a.bin", b"\0" * 9)
    git(tmp_path / "work", "init", "-q", "--object-format=sha256")
    git(tmp_path / "work", "add", ".")
    git(tmp_path / "work", "commit", "-qm", "base")
    sandbox = DirectorySandbox(tmp_path)
    baseline = record(sandbox, "/work")
    put(tmp_path / "work", "a.bin", b"\0\1" * 9)
    found = extract(sandbox, baseline)
    git(tmp_path / "work", "checkout", "-q", ".")
    (tmp_path / "patch").write_bytes(found.patch)
    git(tmp_path / "work", "apply", str(tmp_path / "patch"))
    assert (tmp_path / "work/a.bin").read_bytes() == b"\0\1" * 9


@pytest.mark.parametrize("name", ["HEAD", "index", "config", "objects/x"])
def test_a_pipe_in_the_repository_keeps_nobody_waiting(case: Case, name: str) -> None:
    (case.tree / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(case.tree / ".git" / name)
    put(case.tree, "work.py", b"work\n")
    assert case.extract(timeout=600).paths == ("work.py",)


def test_nothing_of_ours_stays(case: Case) -> None:
    case.extract()
    assert list((case.sandbox.root / "pytest-swe").iterdir()) == []
