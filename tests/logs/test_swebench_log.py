"""Reading whole logs: the order of the official rules, and what kept tests from running."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_swe.logs.markers import BAD_CODES, END, EXIT, START
from pytest_swe.logs.official import ParserContext
from pytest_swe.logs.swebench_log import (
    hidden_tests_failure,
    network_failure,
    read_log,
    text_of,
    timed_out,
)

CONTEXT = ParserContext(instance_id="o__r-1", repo="o/r", version="1.0")
RESULTS = ["PASSED a.py::t", "FAILED a.py::t - x", "SKIPPED a.py::u", "ERROR a.py::t", "t (B) ... ok", "t (B) ... FAIL"]
ENDS = ["\n", "\r", "\r\n", " "]
PIECES = st.sampled_from([START, END, EXIT, f"{EXIT}: 0", f"{EXIT}: 1", "12 passing", *BAD_CODES, *RESULTS, *ENDS])


@settings(deadline=None, max_examples=300)
@given(
    pieces=st.lists(PIECES, max_size=14),
    parser=st.sampled_from(["parse_log_pytest", "parse_log_pytest_v2", "parse_log_django", "parse_log_chart_js"]),
)
def test_any_log_is_read_as_swebench_reads_it(pieces: list[str], parser: str) -> None:
    from swebench.harness.grading import get_logs_eval
    from swebench.types import TestSpec as Spec

    output = "".join(pieces).encode()
    spec: Any = Spec("o__r-1", "", [], "o/r", "1.0", [], [], parser, "pass_and_fail")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test_output.txt"
        path.write_bytes(output)
        statuses, found = get_logs_eval(spec, str(path))
    mine = read_log(text_of(output), parser, CONTEXT)
    assert mine.found == found
    if found:
        assert mine.statuses == statuses


@settings(deadline=None)
@given(st.binary())
def test_any_bytes_are_read(output: bytes) -> None:
    text = text_of(output)
    assert "\r" not in text
    assert not read_log(text, "parse_log_pytest", CONTEXT).found
    assert not timed_out(text)
    assert isinstance(network_failure(text) + hidden_tests_failure(text), str)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{START}\nPASSED a\n{END}\n>>>>> Tests Errored", "bad_code"),
        (f"{START}\nPASSED a\n", "no_markers"),
        (f"PASSED a\n{END}\n", "no_markers"),
        (f"{START}\nnothing\n{END}\n", "nothing_parsed"),
        (f"{START}\nPASSED a\n{END}\n{EXIT}: 1\n", "exit_status"),
        (f"{START}\nPASSED a\nFAILED b\n{END}\n{EXIT}: 1\n", ""),
    ],
)
def test_why_a_log_says_nothing(text: str, why: str) -> None:
    assert read_log(text, "parse_log_pytest", CONTEXT).why == why


def test_a_parser_that_raises_says_so() -> None:
    mine = read_log(f"{START}\nFAIL:\n{END}\n{EXIT}: 1\n", "parse_log_django", CONTEXT)
    assert (mine.why, mine.exit_status) == ("parser_failed", 1)
    assert "IndexError" in mine.detail


def test_results_outside_the_markers_are_known_to_be() -> None:
    assert read_log(f"PASSED a\n{START}\n{END}\n", "parse_log_pytest", CONTEXT).outside
    assert not read_log(f"PASSED b\n{START}\nPASSED a\n{END}\n", "parse_log_pytest", CONTEXT).outside


def test_the_time_out_note_counts_at_the_very_end_only() -> None:
    assert timed_out("x\n\nTimeout error: 1800 seconds exceeded.")
    assert not timed_out("x\n\nTimeout error: 1800 seconds exceeded.\nPASSED a")


@pytest.mark.parametrize(
    "line",
    [
        "WARNING: Retrying ...: [Errno -3] Temporary failure in name resolution",
        "fatal: unable to access 'https://x/': Could not resolve host: x",
        "npm ERR! request to https://x failed, reason: getaddrinfo EAI_AGAIN x",
        "curl: (7) Couldn't connect to server: Network is unreachable",
    ],
)
def test_a_missing_network_is_seen_before_the_tests_only(line: str) -> None:
    assert network_failure(f"+ pip install\n{line}\n+ : '{START}'\n") == line
    assert network_failure(f"+ : '{START}'\n{line}\n") == ""


TEST_PATCH = """+ git apply -v -
Checking patch t.py...
error: {error}
+ : '{start}'
"""


@pytest.mark.parametrize(
    "error", ["patch failed: t.py:38", "t.py: patch does not apply", "t.py: already exists in working directory"]
)
def test_a_test_patch_that_does_not_apply_is_seen(error: str) -> None:
    assert hidden_tests_failure(TEST_PATCH.format(error=error, start=START)) == f"error: {error}"


def test_errors_of_other_commands_are_not_the_test_patchs() -> None:
    other = "error: patch failed: setup.py\n+ git apply -v -\nApplied patch t.py cleanly.\n"
    assert hidden_tests_failure(f"{other}+ : '{START}'\nerror: x: patch does not apply") == ""
    assert hidden_tests_failure("error: x: patch does not apply") == ""
