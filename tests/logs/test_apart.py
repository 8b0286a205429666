"""Parsers that may not end run apart, with the same answer, and end with their time."""

from __future__ import annotations

import pytest

from pytest_swe.errors import RowInvalid
from pytest_swe.logs.apart import parse_safely
from pytest_swe.logs.official import LogUnparseable, ParserContext, parse

CONTEXT = ParserContext(instance_id="o__r-1", repo="o/r", version="1.0")


@pytest.mark.parametrize("filler", ["", "\n" * 200_000, "x" * 2000 + "\n", "\u2713 \ufffd \x1b[1m\n" * 20_000])
def test_the_answer_is_the_same_apart(filler: str) -> None:
    text = filler + "PASSED a.py::t[\u00e9]\nFAILED a.py::u - x\n"
    assert parse_safely("parse_log_pytest", text, CONTEXT) == parse("parse_log_pytest", text, CONTEXT)


def test_what_a_parser_prints_or_raises_comes_back_as_before() -> None:
    text = "mvn test -Dtest=x\n" + "x" * 2000
    assert parse_safely("parse_log_maven", text, CONTEXT) == parse("parse_log_maven", text, CONTEXT)
    with pytest.raises(LogUnparseable, match="parse_log_django raised IndexError"):
        parse_safely("parse_log_django", "FAIL:\n" + "x" * 2000, CONTEXT)
    with pytest.raises(RowInvalid):
        parse_safely("parse_log_none", "x" * 2000, CONTEXT)


@pytest.mark.parametrize(("parser", "piece"), [("parse_log_eslint", "1) \n"), ("parse_log_sympy", " - ")])
def test_a_parser_that_does_not_end_is_ended(parser: str, piece: str) -> None:
    with pytest.raises(LogUnparseable, match="did not end within 1 seconds"):
        parse_safely(parser, piece * 40_000, CONTEXT, seconds=1)
