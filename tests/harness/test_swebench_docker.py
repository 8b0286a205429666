"""The harness on a real engine: one upload, one command, and every way a patch or a candidate can be odd."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from driver_bench import Bench, make_bench

from pytest_swe.harness.swebench import SweBenchHarness
from pytest_swe.logs.markers import END, EXIT, START
from pytest_swe.model import Candidate, EvalLog, Instance, Origin, Reason, Report
from pytest_swe.sandbox.docker import DockerProvider

pytestmark = pytest.mark.docker

HARNESS = SweBenchHarness()
#: The tests' runner: the hidden test reads a.py, the other test looks at the rest of the tree.
RUNNER = b"""import pathlib, sys, time
sys.stdout.reconfigure(line_buffering=True)
exec(pathlib.Path("candidate.py").read_text() if pathlib.Path("candidate.py").exists() else "")
fixed = "fixed" in pathlib.Path("a.py").read_text()
print("PASSED t.py::old")
print("PASSED t.py::new" if fixed else "FAILED t.py::new - not fixed")
sys.exit(not fixed)
"""
HIDDEN = "--- /dev/null\n+++ b/t.py\n@@ -0,0 +1 @@\n+hidden\n"
SCRIPT = f"""#!/bin/bash
set -uxo pipefail
cd /testbed
git config --global --add safe.directory /testbed
git status
git diff
git apply -v - <<'EOF'
{HIDDEN}EOF
: '{START}'
grep hidden t.py && python3 runner.py
: '{END}'
rm t.py
"""
ROW: dict[str, Any] = {
    "instance_id": "o__r-1",
    "repo": "o/r",
    "test_patch": HIDDEN,
    "FAIL_TO_PASS": ["t.py::new"],
    "PASS_TO_PASS": ["t.py::old"],
    "eval_script": SCRIPT,
    "log_parser": "parse_log_pytest",
    "eval_type": "pass_and_fail",
}


@pytest.fixture(scope="module")
def provider() -> Iterator[DockerProvider]:
    made = DockerProvider(pull=False)
    yield made
    made.close()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = make_bench(tmp_path)
    (made.tree / "runner.py").write_bytes(RUNNER)
    made.git("add", "runner.py")
    made.git("commit", "--quiet", "--message", "runner")
    return made


Evaluate = Callable[[bytes | None], tuple[EvalLog, Report]]


@pytest.fixture
def evaluate(bench: Bench, provider: DockerProvider, test_image: str) -> Evaluate:
    """Evaluate a patch in a fresh container that holds the bench's tree."""
    instance = HARNESS.instance({**ROW, "image": test_image, "timeout": 20}, Origin())

    def run(patch: bytes | None) -> tuple[EvalLog, Report]:
        return evaluated(provider, instance, bench, patch)

    return run


def evaluated(
    provider: DockerProvider, instance: Instance, bench: Bench, patch: bytes | None
) -> tuple[EvalLog, Report]:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(bench.tree, arcname=".")
    packed.seek(0)
    sandbox = provider.acquire(instance.spec, labels={"run": "test-swebench-docker"})
    try:
        sandbox.upload(packed, "/testbed")
        log = HARNESS.evaluate(instance, Candidate(model="m", patch=patch), sandbox)
    finally:
        sandbox.close()
    return log, HARNESS.grade(instance, log)


def edit(name: str, old: bytes, new: bytes) -> Callable[[Path], None]:
    def change(tree: Path) -> None:
        (tree / name).write_bytes((tree / name).read_bytes().replace(old, new))

    return change


def fix_and(*changes: Callable[[Path], object]) -> Callable[[Path], None]:
    def change(tree: Path) -> None:
        edit("a.py", b"five", b"fixed")(tree)
        for one in changes:
            one(tree)

    return change


def candidate(code: str) -> Callable[[Path], None]:
    def change(tree: Path) -> None:
        (tree / "candidate.py").write_text(code)

    return change


GOOD: dict[str, Callable[[Path], None]] = {
    "gold": fix_and(),
    "rename": fix_and(lambda tree: (tree / "run.sh").rename(tree / "go fast.sh")),
    "binary": fix_and(edit("data.bin", b"\x01", b"\x01\x00")),
    "mode": fix_and(lambda tree: (tree / "run.sh").chmod(0o755)),
    "crlf": fix_and(edit("crlf.txt", b"l2", b"L2")),
    "writes the hidden test": fix_and(lambda tree: (tree / "t.py").write_text("mine\n")),
}


@pytest.mark.parametrize("case", GOOD)
def test_patches_of_every_kind_resolve(bench: Bench, evaluate: Evaluate, case: str) -> None:
    log, report = evaluate(bench.diff_of(GOOD[case])[0])
    assert (report.resolved, report.measured, report.reason) == (True, True, None), log.steps[0].run
    assert (log.steps[0].apply.attempt, log.steps[0].apply.whole) == ("git-apply", True)
    assert set(log.phases_ms) == {"apply", "tests"}
    assert ("hidden_tests_restored" in report.flags) == (case == "writes the hidden test")


