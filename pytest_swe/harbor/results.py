"""Results in the layout of Harbor's job directories: written as 0.25.0 does, read from 0.5 to 0.26.

    <job>/config.json result.json
    <job>/<trial>/config.json result.json exception.txt?  agent/ verifier/ artifacts/  steps/<step>/...

What is written holds no variable of any environment and no key: only what a trial was and what came of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_swe.model import JSON

_TOKENS = ("n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd")
PHASES = ("environment_setup", "agent_setup", "agent_execution", "verifier")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception, by the name that Harbor gives it."""

    name: str
    message: str = ""
    traceback: str = ""
    occurred_at: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """When a phase began and ended, as ISO 8601 texts; empty where it did not."""

    started_at: str = ""
    finished_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """A step that was executed. ``rewards`` None: its verifier gave none."""

    name: str
    rewards: Mapping[str, float] | None = None
    raised: Raised | None = None
    usage: Mapping[str, float] = field(default_factory=dict)
    spans: Mapping[str, Span] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecord:
    """A trial. ``steps`` is empty for a task without steps; ``usage`` has Harbor's names of tokens and cost."""

    task: str
    trial: str
    id: str = ""
    uri: str = ""
    task_path: str = ""
    checksum: str = ""
    source: str = ""
    agent: str = ""
    agent_version: str = ""
    model: str = ""
    rewards: Mapping[str, float] | None = None
    raised: Raised | None = None
    verifier_mode: str = ""
    usage: Mapping[str, float] = field(default_factory=dict)
    span: Span = Span()
    spans: Mapping[str, Span] = field(default_factory=dict)
    steps: tuple[StepRecord, ...] = ()

    @property
    def first_problem(self) -> Raised | None:
        """What went wrong first. Harbor says nothing at the top of what a step raised."""
        return self.raised or next((step.raised for step in self.steps if step.raised), None)


def trial_name(directory: str, token: str) -> str:
    """A trial's directory: the task's name cut at 32 characters, and a token of seven that no other trial has."""
    return f"{_UNSAFE.sub('_', directory)[:32].rstrip('_-')}__{token[:7]}"


def trial_json(record: TrialRecord) -> dict[str, JSON]:
    """``result.json`` of a trial."""
    return {
        "id": record.id,
        "task_name": record.task,
        "trial_name": record.trial,
        "trial_uri": record.uri,
        "task_id": {"path": record.task_path},
        "source": record.source or None,
        "task_checksum": record.checksum,
        "config": config_json(record),
        "agent_info": {
            "name": record.agent,
            "version": record.agent_version or "unknown",
            "model_info": {"name": record.model, "provider": None} if record.model else None,
        },
        "agent_result": _agent_json(record.usage, record.spans),
        "verifier_result": _rewards_json(record.rewards),
        "verifier_environment_mode": None if record.steps else record.verifier_mode or None,
        "exception_info": _raised_json(record.raised),
        "started_at": record.span.started_at or None,
        "finished_at": record.span.finished_at or None,
        **{phase: _span_json(record.spans.get(phase)) for phase in PHASES},
        "step_results": [_step_json(step) for step in record.steps] or None,
    }


def config_json(record: TrialRecord) -> dict[str, JSON]:
    """``config.json`` of a trial."""
    agent: dict[str, JSON] = {"name": record.agent, "model_name": record.model or None}
    return {
        "task": {"path": record.task_path, "source": record.source or None},
        "trial_name": record.trial,
        "agent": agent,
    }


def write_trial(job: Path, record: TrialRecord) -> Path:
    """The files of one trial; returns its directory. Raises OSError."""
    place = job / record.trial
    place.mkdir(parents=True, exist_ok=True)
    write_json(place / "config.json", config_json(record))
    if record.raised is not None:
        text = record.raised.traceback or f"{record.raised.name}: {record.raised.message}\n"
        (place / "exception.txt").write_text(text, encoding="utf-8", errors="backslashreplace")
    write_json(place / "result.json", trial_json(replace(record, uri=place.resolve().as_uri())))
    return place


