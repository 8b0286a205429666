"""The agents that the user chose, each with each model: as sources of candidates, and as settings of a Job."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

import pytest

from pytest_swe import registry
from pytest_swe.agent.base import Agent
from pytest_swe.agent.endpoint.routes import ModelRoute
from pytest_swe.agent_work import AgentSetting
from pytest_swe.errors import UsageError
from pytest_swe.harbor.limits import LimitOptions, Phase
from pytest_swe.planning import Source
from pytest_swe.settings import Settings
from pytest_swe.trial.setting import TrialSetting

#: Agents that are controls of a data set: its own fix, whatever it is called.
GOLD = ("gold", "oracle")

#: Controls of a data set as agents, where an agent is what is judged.
CONTROLS: Mapping[str, str] = {"gold": "oracle", "base": "nop"}

#: Where the key of a model's server is looked for when no variable is named.
KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


def agent_sources(settings: Settings) -> Iterator[Source]:
    """One source for each agent and model. Raises UsageError for an agent, model or argument that cannot be."""
    for text in settings.agents:
        if text in GOLD:
            yield Source(name="gold")
            continue
        agent = registry.agent(text)
        _check(agent, settings)
        for model in settings.models if agent.protocols else ("",):
            yield Source(name=f"agent:{text}", agent=agent.name, model=model)


def agent_setting(source: Source, settings: Settings) -> AgentSetting:
    """What a Job needs to know of the agent of ``source``. Raises UsageError."""
    agent = registry.agent(source.name.removeprefix("agent:"))
    return AgentSetting(
        agent=agent,
        model=source.model,
        route=policy_route(source.model, settings) if agent.protocols else None,
        arguments=dict(_arguments(settings)),
        timeout=(settings.agent_timeout or 3600.0) * settings.timeout_multiplier,
        setup_timeout=(settings.agent_setup_timeout or 600.0) * settings.timeout_multiplier,
        kit=settings.agent_kit,
    )


def trial_setting(source: Source, settings: Settings) -> TrialSetting:
    """What a trial needs to know: of its agent (of the controls ``gold`` and ``base`` too), and of this host.

    Raises UsageError.
    """
    agent = registry.agent(CONTROLS.get(source.name) or source.name.removeprefix("agent:"))
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
        route=policy_route(source.model, settings) if agent.protocols else None,
        user_route=user_route(settings),
        arguments=dict(_arguments(settings)),
        kit=settings.agent_kit,
        limits=LimitOptions(multiplier=settings.timeout_multiplier, bases=bases),
        given=given(settings),
        compose_values=dict(_pairs("--swe-compose-var", settings.compose_vars)),
        network=settings.network or settings.agent_network,
        mcp=settings.mcp,
        force_build=settings.force_build,
    )


def given(settings: Settings) -> dict[str, str]:
    """The variables of this process that tasks may ask for. Raises UsageError for one that is not set."""
    missing = [name for name in settings.envs if name not in os.environ]
    if missing:
        raise UsageError(f"--swe-env {missing[0]}: not set in the environment of pytest")
    return {name: os.environ[name] for name in settings.envs}


def user_route(settings: Settings) -> ModelRoute | None:
    """The way to the model behind a task's simulated user, or None."""
    url = settings.user_model_url or (settings.model_url if settings.user_model else "")
    if not url:
        return None
    return ModelRoute(
        url=url,
        protocol=settings.model_protocol,
        key_variable=settings.user_model_key or _key(settings),
        model=settings.user_model,
        route="user",
    )


def policy_route(model: str, settings: Settings) -> ModelRoute:
    """The way to the agents' model."""
    return ModelRoute(
        url=settings.model_url,
        protocol=settings.model_protocol,
        key_variable=settings.model_key or _key(settings),
        model=model,
        route="policy",
    )


def _check(agent: Agent, settings: Settings) -> None:
    dict(_arguments(settings))
    if not agent.protocols:
        return
    if not settings.models:
        raise UsageError(f"agent {agent.name} needs a model: give --swe-model NAME")
    if not settings.model_url:
        raise UsageError(f"agent {agent.name} needs a model's server: give --swe-model-url URL")
    if settings.model_protocol not in agent.protocols:
        known = " and ".join(sorted(agent.protocols))
        raise UsageError(
            f"agent {agent.name} speaks {known}, not {settings.model_protocol}",
            hint="--swe-model-protocol says what the server speaks",
        )


def _key(settings: Settings) -> str | None:
    """The usual variable of the protocol, where it is set: a server of one's own may want no key."""
    usual = KEYS[settings.model_protocol]
    return usual if usual in os.environ else None


def _arguments(settings: Settings) -> Iterator[tuple[str, str]]:
    return _pairs("--swe-agent-arg", settings.agent_args)


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
        "user_model": [settings.user_model, settings.user_model_url],
        "given": sorted(settings.envs),
        "compose_values": sorted(settings.compose_vars),
        "force_build": settings.force_build,
        "arguments": sorted(settings.agent_args),
        "agent_seconds": settings.agent_timeout,
        "agent_network": settings.agent_network,
        "model_url": settings.model_url,
        "model_protocol": settings.model_protocol,
        "timeout_multiplier": settings.timeout_multiplier,
        "mcp": settings.mcp,
    }


def refuse_without_agent(settings: Settings) -> None:
    """Options that mean nothing without an agent. Raises pytest.UsageError."""
    if not settings.agents and (settings.attempts > 1 or settings.agent_args or settings.models):
        raise pytest.UsageError("--swe-attempts, --swe-agent-arg and --swe-model need --swe-agent")
