"""Reward files: every case that Harbor 0.25.0 was seen to answer, and those that are answered otherwise here."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_swe.harbor.rewards import MAX_REWARD_FILE, Found, NoReward, rewards_of

Files = dict[str, Any]

GOOD: list[tuple[Files, dict[str, float]]] = [
    ({"reward.txt": b"1"}, {"reward": 1.0}),
    ({"reward.txt": b"1.0"}, {"reward": 1.0}),
    ({"reward.txt": b" 1\n"}, {"reward": 1.0}),
    ({"reward.txt": b"-2.5e1"}, {"reward": -25.0}),
    ({"reward.txt": b"1_0\n"}, {"reward": 10.0}),
    ({"reward.json": b'{"a":1,"b":0.5}'}, {"a": 1, "b": 0.5}),
    ({"reward.json": b'{"a":true}'}, {"a": 1.0}),
    ({"reward.json": b"{}"}, {}),
    ({"reward.json": b'{"reward": 1, "n": 3}', "reward.txt": b"1\n"}, {"reward": 1, "n": 3}),
    ({"reward.json": b'{"quality": 0.2}', "reward.txt": b"1\n"}, {"quality": 0.2}),
    ({"reward.txt": b"1", "other.json": b"{}", "test-stdout.txt": b""}, {"reward": 1.0}),
]
BAD: list[tuple[Files, str, str]] = [
    ({}, "RewardFileNotFoundError", "neither reward.txt nor reward.json"),
    ({"rewards.json": b'{"a": 1}', "reward.txt\r": b"1"}, "RewardFileNotFoundError", "neither"),
    ({"reward.txt": b""}, "RewardFileEmptyError", "reward.txt is empty"),
    ({"reward.json": b""}, "RewardFileEmptyError", "reward.json is empty"),
    ({"reward.txt": b"nan"}, "VerifierOutputParseError", "nan, which is no finite number"),
    ({"reward.txt": b"-inf\n"}, "VerifierOutputParseError", "-inf, which is no finite number"),
    ({"reward.txt": b"abc"}, "VerifierOutputParseError", "no number: 'abc'"),
    ({"reward.txt": b"1\n0\n"}, "VerifierOutputParseError", "no number"),
    ({"reward.txt": b" \n"}, "VerifierOutputParseError", "no number"),
    ({"reward.txt": b"\xff"}, "VerifierOutputParseError", "no number"),
    ({"reward.json": b"[1]"}, "VerifierOutputParseError", "expected an object of numbers, got [1]"),
    ({"reward.json": b"1"}, "VerifierOutputParseError", "expected an object of numbers, got 1"),
    ({"reward.json": b"null"}, "VerifierOutputParseError", "got None"),
    ({"reward.json": b'{"a":{}}'}, "VerifierOutputParseError", "'a': expected a number, got {}"),
    ({"reward.json": b'{"a":"1"}'}, "VerifierOutputParseError", "'a': expected a number, got '1'"),
    ({"reward.json": b'{"a":null}'}, "VerifierOutputParseError", "'a': expected a number, got None"),
    ({"reward.json": b'{"a":NaN}'}, "VerifierOutputParseError", "'a': nan is no finite number"),
    ({"reward.json": b'{"a":1e999}'}, "VerifierOutputParseError", "'a': inf is no finite number"),
    ({"reward.json": b'{"a":1' + b"0" * 400 + b"}"}, "VerifierOutputParseError", "is no finite number"),
    ({"reward.json": b'{"a":' + b"1" * 9000 + b"}"}, "VerifierOutputParseError", "not JSON"),
    ({"reward.json": b"{bad"}, "VerifierOutputParseError", "not JSON: '{bad'"),
    ({"reward.json": b"[" * 100_000}, "VerifierOutputParseError", "not JSON"),
    ({"reward.json": b'{"\\ud800": 1}'}, "VerifierOutputParseError", "is no text"),
    ({"reward.json": json.dumps(dict.fromkeys(map(str, range(1001)), 1)).encode()}, "VerifierOutputParseError", "1000"),
    ({"reward.json": b"{bad", "reward.txt": b"1"}, "VerifierOutputParseError", "not JSON"),
    ({"reward.txt": b"1" + b" " * MAX_REWARD_FILE}, "VerifierOutputParseError", "larger than 1024 KiB"),
    ({"reward.txt": "directory"}, "VerifierOutputParseError", "reward.txt is no regular file: directory"),
    ({"reward.json": "link", "reward.txt": b"1"}, "VerifierOutputParseError", "reward.json is no regular file: link"),
    ({"reward.json": b'{"reward":1}', "reward.txt": "link"}, "VerifierOutputParseError", "reward 1, and reward.txt is"),
    (
        {"reward.json": b'{"reward":1}', "reward.txt": b"0"},
        "VerifierOutputParseError",
        "reward 1, and reward.txt says 0",
    ),
    ({"reward.json": b'{"reward":1}', "reward.txt": b"?"}, "VerifierOutputParseError", "reward.txt holds no number"),
    # A payload with an error is read only where both files say 0.
    ({"reward.json": b'{"reward":0,"error":"x"}'}, "VerifierOutputParseError", "'error': expected a number"),
    ({"reward.json": b'{"reward":1,"error":"x"}', "reward.txt": b"1"}, "VerifierOutputParseError", "'error'"),
    ({"reward.json": b'{"reward":0,"error":"x"}', "reward.txt": b"1"}, "VerifierOutputParseError", "'error'"),
    ({"reward.json": b'{"reward":0,"error":{}}', "reward.txt": b"0"}, "VerifierOutputParseError", "'error'"),
    ({"reward.json": b'{"error":"x"}', "reward.txt": b"0"}, "VerifierOutputParseError", "'error'"),
]


@pytest.mark.parametrize(("files", "expected"), GOOD)
def test_rewards(files: Files, expected: dict[str, float]) -> None:
    found = rewards_of(files).rewards
    assert found == expected
    assert {key: type(value) for key, value in found.items()} == {k: type(v) for k, v in expected.items()}


@pytest.mark.parametrize(("files", "name", "message"), BAD)
def test_what_is_not_understood_is_no_reward(files: Files, name: str, message: str) -> None:
    with pytest.raises(NoReward) as refused:
        rewards_of(files)
    assert refused.value.name == name
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_json_file_alone_counts_where_that_is_asked_for() -> None:
    assert rewards_of({"reward.json": b'{"reward":1}', "reward.txt": b"0"}, json_first=True) == Found({"reward": 1})
    with pytest.raises(NoReward):
        rewards_of({"reward.json": b'{"reward":0,"error":"x"}', "reward.txt": b"0"}, json_first=True)


def test_a_verifier_that_says_it_failed_is_a_zero_with_its_words() -> None:
    found = rewards_of({"reward.json": b'{"reward": 0.0, "error": "msg", "n": 3}', "reward.txt": b"0.0"})
    assert found == Found({"reward": 0.0, "n": 3}, "the verifier says: msg")


def test_a_whole_number_that_json_cannot_carry_exactly_becomes_a_float() -> None:
    assert rewards_of({"reward.json": b'{"a": 36028797018963968}'}).rewards == {"a": 2.0**55}
    assert isinstance(rewards_of({"reward.json": b'{"a": 36028797018963968}'}).rewards["a"], float)


@settings(max_examples=200, deadline=None)
@given(in_json=st.none() | st.binary(), in_text=st.none() | st.binary(), json_first=st.booleans())
def test_any_bytes_give_finite_numbers_or_a_named_failure(
    in_json: bytes | None, in_text: bytes | None, json_first: bool
) -> None:
    files: Files = {"reward.json": in_json, "reward.txt": in_text}
    try:
        found = rewards_of({name: raw for name, raw in files.items() if raw is not None}, json_first=json_first)
    except NoReward:
        return
    json.dumps(dict(found.rewards), allow_nan=False).encode()
