"""Templates in environment variables: whole values only, and only what the user gives is there."""

from __future__ import annotations

import pytest

from pytest_swe.errors import UsageError
from pytest_swe.harbor.variables import require, resolved, secrets_in, wanted

TABLE = {
    "PLAIN": "v",
    "WHOLE": "${HOST}",
    "DEFAULT": "${NOPE:-dflt}",
    "EMPTY": "${NOPE:-}",
    "PART": "a${HOST}b",
    "ODD": "${1X}",
    "LINES": "${NOPE:-a\nb}",
}


def test_only_a_whole_value_is_a_template() -> None:
    assert resolved(TABLE, {"HOST": "h"}) == {
        "PLAIN": "v",
        "WHOLE": "h",
        "DEFAULT": "dflt",
        "EMPTY": "",
        "PART": "a${HOST}b",
        "ODD": "${1X}",
        "LINES": "a\nb",
    }
    assert resolved({"A": "${B:-c}"}, {"B": "given"}) == {"A": "given"}
    assert resolved({"A": "${B:-c}", "D": "${B}"}, {"B": ""}) == {"A": "c", "D": ""}


def test_the_environment_of_the_host_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST", "secret")
    with pytest.raises(UsageError, match="HOST"):
        resolved(TABLE, {})


def test_all_names_that_are_missing_are_told_together() -> None:
    tables = [{"A": "${ONE}", "B": "${TWO:-x}"}, {"C": "${THREE}", "D": "${ONE}"}]
    assert wanted(tables) == ("ONE", "THREE")
    with pytest.raises(UsageError) as refused:
        require(tables, {})
    assert str(refused.value) == "the task needs ONE, THREE from your environment (--swe-env ONE --swe-env THREE)"
    require(tables, {"ONE": "1", "THREE": "3"})


def test_what_comes_from_the_user_is_a_secret() -> None:
    assert secrets_in(TABLE, {"HOST": "h"}) == {"WHOLE"}
    assert secrets_in(TABLE, {"NOPE": "n"}) == {"DEFAULT", "EMPTY", "LINES"}
