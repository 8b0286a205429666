"""The agents that the user chose, each with each model: as sources of candidates, and as settings of a Job."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pytest_swe import registry
from pytest_swe.agent.base import Agent, ModelProtocol
from pytest_swe.agent.builtin import known_arguments, needs_model
from pytest_swe.agent.endpoint.keys import key_of
from pytest_swe.agent.endpoint.routes import ModelRoute
from pytest_swe.agent.kit import kit_of
from pytest_swe.agent_work import AgentSetting
from pytest_swe.errors import UsageError
from pytest_swe.harbor.limits import LimitOptions, Phase
from pytest_swe.planning import Source
from pytest_swe.settings import Settings
from pytest_swe.trial.setting import TrialSetting
from pytest_swe.trial.values import OPTION, ComposeValue, compose_value

#: Agents that are controls of a data set: its own fix, whatever it is called.
GOLD = ("gold", "oracle")

#: Controls of a data set as agents, where an agent is what is judged.
CONTROLS: Mapping[str, str] = {"gold": "oracle", "base": "nop"}

#: Where the key of a model's server is looked for when no variable is named.
KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


def agent_sources(settings: Settings) -> Iterator[Source]:
    """One source for each agent and model. Raises UsageError for an agent, model or argument that cannot be."""
    agents = {text: registry.agent(text) for text in settings.agents if text not in GOLD}
    _check_arguments(agents.values(), settings)
    called: dict[str, int] = {}
    for text in dict.fromkeys(settings.agents):
        if text in GOLD:
            yield Source(name="gold")
            continue
        agent = agents[text]
        _check(agent, settings)
        number = called[agent.name] = called.get(agent.name, 0) + 1
        name = agent.name if number == 1 else f"{agent.name}-{number}"  # several commands
        for model in (settings.models if agent.protocols else ()) or ("",):
            yield Source(name=f"agent:{text}", agent=name, model=model)


def agent_setting(source: Source, settings: Settings) -> AgentSetting:
    """What a Job needs to know of the agent of ``source``. Raises UsageError."""
    agent = registry.agent(source.name.removeprefix("agent:"))
    return AgentSetting(
        agent=agent,
        name=source.agent,
        model=source.model,
        route=policy_route(source.model, settings) if source.model else None,
        arguments=_arguments_of(agent, settings),
        timeout=(settings.agent_timeout or 3600.0) * settings.timeout_multiplier,
        setup_timeout=(settings.agent_setup_timeout or 600.0) * settings.timeout_multiplier,
        kit=_kit(agent, settings),
    )


def trial_setting(source: Source, settings: Settings) -> TrialSetting:
    """What a trial needs to know: of its agent (of the controls ``gold`` and ``base`` too), and of this host.

    Raises UsageError.
    """
    agent = registry.agent(CONTROLS.get(source.name) or source.name.removeprefix("agent:"))
    values, user = compose_values(settings), user_route(settings)
    asked = {value.model for value in values.values()}
    if "user" in asked and user is None:
        raise UsageError(f"{OPTION} ...=model:user: there is no user model", hint="--swe-user-model-url URL")
    if "policy" in asked and not settings.model_url:
        raise UsageError(f"{OPTION} ...=model:policy: there is no model", hint="--swe-model-url URL")
    bases: dict[Phase, float] = {}
    if settings.agent_timeout is not None:
        bases["agent"] = settings.agent_timeout
    if settings.timeout is not None:
        bases["verifier"] = settings.timeout
    if settings.agent_setup_timeout is not None:
        bases["agent_setup"] = settings.agent_setup_timeout
    return TrialSetting(
        agent=agent,
        model=source.model,
        route=policy_route(source.model, settings) if source.model or "policy" in asked else None,
        user_route=user,
        user_questions=settings.user_questions,
        arguments=_arguments_of(agent, settings),
        kit=_kit(agent, settings),
        limits=LimitOptions(multiplier=settings.timeout_multiplier, bases=bases),
        given=given(settings),
        compose_values=values,
        network=settings.network or settings.agent_network,
        mcp=settings.mcp,
        force_build=settings.force_build,
    )


def given(settings: Settings) -> dict[str, str]:
    """The variables of this process that tasks may ask for. Raises UsageError for one that is not set."""
    found = {name: os.environ.get(name) for name in settings.envs}
    missing = [name for name, value in found.items() if value is None]
    if missing:
        raise UsageError(f"--swe-env {missing[0]}: not set in the environment of pytest")
    return {name: value for name, value in found.items() if value is not None}


def compose_values(settings: Settings) -> dict[str, ComposeValue]:
    """What the user says for names in compose files. Raises UsageError."""
    pairs = _pairs(OPTION, settings.compose_vars)
    return {name: compose_value(name, said, os.environ.get) for name, said in pairs}


def user_route(settings: Settings) -> ModelRoute | None:
    """The way to the model behind a task's simulated user, or None."""
    url = settings.user_model_url or (settings.model_url if settings.user_model else "")
    if not url:
        return None
    protocol = settings.user_model_protocol or settings.model_protocol
    same = settings.model_key if url == settings.model_url else None
    return ModelRoute(
        url=url,
        protocol=protocol,
        key_variable=settings.user_model_key or same or _key(protocol),
        model=settings.user_model,
        route="user",
    )


