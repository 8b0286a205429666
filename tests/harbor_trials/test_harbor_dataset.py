"""The small tasks in datasets/harbor, run as a user runs them: the solution resolves, nothing does not, every time."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_swe.sandbox.podman import usual_host

ROOT = Path(__file__).parents[2]
TASKS = ROOT / "datasets" / "harbor"
WITH_COMPOSE = "price-service"
DEMO_IMAGE = "pytest-swe/harbor-demo:1"
TIMES = 3

pytestmark = pytest.mark.docker  # its builder makes the image


@pytest.fixture(scope="session")
def demo_image(test_image: str) -> None:
    spec = importlib.util.spec_from_file_location("harbor_build", TASKS / "build.py")
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    assert build.main(["--base", test_image]) == 0


def run(place: Path, run_id: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", *map(str, arguments), "--swe-run-id", run_id, "-p", "no:cacheprovider"]
    return subprocess.run([*command, f"--rootdir={place}"], cwd=place, capture_output=True, text=True, timeout=600)


def lines(place: Path, run_id: str) -> list[dict[str, Any]]:
    text = (place / "swe-results" / run_id / "rewards.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def left_of(run_id: str, command: Sequence[str]) -> list[str]:
    """Containers, networks, volumes and images with the label of a run."""
    label = f"label=pytest-swe.run={run_id}"
    asked: Iterable[list[str]] = (["ps", "-a"], ["network", "ls"], ["volume", "ls"], ["images"])
    found = [
        subprocess.run([*command, *what, "-q", "--filter", label], check=True, capture_output=True, text=True).stdout
        for what in asked
    ]
    return "".join(found).split()


def tasks(*, compose: bool) -> list[Path]:
    found = [path.parent for path in sorted(TASKS.glob("*/task.toml"))]
    return [path for path in found if (path.name == WITH_COMPOSE) == compose]


def test_every_task_in_datasets_is_run_three_times() -> None:
    """Those elsewhere by `tests/e2e/test_swe_interact_runs.py` and `tests/families/test_deepswe_as_harbor.py`."""
    found = {path.parent.parent.relative_to(ROOT / "datasets") for path in (ROOT / "datasets").rglob("task.toml")}
    assert found == {Path("harbor"), Path("swe-interact"), Path("families/deepswe/tasks")}


@pytest.fixture(params=[pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("docker", "podman")])
def engine(request: pytest.FixtureRequest, demo_image: None) -> tuple[str, list[str]]:
    """A provider's name, and the command line of its engine, which has the image."""
    if request.param == "docker":
        return "docker", ["docker"]
    podman = ["podman", "--url", usual_host()]
    with subprocess.Popen(["docker", "save", DEMO_IMAGE], stdout=subprocess.PIPE) as saving:
        subprocess.run([*podman, "load", "--quiet"], stdin=saving.stdout, check=True, capture_output=True)
    return "podman", podman


@pytest.mark.parametrize(
    "compose", [False, pytest.param(True, marks=pytest.mark.compose)], ids=["containers", "compose"]
)
def test_controls_are_as_they_must_be_every_time(
    compose: bool, tmp_path: Path, engine: tuple[str, list[str]], worker_id: str
) -> None:
    provider, command = engine
    run_id = f"controls-{provider}-{compose}-{tmp_path.parent.parent.name}-{worker_id}"
    agents = ["--swe-agent", "oracle", "--swe-agent", "nop", "--swe-attempts", str(TIMES), "--swe-provider", provider]
    done = run(tmp_path, run_id, *tasks(compose=compose), *agents, "-n2")
    found = lines(tmp_path, run_id)
    assert len(found) == 2 * TIMES * len(tasks(compose=compose)), done.stdout
    wrong = [line for line in found if line["status"] != ("resolved" if line["model"] == "gold" else "unresolved")]
    assert wrong == [], done.stdout
    assert done.returncode == 1
    assert left_of(run_id, command) == []
    if not compose:
        scores = next(line for line in found if line["instance_id"] == "three-scores" and line["model"] == "nop")
        assert scores["rewards"] == {"works": 0.0, "documented": 0.0, "quiet": 0.0}
