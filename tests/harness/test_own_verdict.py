"""What the output of a row's own parser is worth: the verdict, its flags, its stricter reading."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from driver_bench import Bench, make_bench
from hypothesis import given
from hypothesis import strategies as st
from own_parser_toy import EDIT, judged, log_with, parsed, toy

from pytest_swe.evaluation.own_parser import OUTPUT
from pytest_swe.evaluation.own_results import own_results
from pytest_swe.logs.runners import Unreadable
from pytest_swe.model import EvalLog, Reason

NOTHING = "import json, sys; json.dump({'tests': []}, open(sys.argv[3], 'w'))"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)


def test_no_test_at_all_is_no_verdict(bench: Bench) -> None:
    harness, instance = toy(bench)
    report = harness.grade(instance, log_with({OUTPUT: parsed()}, bench))
    assert (report.measured, report.reason) == (False, Reason.SUITE_DID_NOT_RUN)


@pytest.mark.parametrize(
    "said",
    [
        "FAIL\texample.com/x [build failed]",
        "==== ERRORS ====\nERROR t.py\n==== 1 error in 0.10s ====",
        "Test Suites: 1 failed, 1 total\nTests:       0 total",
    ],
)
def test_tests_that_cannot_be_built_are_a_failure(bench: Bench, said: str) -> None:
    harness, instance = toy(bench)
    report = harness.grade(instance, judged(bench, run=f"echo {shlex.quote(said)}", parser=NOTHING))
    assert (report.resolved, report.measured, report.reason) == (False, True, Reason.TESTS_FAILED)


@pytest.mark.parametrize("runner", ["", "; echo 'FAIL\tx [setup failed]'"])
def test_a_run_script_that_needs_a_network_says_so(bench: Bench, runner: str) -> None:
    harness, instance = toy(bench)
    run = f"echo 'npm error getaddrinfo EAI_AGAIN registry.example.com' >&2{runner}"
    report = harness.grade(instance, judged(bench, run=run, parser=NOTHING))
    assert (report.resolved, report.measured, report.reason) == (False, False, Reason.NETWORK_NEEDED)
    assert "getaddrinfo EAI_AGAIN" in report.detail
    assert "--swe-network full" in report.detail


def test_a_failing_test_may_speak_of_the_network(bench: Bench) -> None:
    harness, instance = toy(bench)
    report = harness.grade(instance, judged(bench, run="echo t1 FAILED; echo Network is unreachable"))
    assert (report.measured, report.reason) == (True, Reason.TESTS_FAILED)


def test_other_tests_alone_are_a_failure(bench: Bench) -> None:
    harness, instance = toy(bench)
    report = harness.grade(instance, log_with({OUTPUT: parsed(("t", "PASSED"), ("t10", "PASSED"))}, bench))
    assert (report.resolved, report.measured, report.reason) == (False, True, Reason.TESTS_FAILED)


@pytest.mark.parametrize("status", ["FAILED", "SKIPPED", "ERROR", "XFAIL", "passed", "PASSED ", "RERUN", ""])
def test_only_passed_passes(bench: Bench, status: str) -> None:
    harness, instance = toy(bench)
    assert not harness.grade(instance, log_with({OUTPUT: parsed(("t1", status))}, bench)).resolved


@pytest.mark.parametrize("order", [("FAILED", "PASSED"), ("PASSED", "ERROR"), ("SKIPPED", "PASSED")])
def test_a_test_that_also_failed_is_flagged_and_fails_by_the_stricter_reading(
    bench: Bench, order: tuple[str, str]
) -> None:
    harness, instance = toy(bench)
    report = harness.grade(instance, log_with({OUTPUT: parsed(*(("t1", status) for status in order))}, bench))
    assert report.resolved
    assert "official_differs:worst_status" in report.flags
    assert (report.under("strict").resolved, report.under("strict").reason) == (False, Reason.TESTS_FAILED)


def test_a_test_listed_twice_alike_is_not_flagged(bench: Bench) -> None:
    harness, instance = toy(bench)
    report = harness.grade(instance, log_with({OUTPUT: parsed(("t1", "PASSED"), ("t1", "PASSED"))}, bench))
    assert report.resolved
    assert report.flags == ()
    assert report.under("strict") is report


def test_an_attempt_that_the_authors_do_not_make_is_flagged(bench: Bench) -> None:
    harness, instance = toy(bench)
    log = log_with({OUTPUT: parsed(("t1", "PASSED"))}, bench)
    step = log.steps[0]
    other = replace(log, steps=(replace(step, apply=replace(step.apply, attempt="git-apply-3way")),))
    assert "official_differs:patch_applied" in harness.grade(instance, other).flags
    assert harness.grade(instance, log).flags == ()


def test_another_user_is_not_what_the_tests_run_as(bench: Bench) -> None:
    log = log_with({OUTPUT: parsed(("t1", "PASSED"))}, bench)
    for user, flags in (("node", ("official_differs:runs_as_root",)), ("root", ()), ("0", ())):
        harness, instance = toy(bench, user=user)
        assert harness.grade(instance, log).flags == flags
        assert instance.spec.user == "root"


def test_a_saved_log_is_graded_by_the_output_of_its_parser(bench: Bench) -> None:
    harness, instance = toy(bench)
    for found, resolved in ((parsed(("t1", "PASSED")), True), (parsed(("t1", "FAILED")), False)):
        log = harness.saved(instance, EDIT, b"", {OUTPUT: found})
        assert harness.grade(instance, log).resolved == resolved
        assert harness.grade(instance, EvalLog.from_json(json.loads(json.dumps(log.to_json())))).resolved == resolved
    report = harness.grade(instance, harness.saved(instance, EDIT, b"", {OUTPUT: b"{"}))
    assert (report.measured, report.reason) == (False, Reason.LOG_UNPARSEABLE)


@given(
    st.binary()
    | st.recursive(
        st.none() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.sampled_from(["tests", "name", "status"]), x)
    ).map(lambda found: json.dumps(found).encode())
)
def test_any_bytes_are_results_or_unreadable(data: bytes) -> None:
    try:
        statuses = own_results(data).statuses
    except Unreadable:
        return
    assert set(statuses.values()) <= {"PASSED", "FAILED", "SKIPPED", "ERROR", "XFAIL"}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["PASSED", "FAILED", "ERROR", "other"]))))
def test_what_passed_is_what_the_authors_count(entries: list[tuple[str, str]]) -> None:
    statuses = own_results(parsed(*entries)).statuses
    assert {name for name, status in statuses.items() if status == "PASSED"} == {
        name for name, status in entries if status == "PASSED"
    }
