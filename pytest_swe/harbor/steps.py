"""The settings of each step, resolved as Harbor 0.25.0 does, and what several steps' rewards make together. Pure.

A task without steps is one step without a name. What a step does not say it has from the task: the agent's limit,
user and network, the verifier's user, network, mode and container, and (which Harbor 0.25.0 documents, but does not
do) the verifier's limit. Environment variables are merged, artifacts and collect hooks are concatenated. A health check
of the task is the container's, at its start; a step has its own or none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_swe.harbor.files import TaskFile, below
from pytest_swe.harbor.schema import (
    MAIN,
    AgentTable,
    Artifact,
    CollectHook,
    EnvironmentTable,
    HealthCheck,
    NetworkMode,
    NetworkTable,
    StepTable,
    Strategy,
    TaskConfig,
    User,
    VerifierMode,
    VerifierTable,
)

Rewards = Mapping[str, float]
SOLVE = "solve.sh"
SETUP = "setup.sh"


@dataclass(frozen=True, slots=True)
class NetworkPolicy:
    """What a phase may reach; ``hosts`` only with ``allowlist``."""

    mode: NetworkMode
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSettings:
    """All that counts in one step. ``name`` is empty in a task without steps. Users None are the image's own.

    ``verifier_environment`` is the container of a separate verifier, or None for one like the agent's.
    """

    name: str
    agent_user: str | None
    agent_network: NetworkPolicy
    verifier_user: str | None
    verifier_network: NetworkPolicy
    verifier_env: Mapping[str, str]
    verifier_mode: VerifierMode
    verifier_environment: EnvironmentTable | None
    collect: tuple[CollectHook, ...]
    artifacts: tuple[Artifact, ...]
    healthcheck: HealthCheck | None
    min_reward: float | Mapping[str, float] | None

    @property
    def place(self) -> str:
        """Where the step's files are in the task, with a slash at the end; empty for the task itself."""
        return f"steps/{self.name}/" if self.name else ""


def steps_of(config: TaskConfig) -> tuple[StepSettings, ...]:
    """The steps in the order of the file."""
    if not config.steps:
        return (_settings(config, "", AgentTable(), VerifierTable(), None),)
    return tuple(_settings(config, step.name, step.agent, step.verifier, step) for step in config.steps)


def _settings(
    config: TaskConfig, name: str, agent: AgentTable, verifier: VerifierTable, step: StepTable | None
) -> StepSettings:
    task = config.verifier
    own = verifier if verifier.mode is not None else task
    mode = own.mode or "shared"
    environment = (verifier.environment or task.environment) if mode == "separate" else None
    container = environment or config.environment
    hooks = (*task.collect, *verifier.collect)
    return StepSettings(
        name=name,
        agent_user=_user(agent.user, config.agent.user),
        agent_network=_network(agent, config.agent, config.environment),
        verifier_user=_user(verifier.user, task.user),
        verifier_network=_network(verifier, task, container),
        verifier_env={**task.env, **verifier.env},
        verifier_mode=mode,
        verifier_environment=environment,
        # Those in the agent's own container first: it may be stopped before the others run.
        collect=tuple(sorted(hooks, key=lambda hook: hook.service != MAIN)),
        artifacts=(*config.artifacts, *(step.artifacts if step else ())),
        healthcheck=step.healthcheck if step else None,
        min_reward=step.min_reward if step else None,
    )


def _user(*given: User | None) -> str | None:
    return next((str(user) for user in given if user is not None), None)


def _network(*given: NetworkTable) -> NetworkPolicy:
    """The first table that says something counts, the container's last."""
    said = next((table for table in given if table.network_mode is not None), given[-1])
    mode = said.mode if isinstance(said, EnvironmentTable) else said.network_mode
    return NetworkPolicy(mode or "public", said.allowed_hosts or ())


def verifier_files(files: Mapping[str, TaskFile], step: StepSettings) -> dict[str, str]:
    """What stands in ``/tests`` for a step: the task's, with the step's laid over. Path there -> path in the task."""
    own = below(files, f"{step.place}tests") if step.name else {}
    return {**below(files, "tests"), **own}


def solution_files(files: Mapping[str, TaskFile], step: StepSettings) -> dict[str, str]:
    """What stands in ``/solution``: the step's, or the task's where the step has no such directory at all.

    Without ``solve.sh`` in it there is no reference solution.
    """
    own = below(files, f"{step.place}solution") if step.name else {}
    return own or below(files, "solution")


def workdir_files(files: Mapping[str, TaskFile], step: StepSettings) -> dict[str, str]:
    """What is laid into the work directory before a step's agent; empty in a task without steps."""
    return below(files, f"{step.place}workdir") if step.name else {}


def below_gate(min_reward: float | Mapping[str, float] | None, rewards: Rewards) -> str:
    """Why a step's rewards do not reach its ``min_reward``, or empty. A key that is missing does not reach anything."""
    wanted = min_reward if isinstance(min_reward, Mapping) else {"reward": min_reward}
    for key, least in wanted.items():
        if least is None:
            continue
        if key not in rewards:
            return f"min_reward asks for {key} >= {least:g}, and there is no {key}"
        if rewards[key] < least:
            return f"min_reward asks for {key} >= {least:g}, got {rewards[key]:g}"
    return ""


def rewards_together(
    strategy: Strategy, executed: Sequence[Rewards | None], *, planned: int | None = None
) -> dict[str, float] | None:
    """The rewards of a task from those of its executed steps (None: no result), or None when there are none.

    ``mean``: of each key that any step has, over the steps with a result, 0 where one lacks it; over ``planned`` steps
    where that is given, so that steps which were not run count 0. ``final``: those of the last executed step.
    """
    if strategy == "final":
        last = executed[-1] if executed else None
        return dict(last) if last is not None else None
    results = [rewards for rewards in executed if rewards is not None]
    if not results:
        return None
    count = planned if planned is not None else len(results)
    keys = dict.fromkeys(key for rewards in results for key in rewards)
    return {key: _mean([rewards.get(key, 0) for rewards in results], count) for key in keys}


def _mean(numbers: Sequence[float], count: int) -> float:
    mean = sum(numbers) / count
    return mean if math.isfinite(mean) else math.fsum(number / count for number in numbers)


def main_reward(rewards: Rewards) -> float | None:
    """The number that stands for all: ``reward``, or the only one; None where there is no such number."""
    if "reward" in rewards:
        return float(rewards["reward"])
    return float(next(iter(rewards.values()))) if len(rewards) == 1 else None
