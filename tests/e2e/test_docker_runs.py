"""Runs on a real engine that end badly: every item has its line or is named, and no container is left."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pytest_swe import verify_task
from pytest_swe.dataset.source import open_dataset
from pytest_swe.verify import averify_task

from .conftest import QUICKSTART, run_plugin

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("images")]

HANGING = "pytest-swe__stencil-1"
QUICK = "pytest-swe__spans-1"


class Running:
    """A run of the quickstart in a process of its own, to be disturbed."""

    def __init__(self, place: Path, *args: str) -> None:
        self.place = place
        self.run_id = f"r{os.getpid()}-{time.monotonic_ns()}"
        command = [sys.executable, "-m", "pytest", str(QUICKSTART), "--swe-preds", str(QUICKSTART / "preds.jsonl")]
        command += ["--swe-run-id", self.run_id, "-p", "no:cacheprovider", *args]
        self.process = subprocess.Popen(
            command,
            cwd=place,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            # A shell starts what is in the background with SIGINT ignored, these tests too.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    @property
    def directory(self) -> Path:
        return self.place / "swe-results" / self.run_id

    def finish(self) -> str:
        output, _ = self.process.communicate(timeout=120)
        return output

    @property
    def rewards(self) -> dict[str, dict[str, Any]]:
        lines = [json.loads(line) for line in (self.directory / "rewards.jsonl").read_text().splitlines()]
        assert len({line["instance_id"] for line in lines}) == len(lines)
        return {line["instance_id"]: line for line in lines}

    def containers(self, **labels: str) -> list[str]:
        filters = [f"label=pytest-swe.{key}={value}" for key, value in {"run": self.run_id, **labels}.items()]
        command = ["docker", "ps", "-aq", *(word for one in filters for word in ("--filter", one))]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)


def test_a_worker_killed_in_mid_item(tmp_path: Path) -> None:
    run = Running(tmp_path, "-n2", "--swe-instance", HANGING, "--swe-instance", QUICK)
    wait_for(lambda: run.containers(instance=HANGING))
    container = run.containers(instance=HANGING)[0]
    command = ["docker", "inspect", "-f", '{{index .Config.Labels "pytest-swe.worker"}}', container]
    worker = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    os.kill(int((run.directory / ".workers" / worker).read_text()), signal.SIGKILL)
    output = run.finish()
    assert run.rewards[HANGING]["reason"] == "worker_crashed", output
    assert run.rewards[HANGING]["reward"] is None
    assert run.rewards[QUICK]["status"] == "unresolved"
    assert run.containers() == []
    assert not (run.directory / ".workers").exists()


@pytest.mark.parametrize("shape", [("-n2",), ("-n0",)], ids=" ".join)
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_to_the_controller_alone(tmp_path: Path, shape: tuple[str, ...], how: signal.Signals) -> None:
    run = Running(tmp_path, *shape, "--swe-instance", HANGING)
    wait_for(lambda: run.containers(instance=HANGING))
    run.process.send_signal(how)
    output = run.finish()
    assert run.process.returncode == pytest.ExitCode.INTERRUPTED, output
    assert f"did not run: 1 ({HANGING})" in output
    assert run.containers() == []


@pytest.mark.parametrize("shape", [("-n2",), ("-n0",)], ids=" ".join)
@pytest.mark.parametrize("how", [("-x",), ("--reruns", "1")], ids=" ".join)
def test_no_container_is_left_after_x_and_after_reruns(
    tmp_path: Path, shape: tuple[str, ...], how: tuple[str, ...]
) -> None:
    run = Running(tmp_path, *shape, *how, "--swe-instance", HANGING, "--swe-instance", QUICK)
    output = run.finish()
    line = run.rewards[QUICK]
    assert (line["status"], line["reruns"]) == ("unresolved", 0 if how == ("-x",) else 1), output
    assert (HANGING in run.rewards) is (how != ("-x",))
    assert run.containers() == []


def test_a_container_removed_from_outside_is_tried_again(tmp_path: Path) -> None:
    run = Running(tmp_path, "-n0", "--swe-instance", HANGING)
    wait_for(lambda: run.containers(instance=HANGING))
    time.sleep(1)  # into the evaluation
    subprocess.run(["docker", "rm", "-f", *run.containers()], check=True, capture_output=True)
    run.finish()
    line = run.rewards[HANGING]
    assert (line["status"], line["reason"]) == ("unresolved", "tests_timed_out")
    assert line["attempts"][0]["reason"] == "sandbox_removed"
    assert run.containers() == []


def test_a_kept_sandbox_can_be_entered_and_is_swept_later(tmp_path: Path) -> None:
    run = Running(tmp_path, "-n0", "--swe-instance", QUICK, "--swe-keep")
    output = run.finish()
    found = re.search(r"kept: (docker exec .*?)   \(the tests again: (.*)\)", output)
    assert found is not None, output
    assert len(run.containers()) == 1
    enter = [word for word in shlex.split(found[1]) if word != "-it"]
    again = subprocess.run([*enter, "-c", found[2]], capture_output=True, text=True)
    assert "tests/test_span.py" in again.stdout
    # its owner, the run, has ended: a sweep takes it, and only such
    subprocess.run([sys.executable, "-m", "pytest_swe", "sweep", "--provider", "docker"], check=True)
    assert run.containers() == []


def test_a_missing_image_is_one_line_with_a_hint(tmp_path: Path) -> None:
    dataset = open_dataset(str(QUICKSTART))
    row = {**dataset.row(QUICK), "image": "pytest-swe/no-such-image:1"}
    row.pop("_tree", None)
    data = tmp_path / "rows.jsonl"
    data.write_text(json.dumps(row, default=str) + "\n")
    run = run_plugin(tmp_path, data, "--swe-preds", "gold", "-n0")
    (line,) = run.rewards.values()
    assert (line["status"], line["reason"], line["fault"]) == ("error", "image_unavailable", "environment")
    assert "pytest-swe/no-such-image:1" in line["detail"]
    assert "\n" not in line["detail"]
    assert run.status == 10


def test_a_missing_engine_is_said_at_once(tmp_path: Path) -> None:
    env = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/no.sock"}
    run = run_plugin(tmp_path, QUICKSTART, "--swe-preds", "gold", "--swe-limit", "2", "-n0", env=env)
    assert {line["reason"] for line in run.rewards.values()} == {"engine_unavailable"}
    assert run.status == 10
    assert "Traceback" not in run.output


def test_verify_task_from_32_threads() -> None:
    row = open_dataset(str(QUICKSTART)).row(QUICK)
    gold = str(row["patch"])

    def judge(number: int) -> str:
        return verify_task(row, gold if number % 2 else None, provider="docker").status

    with ThreadPoolExecutor(32) as pool:
        statuses = list(pool.map(judge, range(32)))
    assert statuses == ["unresolved", "resolved"] * 16


async def _three() -> list[str]:
    import asyncio

    row = open_dataset(str(QUICKSTART)).row(QUICK)
    patches = [str(row["patch"]), None, ""]
    rewards = await asyncio.gather(*(averify_task(row, patch, provider="docker") for patch in patches))
    return [f"{reward.status} {reward.reason}".strip() for reward in rewards]


def test_averify_task_in_an_event_loop() -> None:
    import asyncio

    assert asyncio.run(_three()) == ["resolved", "unresolved tests_failed", "unresolved empty_patch"]
