"""The agents by name: those that come with the package, a command, a class of the user's."""

from __future__ import annotations

import difflib
import importlib

from pytest_swe.agent.base import Agent
from pytest_swe.agent.command import CommandAgent
from pytest_swe.agent.contract import checked_agent
from pytest_swe.agent.described import described, described_names
from pytest_swe.agent.oracle import Nop, Oracle
from pytest_swe.errors import UsageError
from pytest_swe.foreign_code import foreign_code

COMMAND = "command:"


def names() -> tuple[str, ...]:
    """Names of the agents that come with the package."""
    return ("oracle", "nop", *described_names())


def agent_named(text: str) -> Agent:
    """The agent of ``--swe-agent``. Raises UsageError for what is none, with the nearest name."""
    if text.startswith(COMMAND):
        return CommandAgent(text.removeprefix(COMMAND))
    if text in ("oracle", "gold"):
        return Oracle()
    if text == "nop":
        return Nop()
    if text in described_names():
        return described(text)
    if ":" in text:
        return _class_of(text)
    near = difflib.get_close_matches(text, names(), 1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    raise UsageError(f"no agent {text!r}: {guess}known are {', '.join(names())}, command:..., module:Class")


def needs_model(agent: Agent) -> bool:
    """Whether it can do nothing without one; a class may say so itself as ``needs_model``."""
    return bool(getattr(agent, "needs_model", agent.protocols))


def known_arguments(agent: Agent) -> frozenset[str] | None:
    """The arguments that it knows, where it says so as ``arguments``; None where it takes any."""
    found = getattr(agent, "arguments", None)
    return None if found is None else frozenset(found)


def _class_of(text: str) -> Agent:
    module, _, attribute = text.partition(":")
    # Its module, its __init__ and its attributes are code of the user's.
    with foreign_code(f"--swe-agent {text}", error=UsageError):
        try:
            return checked_agent(getattr(importlib.import_module(module), attribute)(), text)
        except (ImportError, AttributeError, TypeError) as error:
            raise UsageError(f"--swe-agent {text}: {error}", hint="expected a class without arguments") from error
