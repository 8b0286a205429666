"""A row's own run script: two streams, the names it gets, the tree that it finds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from driver_bench import Bench, make_bench
from own_parser_toy import evaluated

from pytest_swe.errors import HarnessError
from pytest_swe.evaluation.own_script import STDERR, STDOUT, last_line
from pytest_swe.model import Reason


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)


def test_the_streams_come_apart_and_both_are_shown(bench: Bench) -> None:
    log = evaluated(bench, run="echo out; echo err >&2; cat a.py; exit 3")
    step = log.steps[0]
    assert dict(step.files) == {STDOUT: b"out\nONE\n" + (bench.tree / "a.py").read_bytes()[4:], STDERR: b"err\n"}
    assert step.run is not None
    assert step.run.test_exit_code == 3
    shown = step.run.output.decode().split("\n")
    assert {"out", "err", "ONE"} <= set(shown[shown.index("+ : '>>>>> Start Test Output'") :])


def test_without_a_tail_that_follows_they_are_shown_afterwards(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tail").write_text('#!/bin/sh\n[ "$1" = -q ] && exit 1\nexec /usr/bin/tail "$@"\n')
    (tmp_path / "bin" / "tail").chmod(0o755)
    log = evaluated(bench, env={"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}, run="echo out; echo err >&2")
    assert log.steps[0].run is not None
    assert "\nout\nerr\n" in log.steps[0].run.output.decode()


def test_what_a_daemon_holds_open_holds_nothing_up(bench: Bench) -> None:
    log = evaluated(bench, run="sleep 7 & echo t1 PASSED")
    assert log.steps[0].run is not None
    assert not log.steps[0].run.timed_out
    assert log.steps[0].run.seconds < 7
    assert log.steps[0].files[STDOUT] == b"t1 PASSED\n"


@pytest.mark.parametrize("tests", [("a.py", "b c.py"), ('T/"host:1"', "T/$db", "doesn't", "x[*]", "#1")])
def test_the_run_script_gets_the_names_as_they_are(bench: Bench, tests: tuple[str, ...]) -> None:
    log = evaluated(bench, run='echo "$#"; echo "$1"', tests=tests)
    assert log.steps[0].files[STDOUT].decode() == f"1\n{','.join(tests)}\n"


def test_without_names_it_gets_none(bench: Bench) -> None:
    assert evaluated(bench, run='echo "$#"').steps[0].files[STDOUT] == b"0\n"


def test_the_environment_is_that_of_the_dockerfiles(bench: Bench) -> None:
    log = evaluated(bench, run='echo "$A"', exports=("export A='b c'",), lay='[ "$A" = "b c" ]')
    assert log.steps[0].files[STDOUT] == b"b c\n"


def test_the_tree_is_reset_before_the_patch_and_untracked_files_stay(bench: Bench) -> None:
    (bench.tree / "a.py").write_text("changed in the image\n")
    log = evaluated(bench, run="head -n 1 a.py; cat untracked.egg-info/PKG-INFO")
    assert log.steps[0].files[STDOUT] == b"ONE\nneeded\n"


def test_hidden_tests_lie_over_the_patch(bench: Bench) -> None:
    log = evaluated(bench, run="head -n 1 a.py", lay="git checkout --quiet HEAD -- a.py")
    assert log.steps[0].files[STDOUT] == b"one\n"


def test_hidden_tests_that_are_not_there_are_no_verdict(bench: Bench) -> None:
    with pytest.raises(HarnessError, match=r"cannot be put in place: .*deadbeef") as raised:
        evaluated(bench, lay="git checkout deadbeef -- a.py")
    assert raised.value.reason == Reason.TEST_PATCH_FAILED


def test_only_the_last_line_puts_the_tests_in_place() -> None:
    assert last_line("git reset --hard x\ngit checkout y -- a.py \n") == "git checkout y -- a.py"
    assert last_line("git checkout y -- a.py") == "git checkout y -- a.py"
    assert last_line(" \n") == ""
