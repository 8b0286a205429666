"""The examples of datasets/families, run by the plugin as a user runs it, on a real engine."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "datasets" / "families"
FAMILIES = sorted(path.parent.name for path in EXAMPLES.glob("*/rows.jsonl"))

#: Every sandbox of the run stands on an image in which no test can run.
BREAK = """
from dataclasses import replace

def pytest_swe_sandbox_spec(spec):
    return replace(spec, image="pytest-swe/families-broken:1")
"""


@dataclass(frozen=True)
class Finished:
    """The reward lines of a run over all examples, by family and candidate."""

    rewards: dict[tuple[str, str], list[dict[str, Any]]]
    output: str
    place: Path


def build_images(test_image: str) -> None:
    for place, args in ((ROOT / "datasets" / "quickstart", ["--base", test_image]), (EXAMPLES, [])):
        assert _module(place / "build.py").main(args) == 0


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_build", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_examples(place: Path, *args: str) -> Finished:
    """Pytest in ``place``, where plugins may stand."""
    files = [str(EXAMPLES / family / "rows.jsonl") for family in FAMILIES]
    command = [sys.executable, "-m", "pytest", *files, "-n", "2", "-p", "no:cacheprovider", "--swe-run-id", "r", *args]
    env = {**os.environ, "PYTHONPATH": str(place)}
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=900, env=env)
    rewards: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in (place / "swe-results" / "r" / "rewards.jsonl").read_text().splitlines():
        found = json.loads(line)
        rewards.setdefault((found["family"], found["model"]), []).append(found)
    return Finished(rewards, done.stdout + done.stderr, place / "swe-results" / "r")


@pytest.fixture(scope="session")
def images(test_image: str) -> None:
    build_images(test_image)


@pytest.fixture(scope="session")
def controls(images: None, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Gold and base of every example."""
    return run_examples(tmp_path_factory.mktemp("controls"), "--swe-preds", "gold,base")


@pytest.fixture(scope="session")
def broken(images: None, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Gold of every example where no test can run."""
    place = tmp_path_factory.mktemp("broken")
    (place / "break_images.py").write_text(BREAK)
    return run_examples(place, "--swe-preds", "gold", "-p", "break_images")
