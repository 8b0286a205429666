"""FAIL_TO_PASS and PASS_TO_PASS: every form that is accepted, and every one that is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_swe.required import required_tests

IDS = ["a.py::t[x]", "b.py::u", "#15789", "with \"quotes\", \\ and 'both'"]


@pytest.mark.parametrize(
    "value",
    [
        IDS,
        tuple(IDS),
        json.dumps(IDS),
        repr(IDS),
        f"  {IDS!r}\n",
        repr(tuple(IDS)),
        np.array(IDS, dtype=object),
        np.array(IDS),
        pa.array(IDS),
        pa.array([IDS])[0],
    ],
    ids=["list", "tuple", "json", "repr", "padded", "repr-tuple", "object-array", "str-array", "arrow", "arrow-scalar"],
)
def test_every_form_gives_the_same_ids(value: object) -> None:
    assert required_tests(value) == tuple(IDS)


@pytest.mark.parametrize("value", [[], "[]", (), "()", np.array([], dtype=object)])
def test_an_empty_list_is_empty(value: object) -> None:
    assert required_tests(value) == ()


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "a.py::t",
        "['a'",
        '"[\\"a\\"]"',
        "{'a'}",
        '{"a": 1}',
        3,
        {"a": "PASSED"},
        {"a"},
        b'["a"]',
        [1],
        '["a", null]',
        [["a"]],
        "__import__('os').getpid()",
        "[" * 100_000,
        "[" * 1_000,
        np.array(3),
    ],
)
def test_anything_else_is_refused_in_one_short_line(value: object) -> None:
    with pytest.raises(ValueError, match="expected test ids as a list") as refused:
        required_tests(value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_a_wrong_entry_is_named_by_its_number() -> None:
    with pytest.raises(ValueError, match="entry 2 is int 7"):
        required_tests(["a", 7])


def test_strings_are_never_executed(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        required_tests(f"[open({str(tmp_path / 'made')!r}, 'w').name]")
    assert not (tmp_path / "made").exists()


@given(st.lists(st.text()))
def test_json_and_repr_round_trip(ids: list[str]) -> None:
    assert required_tests(json.dumps(ids)) == tuple(ids)
    assert required_tests(repr(ids)) == tuple(ids)
    assert required_tests(ids) == tuple(ids)


@given(st.text())
def test_any_text_gives_ids_or_a_value_error(text: str) -> None:
    try:
        found = required_tests(text)
    except ValueError:
        return
    assert all(isinstance(test, str) for test in found)
