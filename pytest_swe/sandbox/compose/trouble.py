"""Why a group did not start, in terms of its services."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_swe.errors import DiskFull, SandboxStartFailed, SweError
from pytest_swe.sandbox.compose.plan import Plan
from pytest_swe.sandbox.compose.program import Ended
from pytest_swe.sandbox.docker_answers import Container, Refused
from pytest_swe.sandbox.docker_engine import Engine

#: Lines of Compose's own that are told when no service is known to be at fault.
LINES = 5

#: Characters of what a service printed last, or its health check.
WORDS = 400


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the engine says about a service. ``health`` is empty where it has no check."""

    status: str
    code: int
    health: str
    words: str


def failed_start(
    engine: Engine, plan: Plan, containers: Mapping[str, Container], ended: Ended, secrets: Mapping[str, str]
) -> SweError:
    """The error, without the values of ``secrets``."""
    text = _without(ended.text, secrets)
    if "no space left" in text:
        return DiskFull("no space left to start the services of this task")
    if "address pool" in text:
        hint = "more default-address-pools in its daemon.json, or fewer groups at once"
        return SandboxStartFailed(f"the {engine.name} engine has no addresses left for a network", hint=hint)
    seen = {name: _seen(engine, each.id) for name, each in containers.items()}
    faults = [fault for name in sorted(plan.services) if (fault := _fault(name, seen.get(name), ended))]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    late = " in its time" if ended.code is None else ""
    said = "; ".join(faults) or " ".join(lines[-LINES:])
    return SandboxStartFailed(_without(f"the services of this task did not start{late}: {said}", secrets))


def _fault(name: str, seen: _Seen | None, ended: Ended) -> str:
    """What is wrong with a service; empty when it stands, or when it waits for others that are named."""
    if seen is None or seen.status == "created":
        why = next((line for line in ended.text.splitlines() if f"-{name}-1" in line and "rror" in line), "")
        return f"service {name} could not be started: {' '.join(why.split())[-WORDS:]}" if why else ""
    if seen.status != "running":
        return f"service {name} ended with status {seen.code}: {seen.words}" if seen.code else ""
    if seen.health in ("unhealthy", "starting"):
        return f"service {name} did not become healthy: {seen.words}"
    return ""


def _seen(engine: Engine, container: str) -> _Seen:
    try:
        with engine.asked("GET", f"containers/{container}/json") as answer:
            state = answer.json()["State"]
    except Refused:
        return _Seen("created", 0, "", "")
    health = state.get("Health") or {}
    checks = health.get("Log") or []
    words = (str(checks[-1].get("Output", "")) if checks else "") or engine.last_words(container)
    return _Seen(str(state["Status"]), int(state["ExitCode"]), str(health.get("Status", "")), _one_line(words))


def _one_line(text: str) -> str:
    return " ".join(text.split())[-WORDS:]


def _without(text: str, secrets: Mapping[str, str]) -> str:
    for name, value in secrets.items():
        if value:
            text = text.replace(value, f"${{{name}}}")
    return text
