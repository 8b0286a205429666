"""A run of pytest whose images come from a mirror, within a budget: what the reward lines say, and what stays."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import docker
import pytest
from registries import Proxy

from .conftest import Publish, shell_layer
from .test_budget import large
from .test_prepare import Rows, rows

__all__ = ["rows"]

pytestmark = [pytest.mark.docker, pytest.mark.registry, pytest.mark.busybox]


def run(place: Path, data: Path, *args: str) -> tuple[list[dict[str, object]], str]:
    command = [sys.executable, "-m", "pytest", str(data), "--swe-preds", "base", "-p", "no:cacheprovider"]
    command += ["--swe-run-id", "r", "--swe-retries", "0", *args]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=300)
    lines = (place / "swe-results" / "r" / "rewards.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines], done.stdout + done.stderr


def test_images_come_from_a_mirror_and_leave_for_the_budget(
    rows: Rows,
    publish: Publish,
    front: Proxy,
    engine: docker.APIClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The images have no git, so nothing is measured: that they came and went is what counts."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    place = f"127.0.0.1:{front.port}"
    published = [publish(shell_layer(), large(32)) for _ in range(3)]
    own = [image.replace(place, "registry.invalid") for image in published]
    used = int(engine.df()["LayersSize"]) // 1024**2
    try:
        lines, said = run(
            tmp_path, rows(*own), "-n2", "--swe-image-mirror", f"registry.invalid={place}",
            "--swe-image-budget", f"{used + 48}m", "--swe-pulls", "1",
        )  # fmt: skip
        assert len(lines) == 3, said
        for line in lines:
            assert str(line["image_digest"]).startswith("sha256:"), line
            phases = line["phases_ms"]
            assert isinstance(phases, dict)
            assert phases["pull"] > 0
            assert phases["acquire"] > 0
        assert front.pulls == 3  # none left while an item still wanted it
        there = [image for image in own if engine.images(image)]
        assert 1 <= len(there) < 3
        assert not list((tmp_path / "state" / "pytest-swe" / "image-needs").glob("*.json"))
    finally:
        for image in own:
            if engine.images(image):
                engine.remove_image(image, force=True)


@pytest.mark.parametrize("option", ["--swe-pulls=0", "--swe-image-budget=much", "--swe-image-mirror=nothing"])
def test_options_that_mean_nothing_are_told(rows: Rows, tmp_path: Path, option: str) -> None:
    command = [sys.executable, "-m", "pytest", str(rows("a/b:1")), "--swe-preds", "base", "-n0", option]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode in (pytest.ExitCode.USAGE_ERROR, 10)
    assert option.split("=")[0].removeprefix("--swe-").replace("-", " ") in (done.stdout + done.stderr).replace(
        "-", " "
    )


def test_a_provider_without_images_refuses_them(rows: Rows, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", str(rows("a/b:1")), "--swe-preds", "base", "-n0"]
    command += ["--swe-provider", "local", "--swe-image-budget", "1g"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--swe-image-budget are for docker, podman, apptainer, not local" in done.stderr
