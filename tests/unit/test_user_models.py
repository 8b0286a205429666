"""What the options say of a simulated user's model, and of values for compose files."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_swe.agent.endpoint.routes import ModelRoute
from pytest_swe.agents import trial_setting, user_route
from pytest_swe.errors import UsageError
from pytest_swe.planning import Source
from pytest_swe.settings import Settings
from pytest_swe.trial.values import ComposeValue

NOP = Source(name="agent:nop", agent="nop")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def found(**settings: Any) -> ModelRoute:
    route = user_route(Settings(**settings))
    assert route is not None
    return route


def test_without_options_there_is_no_user() -> None:
    assert user_route(Settings()) is None
    assert user_route(Settings(model_url="http://policy")) is None


def test_the_user_may_be_played_by_another_model_of_the_agents_server() -> None:
    route = found(user_model="u", model_url="http://policy", model_key="POLICY_KEY", model_protocol="anthropic")
    assert (route.url, route.model, route.route) == ("http://policy", "u", "user")
    assert (route.protocol, route.key_variable) == ("anthropic", "POLICY_KEY")


def test_the_key_of_the_agents_server_goes_to_no_other() -> None:
    route = found(user_model_url="http://user", model_url="http://policy", model_key="POLICY_KEY")
    assert (route.url, route.key_variable) == ("http://user", None)


def test_the_users_server_may_speak_another_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    route = found(user_model_url="http://user", model_protocol="anthropic", user_model_protocol="openai")
    assert (route.protocol, route.key_variable) == ("openai", "OPENAI_API_KEY")
    assert found(user_model_url="http://user", user_model_key="MINE").key_variable == "MINE"


def test_values_come_from_the_host_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_VALUE", "v")
    setting = trial_setting(NOP, Settings(compose_vars=("A=env:SOME_VALUE", "B=x=y")))
    assert setting.compose_values == {"A": ComposeValue(text="v", secret=True), "B": ComposeValue(text="x=y")}
    assert setting.route is None


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("A=model:user", "there is no user model .--swe-user-model-url"),
        ("A=model:policy", "there is no model .--swe-model-url"),
        ("A", "--swe-compose-var A: expected NAME=VALUE"),
        ("A=env:NOT_THERE_AT_ALL", "NOT_THERE_AT_ALL is not set"),
    ],
)
def test_a_value_without_what_it_stands_for_is_refused(said: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        trial_setting(NOP, Settings(compose_vars=(said,)))


def test_a_service_may_use_the_agents_model_where_the_agent_needs_none() -> None:
    setting = trial_setting(NOP, Settings(compose_vars=("A=model:policy",), model_url="http://policy"))
    assert setting.route is not None
    assert (setting.route.url, setting.route.route) == ("http://policy", "policy")
