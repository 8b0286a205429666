"""What a class of the user's may say of itself and give back; everything else is told by its name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from pytest_swe.agent.base import Agent, AgentRun, AgentTask, Usage
from pytest_swe.agent.builtin import agent_named, names
from pytest_swe.agent.contract import AgentBroken, checked_agent, run_agent
from pytest_swe.errors import SandboxLost, UsageError
from pytest_swe.sandbox.base import Sandbox

TASK = AgentTask(instruction="", workdir="/")
NOWHERE = cast("Sandbox", None)


class Mine:
    """An agent that gives back what it is told to."""

    name, protocols, mcp = "mine", frozenset(("openai",)), False

    def __init__(self, gives: object = None, **attributes: object) -> None:
        self._gives = gives
        vars(self).update(attributes)

    def install(self, sandbox: Sandbox, task: AgentTask) -> None:
        pass

    def run(self, sandbox: Sandbox, task: AgentTask) -> Any:
        if isinstance(self._gives, BaseException):
            raise self._gives
        return self._gives


class RaisesAtOnce(Mine):
    def __init__(self) -> None:
        raise ValueError("no key")


def run(gives: object) -> AgentRun:
    return run_agent(cast("Agent", Mine(gives)), NOWHERE, TASK)


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"name": 5}, "name: expected a text of one line, got 5"),
        ({"name": " "}, "name: expected a text of one line, got ' '"),
        ({"name": "a\nb"}, "name: expected a text of one line"),
        ({"protocols": "openai"}, "protocols: expected a set of anthropic and openai, or an empty one, got 'openai'"),
        ({"protocols": None}, "protocols: expected a set of anthropic and openai"),
        ({"protocols": {"gemini"}}, "protocols: expected a set of anthropic and openai, or an empty one, got a set"),
        ({"protocols": [[]]}, "protocols: expected"),
        ({"mcp": "yes"}, "mcp: expected True or False, got 'yes'"),
        ({"run": 3}, "run: expected a method, got 3"),
        ({"needs_model": "no"}, "needs_model: expected True or False"),
        ({"arguments": 3}, "arguments: expected a set of names, got 3"),
        ({"arguments": "abc"}, "arguments: expected a set of names"),
    ],
)
def test_an_attribute_of_the_wrong_type_is_named(attributes: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked_agent(Mine(**attributes), "my:Mine")
    assert str(caught.value).startswith(f"--swe-agent my:Mine: {said}")


@pytest.mark.parametrize("protocols", [(), {"openai"}, ["openai", "anthropic"], frozenset(("openai",))])
def test_what_is_right_passes(protocols: object) -> None:
    assert checked_agent(Mine(protocols=protocols, arguments=("a",), needs_model=False), "my:Mine").name == "mine"


def test_every_agent_of_the_package_keeps_it() -> None:
    for name in names():
        assert checked_agent(agent_named(name), name)


def test_a_class_that_raises_is_told_in_one_line() -> None:
    with pytest.raises(UsageError, match=r"RaisesAtOnce: ValueError: no key at test_agent_contract\.py:\d+$"):
        agent_named(f"{__name__}:RaisesAtOnce")


@pytest.mark.parametrize(
    ("gives", "said"),
    [
        (None, "run(): expected an AgentRun, got None"),
        ({"exit_code": 0}, "run(): expected an AgentRun, got a dict"),
        (AgentRun(output=cast("bytes", "x")), "run(): output of its AgentRun: expected bytes, got 'x'"),
        (AgentRun(exit_code=cast("int", "0")), "run(): exit_code of its AgentRun: expected a whole number or None"),
        (AgentRun(timed_out=cast("bool", None)), "run(): timed_out of its AgentRun: expected True or False, got None"),
        (AgentRun(seconds=float("nan")), "run(): seconds of its AgentRun: expected a number, got nan"),
        (AgentRun(trajectory=cast("Any", [1])), "run(): trajectory of its AgentRun: expected plain JSON"),
        (AgentRun(trajectory={"a": cast("Any", b"")}), "run(): trajectory of its AgentRun: expected plain JSON"),
        (AgentRun(usage=cast("Usage", None)), "run(): usage of its AgentRun: expected a Usage of numbers, got None"),
        (AgentRun(usage=Usage(cost_usd=cast("float", "1"))), "run(): usage of its AgentRun: expected a Usage"),
        (KeyError("x"), "run(): KeyError: 'x'"),
    ],
)
def test_what_is_no_run_is_named(gives: object, said: str) -> None:
    with pytest.raises(AgentBroken) as caught:
        run(gives)
    assert str(caught.value).startswith(f"agent mine: {said}")


def test_a_run_and_errors_of_our_tree_pass() -> None:
    right = AgentRun(exit_code=None, output=b"x", trajectory={"steps": []}, usage=Usage(cost_usd=0.1))
    assert run(right) is right
    assert run(replace(right, seconds=3)).seconds == 3
    with pytest.raises(SandboxLost):
        run(SandboxLost("gone"))
