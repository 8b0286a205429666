"""The files of one evaluation: whole, also when threads judge the same instance for the same model at once."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pytest_swe.model import ApplyLog, EvalLog, RunLog, StepLog
from pytest_swe.report.instance_logs import instance_directory, write_instance_logs
from pytest_swe.reward import Outcome, Reward


def test_threads_that_write_one_place_leave_whole_files_and_nothing_else(tmp_path: Path) -> None:
    step = StepLog(name="tests", apply=ApplyLog(outcome="applied"), run=RunLog(output=b"x" * 100_000))
    outcome = Outcome(
        reward=Reward(instance_id="i", status="resolved"), log=EvalLog(steps=(step,), script="s"), patch=b"p\n"
    )
    place = instance_directory(tmp_path, "lab/m", "i")
    with ThreadPoolExecutor(16) as pool:
        for written in [pool.submit(write_instance_logs, place, outcome) for _ in range(200)]:
            written.result()
    names = {"patch.diff", "eval.sh", "test_output.txt", "run_instance.log", "eval_log.json"}
    assert {file.name for file in place.iterdir()} == names
    assert len((place / "test_output.txt").read_bytes()) == 100_000
    assert json.loads((place / "eval_log.json").read_text())["schema"] == 1
