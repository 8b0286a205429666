"""What a trial keeps of its containers: copied out before the verifier runs, and put into a separate verifier's."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path

from pytest_swe.errors import SandboxError, SandboxFileError
from pytest_swe.harbor.artifacts import Entry, entries_of, manifest_of, sanitised
from pytest_swe.harbor.steps import StepSettings
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.trial.environment import Environment
from pytest_swe.trial.inside import must


@dataclass(frozen=True, slots=True)
class _Kept:
    entry: Entry
    status: str
    tar: bytes = b""


class Artifacts:
    """Those of one step. ``place``: the step's directory on this host, or None."""

    def __init__(self, environment: Environment, settings: StepSettings, place: Path | None) -> None:
        self._environment = environment
        self._entries = entries_of(settings)
        self._place = place
        self._kept: list[_Kept] = []
