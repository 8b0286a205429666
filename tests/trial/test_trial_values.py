"""What names in a compose file stand for: the user's word, then the task's."""

from __future__ import annotations

import pytest

from pytest_swe.errors import UsageError
from pytest_swe.trial.values import ComposeValue, compose_value, of_group

HOST = {"A_KEY": "sk-of-the-host"}


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("fast", ComposeValue(text="fast")),
        ("", ComposeValue()),
        ("http://host:80/x", ComposeValue(text="http://host:80/x")),
        ("env:A_KEY", ComposeValue(text="sk-of-the-host", secret=True)),
        ("model:user", ComposeValue(model="user", secret=True)),
        ("model:policy", ComposeValue(model="policy", secret=True)),
        ("model", ComposeValue(text="model")),
    ],
)
def test_a_value_of_the_users(said: str, value: ComposeValue) -> None:
    assert compose_value("NAME", said, HOST.get) == value


@pytest.mark.parametrize(
    ("said", "problem"),
    [("env:NOT_THERE", "NOT_THERE is not set"), ("model:judge", "models are model:policy and model:user")],
)
def test_a_value_that_cannot_be_is_refused_by_name(said: str, problem: str) -> None:
    with pytest.raises(UsageError, match=f"--swe-compose-var NAME={said}: .*{problem}"):
        compose_value("NAME", said, HOST.get)


def test_a_value_is_not_in_what_is_printed_of_it() -> None:
    assert "sk-of-the-host" not in repr(compose_value("NAME", "env:A_KEY", HOST.get))


def test_the_users_word_beats_the_tasks() -> None:
    table = {"MODE": "slow", "KEY": "${KEY}", "URL": "http://elsewhere", "OWN": "1"}
    chosen = {
        "MODE": ComposeValue(text="fast"),
        "KEY": ComposeValue(text="sk-of-the-host", secret=True),
        "URL": ComposeValue(model="user", secret=True),
        "MORE": ComposeValue(text="2"),
    }
    values = of_group(table, {}, chosen, lambda route: f"http://127.0.0.1:1/{route}")
    assert values.variables == {
        "MODE": "fast",
        "KEY": "sk-of-the-host",
        "URL": "http://127.0.0.1:1/user",
        "OWN": "1",
        "MORE": "2",
    }
    assert values.secrets == {"KEY", "URL"}
    # Main is the agent's: what is secret, or was meant for the compose file alone, is not there.
    assert values.main == {"MODE": "fast", "OWN": "1"}


def test_what_a_task_asks_of_the_host_is_secret_and_must_be_given() -> None:
    def nobody(route: object) -> str:
        raise AssertionError(route)

    values = of_group({"KEY": "${A_KEY}"}, HOST, {}, nobody)
    assert values.secrets == {"KEY"}
    assert values.main == values.variables == {"KEY": "sk-of-the-host"}
    with pytest.raises(UsageError, match="OTHER"):
        of_group({"KEY": "${OTHER}"}, HOST, {}, nobody)
