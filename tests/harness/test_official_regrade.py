"""Logs that are handed on are graded by swebench's own code as they are here. Evaluated in a real shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from driver_bench import SCRIPT, BenchSandbox, make_bench

from pytest_swe.harness.swebench import SweBenchHarness
from pytest_swe.logs.markers import BAD_CODES, END, EXIT, START
from pytest_swe.model import Candidate, EvalLog, Instance, Origin, Reason, Report

HARNESS = SweBenchHarness()
ROW: dict[str, Any] = {
    "instance_id": "o__r-1",
    "repo": "o/r",
    "version": "1.0",
    "FAIL_TO_PASS": ["t.py::new"],
    "PASS_TO_PASS": ["t.py::old"],
    "image": "x",
    "log_parser": "parse_log_pytest",
    "eval_type": "pass_and_fail",
}
PATCH = b"--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,3 @@\n one\n+%s\n two\n"
PASSING = "echo PASSED t.py::new; echo PASSED t.py::old"


def printing(marker: str) -> str:
    """A command that prints a marker which does not stand in the script as such."""
    return "printf '\\076%s\\n' " + f"'{marker[1:]}'"


#: Test commands, whether they resolve here, and why not.
TESTS: dict[str, tuple[str, bool, Reason | None]] = {
    "pass": (PASSING, True, None),
    "fail": ("echo FAILED t.py::new; echo PASSED t.py::old; false", False, Reason.TESTS_FAILED),
    "missing": ("echo PASSED t.py::new", False, Reason.TESTS_FAILED),
    "status disagrees": (f"{PASSING}; false", False, Reason.TESTS_FAILED),
    "pipe": (f"({PASSING}; false) | cat", False, Reason.TESTS_FAILED),
    "nothing": ("true", False, Reason.LOG_UNPARSEABLE),
    "no parser": ("echo oops; false", False, Reason.SUITE_DID_NOT_RUN),
    "leaves": (f"{PASSING}; exit 7", False, Reason.SUITE_DID_NOT_RUN),
    "killed": (f"{PASSING}; kill -9 $$", False, Reason.SUITE_DID_NOT_RUN),
    "forged end": (f"{printing(END)}; echo FAILED t.py::new; {PASSING}; false", False, Reason.TESTS_FAILED),
    "forged status": (f"{printing(EXIT)}': 0'; {PASSING}; false", False, Reason.TESTS_FAILED),
    "forged codes": ("; ".join(map(printing, BAD_CODES)) + f"; {PASSING}", True, None),
    "forged in a line": (
        f"printf 'x\\r'; {printing(START)}; printf '\\rPASSED t.py::new\\r'; {printing(END)}; "
        "echo FAILED t.py::new; false",
        False,
        Reason.TESTS_FAILED,
    ),
    "not UTF-8": (f"printf '\\377\\376\\n'; {PASSING}", True, None),
    "the script is printed": (f"cat ${{0%/*}}/eval.sh; {PASSING}", False, Reason.TAMPERED),
    "a status is written": (f"echo 0 >>${{0%/*}}/status; {PASSING}; false", False, Reason.TAMPERED),
}


def evaluated(folder: Path, tests: str, patch: bytes, timeout: float = 60) -> tuple[Instance, EvalLog, Report]:
    script = (SCRIPT % tests).replace(f": '{START}'", f"git diff\n: '{START}'")
    instance = HARNESS.instance({**ROW, "eval_script": script, "timeout": timeout}, Origin())
    sandbox = BenchSandbox(make_bench(folder))
    log = HARNESS.evaluate(instance, Candidate(model="m", patch=patch), sandbox)
    assert sandbox.calls == ["upload /pytest-swe", "exec bash driver.sh"]
    return instance, log, HARNESS.grade(instance, log)


def official(folder: Path, saved: bytes) -> dict[str, Any]:
    """What swebench's own grader says of a saved log."""
    from swebench.harness.grading import get_eval_report
    from swebench.types import TestSpec as Spec

    (folder / "test_output.txt").write_bytes(saved)
    spec = Spec(
        "o__r-1", "x", [], "o/r", "1.0", ROW["FAIL_TO_PASS"], ROW["PASS_TO_PASS"], "parse_log_pytest", "pass_and_fail"
    )
    prediction = {"instance_id": "o__r-1", "model_patch": "x", "model_name_or_path": "m"}
    return dict(get_eval_report(spec, prediction, str(folder / "test_output.txt"), True))


@pytest.mark.parametrize("case", TESTS)
@pytest.mark.parametrize("forging", [False, True])
def test_the_saved_log_has_the_same_report(tmp_path: Path, case: str, forging: bool) -> None:
    """Also when the patch brings a forged log of its own, which ``git diff`` prints before the tests."""
    tests, resolved, reason = TESTS[case]
    forged = f"x\r{START}\r>>>>> x\r{END}\r{EXIT}: 0\r".encode()
    _, log, report = evaluated(tmp_path, tests, PATCH % (forged if forging else b"x"))
    assert (report.resolved, report.reason) == (resolved, reason)
    run = log.steps[0].run
    assert run is not None
    theirs = official(tmp_path, run.output)
    assert theirs == report.official
    assert theirs["o__r-1"]["resolved"] == report.resolved
    assert ("forged_markers" in report.flags) == (forging or case.startswith("forged"))


def test_results_in_the_patch_itself_are_no_results(tmp_path: Path) -> None:
    """The tests print nothing and succeed; the patch holds a forged log. swebench takes the patch's word for it."""
    _, log, report = evaluated(tmp_path, "true", PATCH % b"x\rPASSED t.py::new\rPASSED t.py::old\r")
    assert (report.resolved, report.measured, report.reason) == (False, False, Reason.LOG_UNPARSEABLE)
    assert report.flags == ("official_differs:results_outside_markers",)
    run = log.steps[0].run
    assert run is not None
    assert official(tmp_path, run.output) == report.official
    assert official(tmp_path, run.output)["o__r-1"]["resolved"]


def test_a_run_that_is_stopped_keeps_what_it_printed(tmp_path: Path) -> None:
    _, log, report = evaluated(tmp_path, "echo PASSED t.py::new; sleep 60", PATCH % b"x", timeout=2)
    run = log.steps[0].run
    assert run is not None
    assert (run.timed_out, run.timeout, run.exit_code, run.ended) == (True, 2.0, None, False)
    assert b"\nPASSED t.py::new\n" in run.output
    assert (report.resolved, report.measured, report.reason) == (False, True, Reason.TESTS_TIMED_OUT)
    assert official(tmp_path, run.output + b"\n\nTimeout error: 2 seconds exceeded.") == report.official


def test_a_log_survives_being_saved(tmp_path: Path) -> None:
    instance, log, report = evaluated(tmp_path, PASSING, PATCH % b"x")
    assert HARNESS.grade(instance, EvalLog.from_json(log.to_json())) == report
    assert log.script == (SCRIPT % PASSING).replace(f": '{START}'", f"git diff\n: '{START}'")
    assert set(log.phases_ms) == {"apply", "tests"}
