"""The few lines that say why a test failed, from the shapes that runners print."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_swe.logs.excerpt import MAX_LINES, MAX_WIDTH, excerpt, plain

PYTEST = """=========================== FAILURES ===========================
____________________________ test_a ____________________________

    def test_a():
>       assert 1 == 2
E       assert 1 == 2

t.py:2: AssertionError
___________________ TestB.test_c[x y] ___________________
E       ValueError: two
----------------------------- Captured stdout call -----------------------------
noise
_______________ ERROR at setup of test_d ________________
E       fixture 'z' not found
=========================== short test summary info ============================
FAILED t.py::test_a - assert 1 == 2
FAILED t.py::TestB::test_c[x y] - ValueError: two
ERROR t.py::test_d
FAILED t.py::test_e - no block
"""

CAPTURED = f"E       ValueError: two\n{' Captured stdout call ':-^80}\nnoise"

DJANGO = """test_x (a.tests.T) ... FAIL
======================================================================
FAIL: test_x (a.tests.T)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "a.py", line 1, in test_x
AssertionError: True is not False

======================================================================
ERROR: test_y (a.tests.T)
The first line of its docstring.
----------------------------------------------------------------------
KeyError: 'y'

----------------------------------------------------------------------
Ran 2 tests in 0.001s
"""

SYMPY = """________________________________________________________________________________
_________________ sympy/core/tests/test_basic.py:test_one _________________
Traceback (most recent call last):
AssertionError
============= tests finished: 1 passed, 1 failed, in 0.02 seconds ==============
"""


@pytest.mark.parametrize(
    ("text", "test", "expected"),
    [
        (PYTEST, "t.py::test_a", "E       assert 1 == 2\n\nt.py:2: AssertionError"),
        (
            PYTEST,
            "t.py::TestB::test_c[x y]",
            CAPTURED,
        ),
        (
            PYTEST,
            "t.py::TestB::test_c[x",
            CAPTURED,
        ),
        (PYTEST, "t.py::test_d", "E       fixture 'z' not found"),
        (PYTEST, "t.py::test_e", "FAILED t.py::test_e - no block"),
        (
            DJANGO,
            "test_x (a.tests.T)",
            'Traceback (most recent call last):\n  File "a.py", line 1, in test_x\nAssertionError: True is not False',
        ),
        (DJANGO, "The first line of its docstring.", "KeyError: 'y'"),
        (SYMPY, "test_one", "Traceback (most recent call last):\nAssertionError"),
    ],
)
def test_the_end_of_the_tests_own_traceback(text: str, test: str, expected: str) -> None:
    assert excerpt(text, test).endswith(expected)
    assert not excerpt(text, test).startswith("===")


def test_without_a_trace_of_the_test_the_end_of_the_log() -> None:
    assert excerpt("one\ntwo\n\n", "t.py::gone") == "one\ntwo"
    assert excerpt("\n".join(str(number) for number in range(50)), "").split("\n") == [str(n) for n in range(38, 50)]


def test_escapes_and_control_characters_are_gone() -> None:
    assert (
        plain("\x1b[1;32mPASSED\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x1b\\ a\x00b\rc\td\n") == "PASSED link abc\td\n"
    )
    coloured = PYTEST.replace("____ test_a ____", "\x1b[31m____ test_a ____\x1b[0m").replace(
        "E  ", "\x1b[31mE\x1b[0m  "
    )
    assert excerpt(coloured, "t.py::test_a").endswith("t.py:2: AssertionError")


@settings(deadline=None)
@given(
    text=st.one_of(st.text(), st.lists(st.sampled_from(PYTEST.split("\n") + DJANGO.split("\n"))).map("\n".join)),
    test=st.text(),
)
def test_any_text_gives_a_few_short_lines(text: str, test: str) -> None:
    found = excerpt(text, test).split("\n")
    assert len(found) <= MAX_LINES
    assert all(len(line) <= MAX_WIDTH for line in found)
    assert plain("\n".join(found)) == "\n".join(found)


def test_long_lines_of_any_kind_are_read_at_once() -> None:
    """Each of these takes minutes if a pattern backtracks over a line more than once."""
    for piece in ("_" * 3 + " x ", "=", "FAIL: ", "\x1b[", "\x1b]", "-", "_ "):
        excerpt(piece * 400_000, "x")
        excerpt((piece * 20 + "\n") * 20_000, "x")
