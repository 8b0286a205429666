"""The agent contract, looked at: what a class of the user's says of itself, and what it gives back.

A class is code of somebody else's: what is wrong with it is told by its name, in one line, and costs what asked for it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import cast, get_args

from pytest_swe.agent.base import Agent, AgentRun, AgentTask, ModelProtocol, Usage
from pytest_swe.errors import SweError, UsageError
from pytest_swe.foreign_code import foreign_code
from pytest_swe.sandbox.base import Sandbox

PROTOCOLS = frozenset(get_args(ModelProtocol))
_NEEDED = ("name", "protocols", "mcp", "install", "run")


class AgentBroken(SweError):
    """An agent does not keep its contract. Nothing of the candidate's is measured."""


def checked_agent(made: object, text: str) -> Agent:
    """``made`` as an agent. Raises UsageError naming ``text``, which the user gave, and the attribute."""
    lacking = [name for name in _NEEDED if not hasattr(made, name)]
    if lacking:
        raise UsageError(f"--swe-agent {text}: an agent has {', '.join(lacking)} as well")
    for name, (is_right, wanted) in _ATTRIBUTES.items():
        if hasattr(made, name) and not is_right(getattr(made, name)):
            raise UsageError(f"--swe-agent {text}: {name}: expected {wanted}, got {_short(getattr(made, name))}")
    return cast("Agent", made)


def run_agent(agent: Agent, sandbox: Sandbox, task: AgentTask) -> AgentRun:
    """`Agent.run`, and what it gives back looked at. Raises AgentBroken, and what of our tree it raises itself."""
    with told_by_name(agent, "run()"):
        found: object = agent.run(sandbox, task)
    if not isinstance(found, AgentRun):
        raise _broken(agent, f"run(): expected an AgentRun, got {_short(found)}")
    for name, (is_right, wanted) in _OF_A_RUN.items():
        value = getattr(found, name)
        if not is_right(value):
            raise _broken(agent, f"run(): {name} of its AgentRun: expected {wanted}, got {_short(value)}")
    return found


def told_by_name(agent: Agent, call: str) -> AbstractContextManager[None]:
    """Turn what an agent's own code raises into an AgentBroken that names the agent. Errors of our tree pass."""
    return foreign_code(f"agent {agent.name}: {call}", error=AgentBroken)


def _broken(agent: Agent, message: str) -> AgentBroken:
    return AgentBroken(f"agent {agent.name}: {message}", hint="docs/agents has the contract")


def _short(value: object) -> str:
    shown = repr(value) if isinstance(value, str | bytes | int | float | bool | None) else ""
    return shown if shown and len(shown) <= 40 else f"a {type(value).__name__}"


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _is_texts(value: object) -> bool:
    return (
        isinstance(value, Collection)
        and not isinstance(value, str | bytes)
        and all(isinstance(each, str) for each in value)
    )


def _is_protocols(value: object) -> bool:
    return _is_texts(value) and PROTOCOLS.issuperset(cast("Collection[str]", value))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _is_usage(value: object) -> bool:
    if not isinstance(value, Usage):
        return False
    counts = (value.input_tokens, value.output_tokens, value.cached_tokens, value.calls, value.steps)
    return all(isinstance(count, int) for count in counts) and (value.cost_usd is None or _is_number(value.cost_usd))


def _is_conversation(value: object) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return value is None or isinstance(value, dict)


_Check = tuple[Callable[[object], bool], str]

_ATTRIBUTES: dict[str, _Check] = {
    "name": (_is_name, "a text of one line"),
    "protocols": (_is_protocols, f"a set of {' and '.join(sorted(PROTOCOLS))}, or an empty one"),
    "mcp": (lambda value: isinstance(value, bool), "True or False"),
    "install": (callable, "a method"),
    "run": (callable, "a method"),
    "needs_model": (lambda value: isinstance(value, bool), "True or False"),
    "arguments": (lambda value: value is None or _is_texts(value), "a set of names"),
}
_OF_A_RUN: dict[str, _Check] = {
    "exit_code": (lambda value: value is None or isinstance(value, int), "a whole number or None"),
    "timed_out": (lambda value: isinstance(value, bool), "True or False"),
    "output": (lambda value: isinstance(value, bytes), "bytes"),
    "seconds": (_is_number, "a number"),
    "trajectory": (_is_conversation, "plain JSON, a dict, or None"),
    "usage": (_is_usage, "a Usage of numbers"),
}