def policy_route(model: str, settings: Settings) -> ModelRoute:
    """The way to the agents' model."""
    return ModelRoute(
        url=settings.model_url,
        protocol=settings.model_protocol,
        key_variable=settings.model_key or _key(settings.model_protocol),
        model=model,
        route="policy",
        calls=settings.model_calls,
        tokens=settings.model_tokens,
    )


def _kit(agent: Agent, settings: Settings) -> Path | None:
    if settings.agent_kit is None:
        return None
    if agent.name in CONTROLS.values() and settings.agent_kit.is_dir():
        return None  # beside an agent that has one
    return kit_of(agent.name, settings.agent_kit, getattr(agent, "kit_places", ()))


def _check(agent: Agent, settings: Settings) -> None:
    _kit(agent, settings)
    if not agent.protocols:
        return
    if not settings.models:
        if settings.model_url or needs_model(agent):
            raise UsageError(f"agent {agent.name} needs a model: give --swe-model NAME")
        return
    if not settings.model_url:
        raise UsageError(f"agent {agent.name} needs a model's server: give --swe-model-url URL")
    if settings.model_protocol not in agent.protocols:
        known = " and ".join(sorted(agent.protocols))
        raise UsageError(
            f"agent {agent.name} speaks {known}, not {settings.model_protocol}",
            hint="--swe-model-protocol says what the server speaks",
        )


def _key(protocol: ModelProtocol) -> str | None:
    """The usual variable of the protocol, where it is set: a server of one's own may want no key."""
    usual = KEYS[protocol]
    return usual if os.environ.get(usual) is not None else None


def _arguments_of(agent: Agent, settings: Settings) -> dict[str, str]:
    """Those of the user's arguments that are for ``agent``: one that it does not know is for another."""
    known = known_arguments(agent)
    given = dict(_pairs("--swe-agent-arg", settings.agent_args))
    return {name: value for name, value in given.items() if known is None or name in known}


def _check_arguments(agents: Iterable[Agent], settings: Settings) -> None:
    given = dict(_pairs("--swe-agent-arg", settings.agent_args))
    known = [known_arguments(agent) for agent in agents]
    names = frozenset().union(*(found for found in known if found is not None))
    unknown = [] if None in known else [name for name in given if name not in names]
    if unknown:
        near = difflib.get_close_matches(unknown[0], names, 1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        told = ", ".join(sorted(names)) or "none"
        raise UsageError(f"--swe-agent-arg {unknown[0]}: no agent here knows it: {guess}known are {told}")


def _pairs(option: str, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{option} {text}: expected NAME=VALUE")
        yield name.strip(), value


def depends_on(settings: Settings) -> dict[str, object]:
    """Options that an agent's work depends on, for the fingerprint of its items."""
    return {
        "kit": str(settings.agent_kit or ""),
        "agent_setup_seconds": settings.agent_setup_timeout,
        "user_model": [
            settings.user_model,
            settings.user_model_url,
            settings.user_model_protocol,
            settings.user_questions,
        ],
        "given": sorted(settings.envs),
        "compose_values": sorted(settings.compose_vars),
        "force_build": settings.force_build,
        "arguments": sorted(settings.agent_args),
        "agent_seconds": settings.agent_timeout,
        "agent_network": settings.agent_network,
        "model_url": settings.model_url,
        "model_protocol": settings.model_protocol,
        "model_limits": [settings.model_calls, settings.model_tokens],
        "timeout_multiplier": settings.timeout_multiplier,
        "mcp": settings.mcp,
    }


def refuse_without_agent(settings: Settings) -> None:
    """Options that mean nothing without an agent. Raises UsageError."""
    if not settings.agents and (settings.attempts > 1 or settings.agent_args or settings.models):
        raise UsageError("--swe-attempts, --swe-agent-arg and --swe-model need --swe-agent")


def refuse_at_start(settings: Settings) -> None:
    """What no item could use, before anything starts: addresses, keys and values of models. Raises UsageError."""
    for route in (policy_route("", settings) if settings.model_url else None, user_route(settings)):
        if route is not None:
            key_of(route)
    given(settings)
    compose_values(settings)
