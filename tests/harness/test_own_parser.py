"""A row's own parser, in a sandbox of its own: what it reads, and what it must not say."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from driver_bench import Bench, BenchSandbox, make_bench
from own_parser_toy import judged, log_with, toy

from pytest_swe.errors import HarnessError, RowInvalid
from pytest_swe.evaluation.own_parser import OF_NOTHING, OUTPUT
from pytest_swe.model import Reason


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)


def test_the_parser_reads_both_streams_and_its_word_takes_their_place(bench: Bench) -> None:
    log = judged(bench)
    assert list(log.steps[0].files) == [OUTPUT]
    harness, instance = toy(bench, required=("t1",))
    assert harness.grade(instance, log).resolved
    harness, instance = toy(bench, required=("t1", "t2"))
    report = harness.grade(instance, log)
    assert (report.resolved, report.measured, report.fail_to_pass.failure) == (False, True, ("t2",))


def test_the_parser_has_the_environment_and_the_tree(bench: Bench) -> None:
    parser = 'import os, json, sys; t = {"name": os.environ["A"] + os.getcwd(), "status": "PASSED"}\n'
    parser += 'json.dump({"tests": [t]}, open(sys.argv[3], "w"))'
    log = judged(bench, parser=parser, exports=("export A=b",))
    assert json.loads(log.steps[0].files[OUTPUT])["tests"][0]["name"] == f"b{bench.tree}"


def test_the_parser_is_judged_in_a_fresh_sandbox_of_the_same_kind(bench: Bench) -> None:
    harness, instance = toy(bench)
    assert harness.judging(instance) == instance.spec


@pytest.mark.parametrize(
    ("parser", "says"),
    [
        ("import sys; sys.exit('no good')", "parser ended with status 1: no good"),
        ("(", "parser ended with status 1: SyntaxError"),
        ("", "parser ended with status 0: it said nothing"),
        ("import sys; open(sys.argv[3], 'w').write('x')", "wrote no JSON"),
        ("import sys; open(sys.argv[3], 'w').write('[]')", "wrote no list of tests"),
        ("import sys; open(sys.argv[3], 'w').write('{\"tests\": [{\"name\": 1}]}')", "without name and status"),
    ],
)
def test_a_parser_that_fails_is_no_verdict(bench: Bench, parser: str, says: str) -> None:
    with pytest.raises(HarnessError, match=says) as raised:
        judged(bench, parser=parser)
    assert raised.value.reason == Reason.LOG_UNPARSEABLE


def test_what_the_candidate_prints_may_be_no_utf8(bench: Bench) -> None:
    with pytest.raises(HarnessError, match="UnicodeDecodeError"):
        judged(bench, run=f"printf {shlex.quote(chr(92) + '377')}", exports=("export LC_ALL=C.UTF-8",))


def test_a_run_without_streams_is_not_parsed(bench: Bench) -> None:
    harness, instance = toy(bench)
    log = log_with({}, bench)
    assert harness.judge(instance, log, BenchSandbox(bench)) is log
    report = harness.grade(instance, log)
    assert (report.measured, report.reason) == (False, Reason.SUITE_DID_NOT_RUN)


SAYS_ALWAYS = """
import json, sys
tests = [{"name": line, "status": "PASSED"} for line in ["whole suite", *open(sys.argv[1]).read().split()]]
json.dump({"tests": tests}, open(sys.argv[3], "w"))
"""


def test_what_a_parser_says_of_nothing_is_no_sign_of_a_run(bench: Bench) -> None:
    harness, instance = toy(bench)
    for run, reason in (("", Reason.SUITE_DID_NOT_RUN), ("echo t2", Reason.TESTS_FAILED)):
        log = judged(bench, parser=SAYS_ALWAYS, run=run)
        assert OF_NOTHING in log.steps[0].files
        assert harness.grade(instance, log).reason == reason
    assert harness.grade(instance, judged(bench, parser=SAYS_ALWAYS, run="echo t1")).resolved


def test_a_parser_that_needs_no_output_for_a_verdict_makes_its_row_invalid(bench: Bench) -> None:
    with pytest.raises(RowInvalid, match="parser: it says of no output at all that a required test passed: 'whole"):
        judged(bench, parser=SAYS_ALWAYS, required=("whole suite",))
