"""JSON in and out, ids, and patches as bytes: the parts that everything else stands on."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_swe.dataset.decode import dumps, loads
from pytest_swe.dataset.ids import checked, instance_id_of, repo_of, salvaged
from pytest_swe.encoding import patch_bytes

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (rb'{"a": "\ud800"}', {"a": "\ud800"}),
        (b'{"a": 1e999}', {"a": math.inf}),
        (b'{"a": "\x0b\x0c\t"}', {"a": "\x0b\x0c\t"}),
        ('{"a": "x\u2028\u0085\x7f"}'.encode(), {"a": "x\u2028\u0085\x7f"}),
        (b'{"a": "\xed\xa0\x80"}', {"a": "\ud800"}),
    ],
    ids=["lone surrogate", "infinity", "control characters", "line separators", "encoded surrogate"],
)
def test_what_one_json_library_refuses_is_not_lost(raw: bytes, value: object) -> None:
    assert loads(raw) == value
    assert loads(dumps(value)) in (value, {"a": None})


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"a": 1', "column"),
        (b'{"a": "\xe9"}', "not UTF-8: byte 0xe9 at column 8"),
        (b"[" * 100_000, "nested too deeply"),
        (b"", "column 1"),
        (b'[1,\n\n"x', "line 3 column"),
    ],
)
def test_what_is_no_json_says_where_in_one_line(raw: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        loads(raw)
    assert "\n" not in str(refused.value)


def test_any_bytes_in_a_string_come_back() -> None:
    raw = b'{"a": "caf\xe9 \\ud800"}'
    value = loads(raw, any_bytes=True)
    assert isinstance(value, dict)
    assert patch_bytes(value["a"]) == b"caf\xe9 \xed\xa0\x80"
    again = loads(dumps(value), any_bytes=True)
    assert isinstance(again, dict)
    assert patch_bytes(again["a"]) == b"caf\xe9 \xed\xa0\x80"


@given(JSON_VALUES)
def test_dumps_and_loads_round_trip(value: object) -> None:
    line = dumps(value)
    assert b"\n" not in line
    assert loads(line) == json.loads(json.dumps(value)) or not _orjson_exact(value)


def _orjson_exact(value: object) -> bool:
    """Whether every integer fits 64 bits; orjson reads longer ones as floats."""
    if isinstance(value, int):
        return -(2**63) <= value < 2**64
    if isinstance(value, list):
        return all(_orjson_exact(item) for item in value)
    if isinstance(value, dict):
        return all(_orjson_exact(item) for item in value.values())
    return True


@given(st.binary())
def test_any_bytes_read_with_surrogateescape_are_the_same_bytes(raw: bytes) -> None:
    assert patch_bytes(raw.decode("utf-8", "surrogateescape")) == raw


@given(st.text())
def test_any_text_has_bytes(text: str) -> None:
    assert isinstance(patch_bytes(text), bytes)


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_text_without_surrogates_is_utf8(text: str) -> None:
    assert patch_bytes(text) == text.encode()


@pytest.mark.parametrize(
    ("row", "instance_id"),
    [
        ({"instance_id": "django__django-1"}, "django__django-1"),
        ({"instance_id": "a b[c]@d/e:f"}, "a b[c]@d/e:f"),
        ({"org": "catchorg", "repo": "Catch2", "number": 2849}, "catchorg__Catch2-2849"),
        ({"instance_id": "x", "org": "o", "repo": "r", "number": 1}, "x"),
        ({"responses_create_params": {"metadata": {"instance_id": "n-1"}}}, "n-1"),
        ({"task_id": "t-1"}, "t-1"),
    ],
)
def test_what_names_a_row(row: Mapping[str, object], instance_id: str) -> None:
    assert instance_id_of(row) == instance_id


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "expected a string, got null"),
        (7, "expected a string, got int"),
        ("", "blank"),
        ("  ", "blank"),
        ("a::b", "'::'"),
        ("a\nb", "control or invisible"),
        ("a\x00", "control or invisible"),
        ("a\u2028b", "control or invisible"),
        ("a\u00a0b", "control or invisible"),
        ("a\ud800", "control or invisible"),
        ("x" * 201, "longer than 200"),
        ("/etc/passwd", "directory of its own"),
        ("..", "directory of its own"),
        ("a/../../b", "directory of its own"),
    ],
)
def test_what_cannot_be_an_id(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        checked(value)
    assert str(refused.value).startswith("instance_id: ")
    assert str(refused.value).isprintable()


def test_a_row_without_an_id_lists_its_keys() -> None:
    with pytest.raises(ValueError, match="its keys: repo, patch"):
        instance_id_of({"repo": "a/b", "patch": ""})


def test_repositories() -> None:
    assert repo_of({"repo": "a/b"}) == "a/b"
    assert repo_of({"org": "a", "repo": "b"}) == "a/b"
    assert repo_of({"repo": ["a"]}) == repo_of({"repo": "a\nb"}) == repo_of({}) == ""


def test_a_torn_line_tells_whom_it_was_about() -> None:
    assert salvaged(b'{"instance_id": "a-1", "patch": "di') == "a-1"
    assert salvaged(b'{"instance_id": "a::1", "pat') == ""
    assert salvaged(b'{"instance_id": "a\xff') == salvaged(b"") == ""
