"""The images of the quickstart data set, built from its Dockerfiles."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

QUICKSTART = Path(__file__).parents[2] / "datasets" / "quickstart"
TASKS = sorted(QUICKSTART.glob("tasks/*"))

pytestmark = pytest.mark.docker


def build(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(QUICKSTART / "build.py"), *arguments], capture_output=True, text=True, timeout=600
    )


@pytest.fixture(scope="module")
def built(test_image: str) -> None:
    done = build("--base", test_image)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("task", TASKS, ids=[task.name for task in TASKS])
def test_image_holds_the_base_commit_and_nothing_later(task: Path) -> None:
    row = yaml.safe_load((task / "task.yaml").read_text("utf-8"))
    commands = "git rev-parse HEAD && git status --porcelain && git for-each-ref --format='%(refname)' && "
    commands += "git fsck --unreachable --no-reflogs 2>/dev/null && python3 -c 'import pytest'"
    printed = subprocess.run(
        ["docker", "run", "--rm", "--network", "none", "--workdir", "/testbed", row["image"], "sh", "-c", commands],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.split() == [row["base_commit"], "refs/heads/main"]


def test_unknown_instance_is_a_usage_error() -> None:
    done = build("no-such-row")
    assert done.returncode == 2
    assert "no instance no-such-row" in done.stderr


def test_missing_base_is_told_with_what_docker_said() -> None:
    done = build("--base", "pytest-swe/no-such-image:0")
    assert done.returncode == 1
    assert "docker build ended with status" in done.stderr
