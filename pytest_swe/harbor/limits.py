"""How long each phase of a trial may take. Pure; all in seconds.

As in Harbor 0.25.0 a limit is the smaller of base and maximum, times the multiplier; the base is what the user says,
else what the task says; a multiplier of one phase stands for the general one, they are not multiplied with each other.
A step that says nothing has the task's base. Every limit is made here from what was written, in one go, so that none
is multiplied twice, whether it is a step's own or inherited.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_swe.harbor.schema import VERIFIER_SECONDS, CollectHook, HealthCheck, StepTable, TaskConfig
from pytest_swe.harbor.steps import StepSettings, steps_of

Phase = Literal["agent", "verifier", "agent_setup", "build"]

#: How long an agent may take to be installed, as in Harbor 0.25.0.
SETUP_SECONDS = 360.0
#: What is reckoned for an agent without a limit, where a sandbox must end at some time.
UNLIMITED_SECONDS = 8 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOptions:
    """What the user says: one multiplier for all phases, and by phase another one, a base, and a maximum."""

    multiplier: float = 1.0
    multipliers: Mapping[Phase, float] = field(default_factory=dict)
    bases: Mapping[Phase, float] = field(default_factory=dict)
    maxima: Mapping[Phase, float] = field(default_factory=dict)

    def effective(self, phase: Phase, written: float | None) -> float | None:
        """The limit of a phase for which the task has ``written``; None is no limit."""
        base = self.bases.get(phase, written)
        most = self.maxima.get(phase)
        least = min((seconds for seconds in (base, most) if seconds is not None), default=None)
        return None if least is None else least * self.multipliers.get(phase, self.multiplier)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLimits:
    """Of one step. ``agent`` None is no limit; ``readiness`` and ``hooks`` are sums of what may be waited for."""

    name: str
    agent: float | None
    verifier: float
    readiness: float = 0.0
    hooks: float = 0.0

    @property
    def seconds(self) -> float:
        """All of it together, an agent without a limit reckoned as `UNLIMITED_SECONDS`."""
        agent = UNLIMITED_SECONDS if self.agent is None else self.agent
        return agent + self.verifier + self.readiness + self.hooks


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialLimits:
    """Of a whole trial. ``build`` is the start of the environment, ``verifier_build`` that of a separate verifier's.

    ``agent_setup`` is for each step: each has an agent session of its own.
    """

    build: float
    verifier_build: float
    agent_setup: float
    readiness: float
    steps: tuple[StepLimits, ...]

    @property
    def seconds(self) -> float:
        """The deadline of the whole: a sandbox that lives longer is left over."""
        each = sum(step.seconds + self.agent_setup + self.verifier_build for step in self.steps)
        return self.build + self.readiness + each


def limits_of(config: TaskConfig, options: LimitOptions | None = None) -> TrialLimits:
    """Every limit of a task, each multiplied once."""
    options = options or LimitOptions()
    tables: tuple[StepTable | None, ...] = config.steps or (None,)
    settings = steps_of(config)
    build = _some(options.effective("build", config.environment.build_timeout_sec))
    separate = any(step.verifier_mode == "separate" for step in settings)
    return TrialLimits(
        build=build,
        verifier_build=build if separate else 0.0,
        agent_setup=_some(options.effective("agent_setup", SETUP_SECONDS)),
        readiness=_readiness(config.environment.healthcheck),
        steps=tuple(_step(config, *both, options) for both in zip(settings, tables, strict=True)),
    )


def _step(config: TaskConfig, settings: StepSettings, own: StepTable | None, options: LimitOptions) -> StepLimits:
    agent = _first(own.agent.timeout_sec if own else None, config.agent.timeout_sec)
    verifier = _first(own.verifier.timeout_sec if own else None, config.verifier.timeout_sec, VERIFIER_SECONDS)
    return StepLimits(
        name=settings.name,
        agent=options.effective("agent", agent),
        verifier=_some(options.effective("verifier", verifier)),
        readiness=_readiness(settings.healthcheck),
        hooks=_hooks(settings.collect),
    )


def _first(*given: float | None) -> float | None:
    return next((seconds for seconds in given if seconds is not None), None)


def _some(seconds: float | None) -> float:
    assert seconds is not None  # made from a base that is a number
    return seconds


def _readiness(check: HealthCheck | None) -> float:
    if check is None:
        return 0.0
    return check.start_period_sec + check.retries * (check.timeout_sec + check.interval_sec)


def _hooks(hooks: tuple[CollectHook, ...]) -> float:
    return sum(hook.timeout_sec for hook in hooks)
