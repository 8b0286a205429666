"""Predictions and the instances they are of: repeated ones, near misses, and those that match."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_swe.dataset.predictions import Duplicates, match

from .prediction_files import ENTRIES, Entries, jsonl, read

REPEATED: Entries = [
    {"instance_id": "a-1", "model_name_or_path": "m", "model_patch": "one"},
    {"instance_id": "a-2", "model_name_or_path": "m", "model_patch": "two"},
    {"instance_id": "a-1", "model_name_or_path": "m", "model_patch": ""},
    {"instance_id": "a-1", "model_name_or_path": "other", "model_patch": "four"},
    {"instance_id": "a-1", "model_name_or_path": "m", "model_patch": "five"},
]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("error", [("a-1", "m", 1, "bad"), ("a-2", "m", 1, "patch"), ("a-1", "other", 1, "patch")]),
        ("first", [("a-1", "m", 1, "patch"), ("a-2", "m", 1, "patch"), ("a-1", "other", 1, "patch")]),
        ("last", [("a-2", "m", 1, "patch"), ("a-1", "other", 1, "patch"), ("a-1", "m", 1, "patch")]),
        (
            "all",
            [
                ("a-1", "m", 1, "patch"),
                ("a-2", "m", 1, "patch"),
                ("a-1", "m", 2, "empty"),
                ("a-1", "other", 1, "patch"),
                ("a-1", "m", 3, "patch"),
            ],
        ),
    ],
)
def test_duplicates(tmp_path: Path, rule: Duplicates, expected: list[tuple[str, str, int, str]]) -> None:
    found = read(tmp_path, jsonl(REPEATED), duplicates=rule)
    assert [(ref.instance_id, ref.model, ref.number, ref.kind) for ref in found.refs] == expected
    patches = {ref.line: found.patch(ref) for ref in found.refs if ref.kind != "bad"}
    all_of_them = {1: b"one", 2: b"two", 3: b"", 4: b"four", 5: b"five"}
    assert patches == {line: all_of_them[line] for line in patches}
    if rule == "error":
        assert "3 predictions of m for a-1 (lines 1, 3, 5)" in found.refs[0].problem
        assert "--swe-duplicates" in found.refs[0].problem
    left_out = {"first": "2 repeated predictions left out, the first", "last": "2 repeated predictions left out, the"}
    assert [left_out.get(rule, "nothing") in note for note in found.notes] == [True] * len(found.notes)
    assert len(found.notes) == (rule in left_out)


def test_predictions_of_an_instance(tmp_path: Path) -> None:
    found = read(tmp_path, jsonl(REPEATED), duplicates="all")
    assert [ref.line for ref in found.of("a-1")] == [1, 3, 4, 5]
    assert found.of("none") == ()


@pytest.mark.parametrize(
    ("instance_id", "suggestion"),
    [
        ("django__django-11099 ", "django__django-11099"),
        (" django__django-11099", "django__django-11099"),
        ("Django__django-11099", "django__django-11099"),
        ("django/django-11099", "django__django-11099"),
        ("django_1776_django-11099", "django__django-11099"),
        ("djanga__django-11099", "django__django-11099"),
        ("django__django-1109", ""),
        ("quite__other-1", ""),
    ],
)
def test_near_misses_are_suggested_never_folded(tmp_path: Path, instance_id: str, suggestion: str) -> None:
    found = read(tmp_path, jsonl([{"instance_id": instance_id, "model_patch": "x"}]))
    assert [ref.instance_id for ref in found.refs] == [instance_id]
    unmatched = match(found, ["django__django-11099", "sympy__sympy-1"])
    assert [u.suggestion for u in unmatched] == [suggestion]
    assert repr(instance_id) in str(unmatched[0])
    assert ("did you mean" in str(unmatched[0])) is bool(suggestion)


def test_known_ids_match(tmp_path: Path) -> None:
    assert match(read(tmp_path, jsonl(ENTRIES)), ["a-1", "a-2", "a-3"]) == ()