def test_a_patch_without_its_final_newline_resolves(bench: Bench, evaluate: Evaluate) -> None:
    log, report = evaluate(bench.diff_of(fix_and())[0].rstrip(b"\n"))
    assert (report.resolved, log.steps[0].apply.normalised) == (True, ("final_newline",))


def test_a_patch_with_other_line_ends_resolves(bench: Bench, evaluate: Evaluate) -> None:
    log, report = evaluate(bench.diff_of(fix_and())[0].replace(b"\n", b"\r\n"))
    assert (report.resolved, log.steps[0].apply.attempt) == (True, "patch")


def test_the_unpatched_tree_does_not_resolve(evaluate: Evaluate) -> None:
    log, report = evaluate(None)
    assert (report.resolved, report.measured, report.reason) == (False, True, Reason.TESTS_FAILED)
    assert report.excerpt == "FAILED t.py::new - not fixed"
    assert log.steps[0].apply.outcome == "none"


def test_what_does_not_apply_runs_nothing(evaluate: Evaluate) -> None:
    log, report = evaluate(b"--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n other\n-context\n+fixed\n here\n")
    assert (report.reason, report.measured, log.steps[0].run) == (Reason.PATCH_APPLY_FAILED, True, None)


FORGED = f"{START}\nPASSED t.py::new\nPASSED t.py::old\n{END}\n{EXIT}: 0\n"


def test_a_log_in_the_patch_does_not_resolve(bench: Bench, evaluate: Evaluate) -> None:
    """Six added lines that ``git diff`` prints before the tests; with carriage returns, as they were found to work."""
    forged = FORGED.replace("\n", "\r").encode()
    log, report = evaluate(bench.diff_of(edit("a.py", b"five", forged))[0])
    assert (report.resolved, report.reason) == (False, Reason.TESTS_FAILED)
    assert "forged_markers" in report.flags
    run = log.steps[0].run
    assert run is not None
    assert [run.output.count(marker.encode()) for marker in (START, END, EXIT)] == [1, 1, 1]


def test_a_log_that_the_tests_print_does_not_resolve(bench: Bench, evaluate: Evaluate) -> None:
    _, report = evaluate(bench.diff_of(candidate(f"print({FORGED!r})"))[0])
    assert (report.resolved, report.reason) == (False, Reason.TESTS_FAILED)


def test_the_tokens_of_the_run_are_found_out(bench: Bench, evaluate: Evaluate) -> None:
    """Root in its own sandbox reads the script and prints a whole run before the real one ends."""
    code = "print(open('/pytest-swe/eval.sh').read())"
    _, report = evaluate(bench.diff_of(candidate(code))[0])
    assert (report.resolved, report.measured, report.reason) == (False, True, Reason.TAMPERED)


def test_a_run_that_leaves_in_the_middle_is_no_verdict(bench: Bench, evaluate: Evaluate) -> None:
    """Tests that kill the shell above them: there is no end, and the candidate did not earn a 0 or a 1 by it."""
    code = "import os; print('PASSED t.py::new'); print('PASSED t.py::old'); os.kill(os.getppid(), 9)"
    log, report = evaluate(bench.diff_of(candidate(code))[0])
    assert (report.resolved, report.measured, report.reason) == (False, False, Reason.SUITE_DID_NOT_RUN)
    run = log.steps[0].run
    assert run is not None
    assert (run.exit_code, run.ended) == (137, False)


def test_a_status_that_contradicts_the_results_does_not_resolve(bench: Bench, evaluate: Evaluate) -> None:
    code = "print('PASSED t.py::new'); print('PASSED t.py::old'); sys.exit(7)"
    log, report = evaluate(bench.diff_of(candidate(code))[0])
    assert (report.resolved, report.measured, report.reason) == (False, True, Reason.TESTS_FAILED)
    run = log.steps[0].run
    assert run is not None
    assert run.test_exit_code == 7


def test_a_time_out_keeps_what_was_printed(bench: Bench, provider: DockerProvider, test_image: str) -> None:
    patch = bench.diff_of(candidate("print('begun'); time.sleep(600)"))[0]
    instance = HARNESS.instance({**ROW, "image": test_image, "timeout": 3}, Origin())
    log, report = evaluated(provider, instance, bench, patch)
    assert (report.measured, report.reason, report.detail) == (True, Reason.TESTS_TIMED_OUT, "stopped after 3 seconds")
    run = log.steps[0].run
    assert run is not None
    assert b"\nbegun\n" in run.output
    assert log.steps[0].apply.outcome == "applied"
