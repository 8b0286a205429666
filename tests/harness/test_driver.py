"""The driver in a real shell, on real work trees: how patches go in, what is left of those that do not."""

from __future__ import annotations

import base64
import io
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from driver_bench import FILES, NONCE, SCRIPT, Bench, BenchSandbox, make_bench

from pytest_swe.errors import DiskFull, HarnessError
from pytest_swe.evaluation.driver import COMMAND, bundle, phases, read
from pytest_swe.logs.markers import END, START
from pytest_swe.model import ExecResult, Reason


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


def edit_bytes() -> bytes:
    return b"--- a/a.py\n+++ b/a.py\n@@ -4,3 +4,3 @@\n four\n-five\n+5\n six\n"


def test_settings_of_the_user_change_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text("[apply]\n\twhitespace = fix\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    assert bench.run(edit_bytes().replace(b"+5", b"+5  ")).apply.outcome == "applied"
    assert b"\n5  \n" in (bench.tree / "a.py").read_bytes()


HIDDEN = """--- /dev/null
+++ b/t/test_new.py
@@ -0,0 +1 @@
+%s
--- a/run.sh
+++ b/run.sh
@@ -1 +1 @@
-echo
+%s
"""


def test_hidden_tests_are_as_before_the_patch_when_the_eval_script_starts(bench: Bench) -> None:
    """The candidate writes the file that the test patch adds, and edits the one that it changes."""
    own = (HIDDEN % ("mine", "true")).encode()
    hidden = HIDDEN % ("hidden", "echo 1")
    log = bench.run(own + edit_bytes(), tests="ls t; cat run.sh a.py", test_patch=hidden)
    assert log.run is not None
    assert log.apply.whole
    assert "hidden_tests_restored" in log.run.notes
    assert b"mine" not in log.run.output
    assert b"\necho\n" in log.run.output
    assert b"\n5\n" in log.run.output


def test_hidden_tests_that_change_while_they_run_are_noted(bench: Bench) -> None:
    log = bench.run(edit_bytes(), tests="echo true >run.sh", test_patch=HIDDEN % ("hidden", "echo 1"))
    assert log.run is not None
    assert log.run.notes == ("hidden_tests_changed",)
    (bench.tree / "a.py").write_bytes(FILES["a.py"])
    log = bench.run(edit_bytes(), tests="echo 1 >elsewhere", test_patch=HIDDEN % ("hidden", "echo 1"))
    assert log.run is not None
    assert log.run.notes == ()


def test_an_unpatched_tree_is_evaluated(bench: Bench) -> None:
    before = bench.state()
    log = bench.run(None, tests="cat a.py")
    assert log.run is not None
    assert (log.apply.outcome, log.run.test_exit_code, log.run.guarded) == ("none", 0, True)
    assert b"five" in log.run.output
    assert bench.state() == before


def test_what_an_earlier_evaluation_left_does_not_count(bench: Bench) -> None:
    """The control after a candidate, in the same sandbox: no patch is applied, no second status is found."""
    sandbox = BenchSandbox(bench)
    for patch in (edit_bytes(), None):
        made = bundle(SCRIPT % "cat a.py", (HIDDEN % ("hidden", "echo 1")).encode(), patch, NONCE)
        sandbox.upload(io.BytesIO(made.tar), "/pytest-swe")
        log = read(sandbox.exec(COMMAND, timeout=30), made, name="tests", timeout=30)
        bench.git("checkout", "--quiet", "--", ".")
        assert log.run is not None
        assert (log.run.proof, log.run.test_exit_code, b"\n5\n" in log.run.output) == ("", 0, patch is not None)


def test_one_ordered_stream_without_the_channel_of_the_facts(bench: Bench) -> None:
    loop = "for n in 1 2 3; do echo out$n; echo err$n >&2; done"
    log = bench.run(edit_bytes(), tests=f"{{ set +x; }} 2>/dev/null; {loop}; echo swe-fact apply no >&2; false")
    assert log.run is not None
    assert b"\nout1\nerr1\nout2\nerr2\nout3\nerr3\nswe-fact apply no\n" in log.run.output
    assert (log.apply.outcome, log.run.test_exit_code, log.run.proof) == ("applied", 1, "")


@pytest.mark.parametrize(
    ("tests", "proof"),
    [
        ("cat ${0%/*}/eval.sh", "start token"),
        ("echo swe-ab12-end", "end token"),
        ("echo 0 >>${0%/*}/status", "the eval script wrote the status"),
        ("echo swe-fact whole no >/proc/$PPID/fd/2", "the driver wrote its facts"),
    ],
)
def test_who_writes_where_only_the_evaluation_writes_is_found_out(bench: Bench, tests: str, proof: str) -> None:
    log = bench.run(edit_bytes(), tests=f"bash -c 'true'; {tests}; true")
    assert log.run is not None
    assert proof in log.run.proof
    assert b">>>>> " not in log.run.output.replace(b">>>>\\> ", b"")


def test_a_script_that_leaves_in_the_middle_has_a_start_and_no_end(bench: Bench) -> None:
    log = bench.run(edit_bytes(), tests="echo PASSED a; exit 7")
    assert log.run is not None
    assert (log.run.started, log.run.ended, log.run.exit_code, log.run.test_exit_code) == (True, False, 7, None)
    assert START.encode() in log.run.output


def test_a_shell_that_is_killed_after_a_forged_end_gives_no_official_marker(bench: Bench) -> None:
    log = bench.run(edit_bytes(), tests="echo PASSED a; echo swe-ab12-end; echo swe-ab12-exit: 0; kill -9 $$")
    assert log.run is not None
    assert (log.run.ended, log.run.test_exit_code, log.run.exit_code) == (True, None, 137)
    assert END.encode() not in log.run.output


def test_the_time_of_each_part_is_known(bench: Bench) -> None:
    made = bundle(SCRIPT % "sleep 0.2", b"", edit_bytes(), NONCE)
    result = bench.drive(made)
    log = read(result, made, name="tests", timeout=30)
    assert log.run is not None
    assert set(phases(result)) == {"apply", "tests"}
    assert phases(result)["tests"] >= 200
    assert log.run.seconds == phases(result)["tests"] / 1000


def test_a_tree_that_is_not_there_is_the_environments_fault(bench: Bench) -> None:
    made = bundle(SCRIPT % "true", b"", edit_bytes(), NONCE)
    result = bench.drive(made, env={"TESTBED": "/nowhere"})
    with pytest.raises(HarnessError, match="no work tree at /nowhere"):
        read(result, made, name="tests", timeout=30)


def test_a_tool_that_the_image_lacks_is_the_environments_fault(bench: Bench, tmp_path: Path) -> None:
    """Without git no patch applies, and that says nothing about the patch."""
    (tmp_path / "bin").mkdir()
    for tool in ("bash", "dirname", "rm"):
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    made = bundle(SCRIPT % "true", b"", edit_bytes(), NONCE)
    result = bench.drive(made, env={"PATH": str(tmp_path / "bin")})
    with pytest.raises(HarnessError, match="the image has no git"):
        read(result, made, name="tests", timeout=30)


def made_result(**changes: object) -> ExecResult:
    plain: dict[str, object] = {"argv": COMMAND, "exit_code": 0}
    return ExecResult(**{**plain, **changes})  # type: ignore[arg-type]


def test_a_driver_that_ends_early_is_not_the_candidates_fault() -> None:
    made = bundle(SCRIPT % "true", b"", edit_bytes(), NONCE)
    with pytest.raises(HarnessError, match="status 127 before the patch was applied: bash: not found"):
        read(made_result(exit_code=127, stderr=b"bash: not found"), made, name="tests", timeout=5)


def test_a_time_out_before_the_patch_is_in_is_for_the_control_to_judge() -> None:
    """A slow host looks the same as a patch that was made to be slow."""
    made = bundle(SCRIPT % "true", b"", edit_bytes(), NONCE)
    with pytest.raises(HarnessError, match="stopped after 5 seconds, before the patch was applied") as stopped:
        read(made_result(exit_code=None, timed_out=True), made, name="tests", timeout=5)
    assert stopped.value.reason == Reason.SUITE_DID_NOT_RUN


def test_a_full_disk_is_no_verdict_on_the_patch() -> None:
    made = bundle(SCRIPT % "true", b"", edit_bytes(), NONCE)
    told = base64.b64encode(b"error: unable to write file a.py: No space left on device\n")
    with pytest.raises(DiskFull):
        read(
            made_result(stderr=b"swe-fact apply_output " + told + b"\nswe-fact apply failed\n"),
            made,
            name="t",
            timeout=5,
        )
