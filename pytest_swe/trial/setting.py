"""What the user chose for trials, and what came of a trial's steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pytest_swe.agent.base import Agent, AgentRun, Usage
from pytest_swe.agent.endpoint.routes import ModelRoute
from pytest_swe.harbor.limits import LimitOptions
from pytest_swe.harbor.steps import Rewards
from pytest_swe.masking import Secrets
from pytest_swe.model import JSON, Network
from pytest_swe.trial.values import ComposeValue


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSetting:
    """An agent as the user chose it, and what tasks may have of this host.

    ``given`` are variables of this process that tasks may ask for, by name and value. ``compose_values`` are what the
    user says for names in a compose file. ``network`` stands for whatever a task says. ``user_questions`` bounds those
    to a simulated user. ``kit`` is a directory of this host.
    """

    agent: Agent
    model: str = ""
    route: ModelRoute | None = None
    user_route: ModelRoute | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    kit: Path | None = None
    limits: LimitOptions = field(default_factory=LimitOptions)
    given: Mapping[str, str] = field(default_factory=dict)
    user_questions: int | None = None
    compose_values: Mapping[str, ComposeValue] = field(default_factory=dict)
    network: Network | None = None
    mcp: Literal["off", "optional", "required"] = "optional"
    force_build: bool = False

    @property
    def secrets(self) -> Secrets:
        """What of this host the task's programs may print, and nothing of ours may keep."""
        chosen = (value.text for value in self.compose_values.values() if value.secret)
        return Secrets((*self.given.values(), *chosen))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDone:
    """What came of a step. ``exception``: what Harbor would call what went wrong, and a text; both empty when nothing.

    ``ends``: no further step may run. ``gate`` says which ``min_reward`` was not reached. ``spoilt``: what failed came
    after an agent's work, which may have brought it about. ``spans``: when ``agent_execution`` and ``verifier`` began
    and ended, ISO 8601.
    """

    name: str
    rewards: Rewards | None = None
    exception: tuple[str, str] = ("", "")
    ends: bool = False
    gate: str = ""
    note: str = ""
    spoilt: bool = False
    agent: AgentRun | None = None
    usage: Usage = field(default_factory=Usage)
    marks: tuple[str, ...] = ()
    verifier_seconds: float = 0.0
    spans: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def flags(self) -> tuple[str, ...]:
        """What of it stands on the reward line."""
        if self.agent is None:
            return ()
        ended = ("agent_timed_out",) if self.agent.timed_out else ("agent_failed",) if self.agent.exit_code else ()
        return (*ended, *self.marks)

    def to_json(self) -> dict[str, object]:
        """As an entry of ``steps``."""
        name, text = self.exception
        error: JSON = {"type": name, "message": text} if name else None
        return {
            "name": self.name,
            "rewards": dict(self.rewards) if self.rewards is not None else None,
            "exception": error,
            "min_reward": self.gate or None,
            "note": self.note or None,
            "agent_seconds": round(self.agent.seconds, 3) if self.agent else None,
            "verifier_seconds": round(self.verifier_seconds, 3),
            "spans": {name: {"started_at": begin, "finished_at": end} for name, (begin, end) in self.spans.items()},
        }
