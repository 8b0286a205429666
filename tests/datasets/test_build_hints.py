"""What builds the images of the data sets says what to do where their base cannot be had."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DATASETS = Path(__file__).parents[2] / "datasets"
HINT = "--base names an image that the engine has"


def build(tmp_path: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """With a ``docker`` that reaches no registry."""
    docker = tmp_path / "docker"
    docker.write_text("#!/bin/sh\necho 'lookup registry: no such host' >&2\nexit 1\n")
    docker.chmod(0o755)
    return subprocess.run(
        [sys.executable, str(DATASETS / name / "build.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PATH": str(tmp_path)},
    )


@pytest.mark.parametrize("name", ["harbor", "quickstart"])
def test_without_a_registry_another_base_is_named(tmp_path: Path, name: str) -> None:
    done = build(tmp_path, name)
    assert done.returncode == 1
    assert "no such host" in done.stderr
    assert HINT in done.stderr.splitlines()[-1]
    assert HINT not in build(tmp_path, name, "--base", "mine:1").stderr


def test_the_examples_of_the_families_stand_on_the_quickstart(tmp_path: Path) -> None:
    done = build(tmp_path, "families")
    assert done.returncode == 1
    assert "build those first, python ../quickstart/build.py" in done.stderr.splitlines()[-1]
