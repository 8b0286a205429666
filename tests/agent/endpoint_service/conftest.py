"""Gates for one test, each with a route to a scripted model, closed at its end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_swe.agent.endpoint.gate import ModelGate
from pytest_swe.agent.endpoint.routes import Limits, ModelRoute

from .asked import FAST, KEY, Asked, Make


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setenv("A_KEY", KEY)
    made: list[ModelGate] = []

    def build(url: str, limits: Limits = FAST, **route: Any) -> Asked:
        chosen = ModelRoute(**{"url": url, "protocol": "openai", "key_variable": "A_KEY", **route})
        gate = ModelGate([chosen], calls_file=tmp_path / "calls.jsonl", limits=limits)
        made.append(gate)
        return Asked(gate, gate._services[chosen.route], tmp_path / "calls.jsonl")

    yield build
    for gate in made:
        gate.close()
