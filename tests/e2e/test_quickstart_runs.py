"""The quickstart's runs: what they leave behind, and logs that swebench grades the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import PREDS, QUICKSTART, Finished, run_plugin

PLANTED = Path(__file__).parent.parent / "data" / "planted"


@pytest.mark.docker
def test_nothing_of_the_run_is_left_on_the_engine(on_docker: Finished) -> None:
    run = json.loads((on_docker.directory / "run.json").read_text())["run_id"]
    filters = ["--filter", f"label=pytest-swe.run={run}"]
    listed = subprocess.run(["docker", "ps", "-aq", *filters], capture_output=True, text=True, check=True)
    assert listed.stdout == ""


def test_a_planted_row_whose_tests_pass_without_a_fix_is_found(tmp_path: Path) -> None:
    run = run_plugin(tmp_path, PLANTED, "--swe-preds", "base", "--swe-provider", "local", "-n0")
    (line,) = run.rewards.values()
    assert (line["model"], line["status"]) == ("base", "resolved")
    assert run.status == 1
    assert "the unpatched tree must not resolve" in run.output


def test_a_run_of_the_cheat_is_flagged(on_local: Finished) -> None:
    line = on_local.rewards["pytest-swe__spans-1", "demo"]
    assert line["reward"] == 0.0
    assert "forged_markers" in line["flags"]


def test_the_hang_keeps_its_output(on_local: Finished) -> None:
    place = on_local.directory / on_local.rewards["pytest-swe__stencil-1", "demo"]["logs"]
    output = (place / "test_output.txt").read_text()
    assert "test session starts" in output
    assert output.endswith("seconds exceeded.")


def test_regrade_changes_nothing(on_local: Finished) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest_swe", "regrade", str(on_local.directory)], capture_output=True, text=True
    )
    assert done.stdout == "29 logs graded again, 0 changed\n", done.stdout + done.stderr
    assert done.returncode == 0


def test_regrade_sees_a_log_that_changed(on_local: Finished, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "run"
    shutil.copytree(on_local.directory, copy, symlinks=True)
    log = copy / "logs" / "gold" / "pytest-swe__spans-1" / "test_output.txt"
    log.write_bytes(log.read_bytes().replace(b"\nPASSED tests/test_span.py", b"\nFAILED tests/test_span.py"))
    done = subprocess.run([sys.executable, "-m", "pytest_swe", "regrade", str(copy)], capture_output=True, text=True)
    assert "pytest-swe__spans-1 by gold: resolved -> unresolved tests_failed" in done.stdout
    assert done.returncode == 1


OFFICIAL = """
import json, sys
from swebench.harness import run_evaluation
run_evaluation.main(
    dataset_name=sys.argv[1], split="test", instance_ids=None, predictions_path=sys.argv[2], max_workers=1,
    open_file_limit=1024, run_id="r", timeout=60, rewrite_reports=True, modal=False, report_dir="official",
)
"""


def official_rows(place: Path) -> Path:
    """The quickstart's rows in a file that swebench loads."""
    from swebench.task.repo import load_task_repo

    rows = place / "rows.jsonl"
    rows.write_text("".join(json.dumps(row, default=str) + "\n" for row in load_task_repo(QUICKSTART)))
    return rows


@pytest.mark.docker  # swebench's report code talks to an engine
@pytest.mark.parametrize("model", ["gold", "demo"])
def test_swebenchs_own_report_code_grades_the_same(on_local: Finished, tmp_path: Path, model: str) -> None:
    rows = official_rows(tmp_path)
    (tmp_path / "logs").symlink_to(on_local.directory / "logs")
    before = reports(on_local, model)
    preds = str(PREDS) if model == "demo" else "gold"
    done = subprocess.run(
        [sys.executable, "-c", OFFICIAL, str(rows), preds], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert reports(on_local, model) == before
    official = json.loads((tmp_path / "official" / f"{model}.r.json").read_text())
    ours = json.loads((on_local.directory / f"{model}.r.json").read_text())
    assert official["resolved_ids"] == ours["resolved_ids"]
    assert official["empty_patch_ids"] == ours["empty_patch_ids"]
    assert set(ours) <= set(official)


@pytest.mark.docker
def test_swebenchs_report_command_grades_a_gold_run(on_local: Finished, tmp_path: Path) -> None:
    rows = official_rows(tmp_path)
    (tmp_path / "logs").symlink_to(on_local.directory / "logs")
    command = [str(Path(sys.executable).parent / "swebench"), "report", "r", "-d", str(rows)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "gold.r.json").read_text())
    assert report["resolved_instances"] == 10


def reports(run: Finished, model: str) -> dict[str, Any]:
    """What the saved reports say, but for the reason that swebench only knows from text."""
    found: dict[str, Any] = {}
    for path in sorted((run.directory / "logs" / model).glob("*/report.json")):
        for name, report in json.loads(path.read_text()).items():
            found[name] = report
    return found
