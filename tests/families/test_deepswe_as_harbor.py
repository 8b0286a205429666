"""DeepSWE's tasks are Harbor's too: the same directory, run as one, has the same answers, every time."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path

import pytest

from .conftest import EXAMPLES


@pytest.mark.docker
@pytest.mark.usefixtures("images")
def test_its_solution_resolves_it_and_nothing_does_not_three_times(tmp_path: Path) -> None:
    run_id = f"deepswe-{uuid.uuid4().hex[:8]}"
    tasks = f"--swe-dataset={EXAMPLES / 'deepswe' / 'tasks'}"
    agents = ["--swe-agent", "oracle", "--swe-agent", "nop", "--swe-attempts", "3", "--swe-run-id", run_id]
    command = [sys.executable, "-m", "pytest", tasks, *agents, "-n2", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    text = (tmp_path / "swe-results" / run_id / "rewards.jsonl").read_text()
    found = Counter((line["model"], line["status"]) for line in map(json.loads, text.splitlines()))
    assert found == {("gold", "resolved"): 3, ("nop", "unresolved"): 3}, done.stdout
    for what in (["ps", "-a"], ["network", "ls"], ["volume", "ls"], ["images"]):
        asked = ["docker", *what, "-q", "--filter", f"label=pytest-swe.run={run_id}"]
        assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == "", what