def write_json(path: Path, document: JSON) -> None:
    """Whole or not at all: a trial without ``result.json`` is one that has not ended. Raises OSError, ValueError."""
    text = json.dumps(document, indent=4, allow_nan=False)
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def read_trial(path: Path) -> TrialRecord:
    """A trial from its ``result.json`` (or its directory). Raises ValueError naming the file, OSError."""
    document = read_document(path)
    agent = table_of(document, "agent_info")
    result = table_of(document, "verifier_result")
    steps = document.get("step_results")
    return TrialRecord(
        task=_text(document, "task_name"),
        trial=_text(document, "trial_name"),
        id=_text(document, "id"),
        uri=_text(document, "trial_uri"),
        task_path=_text(table_of(document, "task_id"), "path"),
        checksum=_text(document, "task_checksum"),
        source=_text(document, "source"),
        agent=_text(agent, "name"),
        agent_version=_text(agent, "version"),
        model=_text(table_of(agent, "model_info"), "name"),
        rewards=_rewards(result),
        raised=_raised(document),
        verifier_mode=_text(document, "verifier_environment_mode"),
        usage=_usage(document),
        span=span_of(document),
        spans=_spans(document),
        steps=tuple(_step(step) for step in steps if isinstance(step, dict)) if isinstance(steps, list) else (),
    )


def read_document(path: Path) -> dict[str, object]:
    """The object in a ``result.json``. Raises ValueError naming the file, OSError."""
    file = path / "result.json" if path.is_dir() else path
    try:
        document = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: not JSON: {error}") from None
    if not isinstance(document, dict):
        raise ValueError(f"{file}: expected an object")
    return document


def _step(document: dict[str, object]) -> StepRecord:
    return StepRecord(
        name=_text(document, "step_name"),
        rewards=_rewards(table_of(document, "verifier_result")),
        raised=_raised(document),
        usage=_usage(document),
        spans=_spans(document),
    )


def table_of(document: Mapping[str, object], key: str) -> Mapping[str, object]:
    """An object below ``key``; empty for anything else."""
    found = document.get(key)
    return found if isinstance(found, dict) else {}


def _text(document: Mapping[str, object], key: str) -> str:
    found = document.get(key)
    return found if isinstance(found, str) else ""


def _rewards(result: Mapping[str, object]) -> dict[str, float] | None:
    """Rewards by key; early versions had one number."""
    found = result.get("rewards", {"reward": result["reward"]} if "reward" in result else None)
    if not isinstance(found, dict):
        return None
    return {str(key): value for key, value in found.items() if isinstance(value, (int, float))}


def _raised(document: Mapping[str, object]) -> Raised | None:
    found = table_of(document, "exception_info")
    names = ("exception_type", "exception_message", "exception_traceback", "occurred_at")
    return Raised(*(_text(found, name) for name in names)) if found else None


def _usage(document: Mapping[str, object]) -> dict[str, float]:
    found = table_of(document, "agent_result")
    return {name: value for name in _TOKENS if isinstance(value := found.get(name), (int, float))}


def span_of(document: Mapping[str, object]) -> Span:
    """When something began and ended."""
    return Span(_text(document, "started_at"), _text(document, "finished_at"))


def _spans(document: Mapping[str, object]) -> dict[str, Span]:
    return {phase: span_of(table_of(document, phase)) for phase in PHASES if table_of(document, phase)}


def _agent_json(usage: Mapping[str, float], spans: Mapping[str, Span]) -> JSON:
    """What an agent used; nothing where none ran."""
    if not usage and "agent_execution" not in spans:
        return None
    nothing: dict[str, JSON] = {"model_usage": None, "rollout_details": None, "metadata": None}
    return {**{name: usage.get(name) for name in _TOKENS}, **nothing}


def _rewards_json(rewards: Mapping[str, float] | None) -> JSON:
    return None if rewards is None else {"rewards": dict(rewards)}


def _raised_json(raised: Raised | None) -> JSON:
    if raised is None:
        return None
    return {
        "exception_type": raised.name,
        "exception_message": raised.message,
        "exception_traceback": raised.traceback,
        "occurred_at": raised.occurred_at,
    }


def _span_json(span: Span | None) -> JSON:
    return None if span is None else {"started_at": span.started_at, "finished_at": span.finished_at or None}


def _step_json(step: StepRecord) -> JSON:
    return {
        "step_name": step.name,
        "agent_result": _agent_json(step.usage, step.spans),
        "verifier_result": _rewards_json(step.rewards),
        "exception_info": _raised_json(step.raised),
        **{phase: _span_json(step.spans.get(phase)) for phase in ("agent_execution", "verifier")},
    }
