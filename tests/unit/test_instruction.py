"""What an agent is told of a row."""

from __future__ import annotations

import pytest

from pytest_swe.agent.instruction import instruction_of
from pytest_swe.errors import RowInvalid


def test_the_problem_as_the_data_set_words_it_and_no_hints() -> None:
    row = {"instance_id": "i", "problem_statement": "It breaks.\n", "hints_text": "Look at line 3."}
    assert instruction_of(row) == "It breaks.\n"


def test_issues_as_a_list_are_put_together() -> None:
    issues = [{"number": 1, "title": "Breaks", "body": "When run."}, {"title": "Again", "body": None}]
    assert instruction_of({"resolved_issues": issues}) == "Breaks\n\nWhen run.\n\nAgain"


def test_what_the_user_says_in_a_request() -> None:
    parts = [{"type": "input_text", "text": "And twice."}, {"type": "image"}, "x"]
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "It breaks."}]
    assert instruction_of({"responses_create_params": {"input": [*said, {"role": "user", "content": parts}]}}) == (
        "It breaks.\n\nAnd twice."
    )
    assert instruction_of({"responses_create_params": {"input": "It breaks. "}}) == "It breaks."


@pytest.mark.parametrize(
    "row",
    [
        {"responses_create_params": {"input": [1]}},
        {},
        {"problem_statement": "  "},
        {"problem_statement": 3},
        {"resolved_issues": "x"},
    ],
)
def test_a_row_that_says_nothing_is_an_error_of_that_row(row: dict[str, object]) -> None:
    with pytest.raises(RowInvalid, match="problem_statement"):
        instruction_of({"instance_id": "i", **row})
