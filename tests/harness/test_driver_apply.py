"""The driver in a real shell, on real work trees: how patches go in, what is left of those that do not."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from driver_bench import FILES, Bench, edit_bytes, make_bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)


def replace(name: str, old: bytes, new: bytes) -> Callable[[Path], object]:
    return lambda tree: (tree / name).write_bytes((tree / name).read_bytes().replace(old, new))


def move(tree: Path) -> None:
    (tree / "new dir").mkdir()
    (tree / "d" / "e f.py").rename(tree / "new dir" / "e g.py")


def to_link(tree: Path) -> None:
    (tree / "a.py").unlink()
    (tree / "a.py").symlink_to("run.sh")


def to_directory(tree: Path) -> None:
    (tree / "a.py").unlink()
    (tree / "a.py").mkdir()
    (tree / "a.py" / "x").write_bytes(b"x\n")


def odd_names(tree: Path) -> None:
    for name in (b"\xff\xfe", b"new\nline", b"-dash", "caf\u00e9 \u2028".encode(), b"sp ace/tab\there"):
        path = tree / os.fsdecode(name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"content\n")


def move_and_edit(tree: Path) -> None:
    move(tree)
    (tree / "new dir" / "e g.py").write_bytes(b"x = 1\ny = 2\n")


def nested(tree: Path) -> None:
    (tree / "p" / "q").mkdir(parents=True)
    (tree / "p" / "q" / "r").write_bytes(b"r")


def twice(tree: Path) -> None:
    replace("a.py", b"one", b"1")(tree)
    replace("a.py", b"nine", b"9")(tree)


CHANGES: dict[str, Callable[[Path], object]] = {
    "modify": replace("a.py", b"two", b"2"),
    "two hunks": twice,
    "crlf content": replace("crlf.txt", b"l2", b"L2"),
    "binary": replace("data.bin", b"\x07", b"\x07\x00\x07"),
    "mode": lambda tree: (tree / "run.sh").chmod(0o755),
    "rename": move,
    "rename and edit": move_and_edit,
    "delete": lambda tree: (tree / "gone" / "only.txt").unlink(),
    "empty file": lambda tree: (tree / "empty file").touch(),
    "new directories": nested,
    "no newline at the end": replace("a.py", b"nine\n", b"nine"),
    "file to link": to_link,
    "file to directory": to_directory,
    "odd names": odd_names,
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_git_writes_goes_in_whole(bench: Bench, change: str) -> None:
    patch, after = bench.diff_of(CHANGES[change])
    log = bench.run(patch)
    assert (log.apply.outcome, log.apply.attempt, log.apply.whole) == ("applied", "git-apply", True), log.apply.output
    assert bench.files() == after
    assert log.run is not None
    assert (log.run.exit_code, log.run.test_exit_code, log.run.proof, log.run.forged) == (0, 0, "", 0)


@pytest.mark.parametrize("change", CHANGES)
def test_a_patch_that_fails_in_its_last_file_leaves_the_tree_as_it_was(bench: Bench, change: str) -> None:
    """All three attempts fail; files, directories, modes, the index and untracked files are what they were."""
    patch, _ = bench.diff_of(CHANGES[change])
    before, status = bench.state(), bench.git("status", "--porcelain")
    log = bench.run(patch + b"--- a/d/e f.py\t\n+++ b/d/e f.py\t\n@@ -1 +1 @@\n-not there\n+new\n")
    assert (log.apply.outcome, log.run) == ("failed", None)
    assert bench.state() == before
    assert bench.git("status", "--porcelain") == status


def edit(bench: Bench, old: bytes = b"five", new: bytes = b"5") -> bytes:
    return bench.diff_of(replace("a.py", old, new))[0]


def test_a_missing_final_newline_is_added_and_said(bench: Bench) -> None:
    log = bench.run(edit(bench).rstrip(b"\n"))
    assert (log.apply.attempt, log.apply.normalised) == ("git-apply", ("final_newline",))


def test_a_patch_with_crlf_goes_into_a_file_without(bench: Bench) -> None:
    log = bench.run(edit(bench).replace(b"\n", b"\r\n"))
    assert (log.apply.attempt, log.apply.whole) == ("patch", True)
    assert (bench.tree / "a.py").read_bytes() == FILES["a.py"].replace(b"five", b"5")


def test_a_patch_without_crlf_does_not_go_into_a_file_with(bench: Bench) -> None:
    log = bench.run(b"--- a/crlf.txt\n+++ b/crlf.txt\n@@ -1,3 +1,3 @@\n l1\n-l2\n+L2\n l3\n")
    assert log.apply.outcome == "failed"


def test_a_hunk_that_moved_goes_in_and_leaves_no_backup(bench: Bench) -> None:
    patch = edit(bench)
    (bench.tree / "a.py").write_bytes(b"zero\n" * 3 + FILES["a.py"])
    before = set(bench.state())
    assert bench.run(patch).apply.outcome == "applied"
    assert set(bench.state()) == before


def test_no_context_is_ignored(bench: Bench) -> None:
    """``patch --fuzz=5`` puts this hunk somewhere (and changes the wrong function in real code)."""
    patch = b"--- a/a.py\n+++ b/a.py\n@@ -4,3 +4,3 @@\n not there\n-five\n+5\n nor there\n"
    log = bench.run(patch)
    assert (log.apply.outcome, log.apply.attempt) == ("failed", "")
    assert "patch:\n" in log.apply.output


def test_a_change_that_is_there_already_is_never_undone(bench: Bench) -> None:
    """The image has the change; ``patch --batch`` alone takes the patch for a reversed one (SWE-bench#228)."""
    patch = edit(bench)
    replace("a.py", b"five", b"5")(bench.tree)
    assert bench.run(patch).apply.outcome == "failed"
    assert b"5\n" in (bench.tree / "a.py").read_bytes()


def test_what_only_a_merge_can_apply_is_merged_and_not_staged(bench: Bench) -> None:
    patch = edit(bench, b"five", b"5")
    replace("a.py", b"three", b"3")(bench.tree)
    bench.git("commit", "--quiet", "--all", "--message", "the context is another now")
    log = bench.run(patch)
    assert (log.apply.attempt, log.apply.whole) == ("git-apply-3way", True)
    assert (bench.tree / "a.py").read_bytes() == FILES["a.py"].replace(b"five", b"5").replace(b"three", b"3")
    assert bench.git("diff", "--cached") == b""


def test_a_merge_with_conflicts_leaves_nothing(bench: Bench) -> None:
    patch = edit(bench, b"five", b"5")
    replace("a.py", b"five", b"V")(bench.tree)
    bench.git("commit", "--quiet", "--all", "--message", "the same line is another now")
    before = bench.state()
    assert bench.run(patch).apply.outcome == "failed"
    assert bench.state() == before
    assert bench.git("status", "--porcelain") == b"?? untracked.egg-info/\n"


def test_an_untracked_file_that_the_patch_adds_is_replaced_and_no_other(bench: Bench) -> None:
    (bench.tree / "parser.out").write_bytes(b"generated\n")
    log = bench.run(b"--- /dev/null\n+++ b/parser.out\n@@ -0,0 +1 @@\n+written\n")
    assert (log.apply.attempt, log.apply.whole) == ("git-apply-over", True)
    assert (bench.tree / "parser.out").read_bytes() == b"written\n"
    assert (bench.tree / "untracked.egg-info" / "PKG-INFO").exists()


def test_a_tracked_file_that_the_patch_adds_is_not_replaced(bench: Bench) -> None:
    before = bench.state()
    log = bench.run(b"--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+written\n")
    assert log.apply.outcome == "failed"
    assert bench.state() == before


@pytest.mark.parametrize(
    "patch",
    [
        b"",
        b"no diff at all\n",
        b"--- a/../out\n+++ b/../out\n@@ -0,0 +1 @@\n+x\n",
        b"--- /dev/null\n+++ b/../out\n@@ -0,0 +1 @@\n+x\n",
        b"diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n",
        b"--- /dev/null\n+++ b/.git/hooks/post-checkout\n@@ -0,0 +1 @@\n+#!/bin/sh\n",
        b"--- a.py\n+++ a.py\n@@ -1,9 +1,9 @@\n one\n-zwei\n+2\n three\n",
    ],
)
def test_what_is_no_patch_of_this_tree_does_nothing(bench: Bench, patch: bytes) -> None:
    before = bench.state()
    assert bench.run(patch).apply.outcome == "failed"
    assert bench.state() == before
    assert not (bench.tree.parent / "out").exists()
    assert not (bench.tree / ".git" / "hooks" / "post-checkout").exists()


def test_the_tree_may_belong_to_another_user(bench: Bench) -> None:
    subprocess.run(["chown", "-R", "65534:65534", str(bench.tree)], check=True)
    assert bench.run(edit_bytes()).apply.outcome == "applied"


def test_settings_of_the_user_change_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text("[apply]\n\twhitespace = fix\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    assert bench.run(edit_bytes().replace(b"+5", b"+5  ")).apply.outcome == "applied"
    assert b"\n5  \n" in (bench.tree / "a.py").read_bytes()
