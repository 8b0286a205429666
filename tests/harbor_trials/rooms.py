"""Trials on a real engine: an image that all tasks of these tests stand on, and one trial from a few files."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_swe.agent.base import Agent
from pytest_swe.agent.oracle import Oracle
from pytest_swe.harness.harbor import HarborHarness, task_of
from pytest_swe.model import Candidate, Origin
from pytest_swe.policy import Policy
from pytest_swe.reward import Reward
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.trial.setting import TrialSetting
from pytest_swe.trial.trial import Trial

#: What tasks of these tests stand on: the test image with an own ``curl`` for ``http``.
BASE = "pytest-swe/harbor-base:1"
CURL = """#!/usr/bin/env python3
import sys, urllib.request
sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[-1], timeout=10).read())
"""
DOCKERFILE = f"FROM {BASE}\nRUN useradd -m bob && mkdir -p /app && chown bob /app\nWORKDIR /app\n"
#: What every trial here carries, so that what is left of it can be found.
LABELS = {"of": "harbor-trials"}


def build_base(test_image: str) -> None:
    """Make `BASE`, unless the engine's cache has it."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "curl").write_text(CURL)
        text = f"FROM {test_image}\nCOPY curl /usr/bin/curl\nRUN chmod 755 /usr/bin/curl\n"
        (Path(place) / "Dockerfile").write_text(text)
        subprocess.run(["docker", "build", "-q", "-t", BASE, place], check=True, capture_output=True)


def variables_of_base() -> frozenset[str]:
    """What `BASE` sets itself, as lines of ``env``, but PATH."""
    argv = ["docker", "image", "inspect", "-f", "{{json .Config.Env}}", BASE]
    found = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)
    return frozenset(line for line in found if not line.startswith("PATH="))


@dataclass(frozen=True)
class Tried:
    """A trial that has ended: its reward line, and the directory of its files."""

    reward: Reward
    place: Path

    @property
    def steps(self) -> list[dict[str, Any]]:
        return [dict(step) for step in self.reward.steps or ()]

    def text(self, path: str) -> str:
        return (self.place / path).read_text("utf-8", "replace")

    def __str__(self) -> str:
        return f"{self.reward.status} {self.reward.reason}: {self.reward.detail}"


def write(root: Path, files: Mapping[str, str]) -> Path:
    """The files of a task below ``root``."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, newline="")
    return root


def tried(
    root: Path,
    place: Path,
    provider: DockerProvider,
    agent: Agent | None = None,
    *,
    kept: Callable[[str], object] | None = None,
    labels: Mapping[str, str] = LABELS,
    **setting: Any,
) -> Tried:
    """One trial of the task in ``root``; ``agent`` None is the task's own solution, a control.

    ``kept`` is shown the container of a trial that is to be kept, before that is discarded.
    """
    harness = HarborHarness()
    row = {"instance_id": root.name, "harbor_task": {}, "_tree": {"task": str(root)}}
    instance = harness.instance(row, Origin(root=root))
    trial = Trial(
        instance,
        Candidate(model="gold", source="gold") if agent is None else Candidate(model=agent.name, agent=True),
        task=task_of(instance),
        setting=TrialSetting(agent=agent or Oracle(), **setting),
        provider=provider,
        place=place,
        policy=Policy(retries=0, pace=0.0, keep=lambda candidate, verdict: kept is not None),
        labels=labels,
    )
    reward = trial.run().reward
    if kept is not None:
        assert trial.sandbox is not None
        try:
            kept(trial.sandbox.id)
        finally:
            trial.discard()
    return Tried(reward, place)
