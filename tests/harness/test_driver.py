"""The driver in a real shell: hidden tests, what an evaluation prints, the facts beside it, and whose fault it is."""

from __future__ import annotations

import base64
import io
import shutil
from pathlib import Path

import pytest
from driver_bench import FILES, NONCE, SCRIPT, Bench, BenchSandbox, edit_bytes, make_bench

from pytest_swe.errors import DiskFull, HarnessError
from pytest_swe.evaluation.driver import COMMAND, bundle, phases, read
from pytest_swe.logs.markers import END, START
from pytest_swe.model import ExecResult, Reason

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


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)


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
