"""`pytest-swe regrade` of runs in which more than the log decided: that is kept, and said."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import PREDS, QUICKSTART, Finished, Once, run_plugin

NAME = "pytest-swe__spans-1"
PASSES_ALL = """\
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed:
        report.outcome, report.longrepr = "passed", None
"""
ENDS_ALL = """\
import os

os._exit(0)
"""
LOOKED = "a second look decided, and it is not repeated"
CONTROLLED = "the control decided, and it is not run again"


def patch_of(text: str) -> str:
    lines = text.splitlines()
    added = "".join(f"+{line}\n" for line in lines)
    head = "diff --git a/conftest.py b/conftest.py\nnew file mode 100644\n--- /dev/null\n+++ b/conftest.py\n"
    return f"{head}@@ -0,0 +1,{len(lines)} @@\n{added}"


def predictions(place: Path, **patches: str) -> None:
    rows = [
        {"instance_id": NAME, "model_name_or_path": model, "model_patch": patch} for model, patch in patches.items()
    ]
    (place / "preds.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def finished(once: Once) -> Finished:
    def make(place: Path) -> Finished:
        predictions(place, cheat=patch_of(PASSES_ALL), ends=patch_of(ENDS_ALL))
        chosen = ("--swe-instance", NAME, "--swe-preds", "preds.jsonl,gold")
        return run_plugin(place, QUICKSTART, *chosen, "--swe-provider", "local", "-n0")

    return once("regraded", make)


@pytest.fixture
def run(finished: Finished, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    shutil.copytree(finished.directory, tmp_path / "run", symlinks=True)
    return tmp_path / "run"


def regrade(directory: Path, *options: str) -> tuple[int, list[str]]:
    argv = [sys.executable, "-m", "pytest_swe", "regrade", str(directory), *options]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_what_a_second_look_or_the_control_decided_is_kept(finished: Finished, run: Path) -> None:
    lines = {model: (line["status"], line["reason"]) for (_, model), line in finished.rewards.items()}
    assert lines["cheat"] == ("unresolved", "tampered")
    assert lines["ends"] == ("unresolved", "log_unparseable")
    before = (run / "logs" / "cheat" / NAME / "report.json").read_bytes()
    assert regrade(run, "--write") == (
        0,
        [
            f"{NAME} by cheat: unresolved tampered: not judged again: {LOOKED}",
            f"{NAME} by ends: unresolved log_unparseable: not judged again: {CONTROLLED}",
            "1 logs graded again, 0 changed; not judged again: 2",
        ],
    )
    assert (run / "logs" / "cheat" / NAME / "report.json").read_bytes() == before


def test_a_log_of_a_run_that_told_less_is_kept_as_well(run: Path) -> None:
    for place in (run / "logs").glob("*/*/eval_log.json"):
        saved = json.loads(place.read_bytes())
        saved["reward"] = {name: saved["reward"][name] for name in ("instance_id", "model", "status", "reason")}
        saved["reward"] |= {"dataset": "quickstart", "line": 1, "repeat": 0}
        place.write_text(json.dumps(saved))
    status, said = regrade(run)
    assert (status, said[-1]) == (0, "1 logs graded again, 0 changed; not judged again: 2")


def test_a_log_that_denies_by_itself_is_believed(run: Path) -> None:
    log = run / "logs" / "cheat" / NAME / "test_output.txt"
    log.write_bytes(log.read_bytes().replace(b"\nPASSED tests/", b"\nFAILED tests/"))
    status, said = regrade(run)
    assert status == 1
    assert f"{NAME} by cheat: unresolved tampered -> unresolved tests_failed" in said


def test_a_log_that_resolves_now_and_would_be_doubted_is_told(run: Path) -> None:
    place = run / "logs" / "cheat" / NAME / "eval_log.json"
    saved = json.loads(place.read_bytes())
    saved["reward"] |= {"reason": "tests_failed", "phases_ms": {}, "flags": []}
    place.write_text(json.dumps(saved))
    status, said = regrade(run)
    assert status == 1
    told = "unresolved tests_failed -> resolved (a run would take a second look at it)"
    assert f"{NAME} by cheat: {told}" in said


def test_logs_that_cannot_be_read_are_no_changed_verdicts(run: Path) -> None:
    (run / "logs" / "gold" / NAME / "test_output.txt").unlink()
    (run / "logs" / "cheat" / NAME / "eval_log.json").write_text("{")
    status, said = regrade(run)
    assert status == 0
    assert said[-1] == "0 logs graded again, 0 changed; not judged again: 1; cannot be judged again: 2"
    assert f"{NAME} by gold: resolved: cannot be judged again: its log cannot be read" in "\n".join(said)
    shutil.rmtree(run / "logs" / "ends")
    assert regrade(run)[0] == 2


def test_a_row_that_is_gone_is_no_changed_verdict(run: Path, tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text(json.dumps({"instance_id": "a__b-1", "FAIL_TO_PASS": []}) + "\n")
    status, said = regrade(run, "--dataset", str(tmp_path / "other.jsonl"))
    assert status == 2
    assert said[-1] == "0 logs graded again, 0 changed; cannot be judged again: 3"


def test_held_tests_are_not_required_in_a_run_or_afterwards(tmp_path: Path) -> None:
    name = "pytest-swe__spans-2"
    chosen = (QUICKSTART, "--swe-instance", name, "--swe-preds", PREDS, "--swe-provider", "local", "-n0")
    (line,) = run_plugin(tmp_path, *chosen, run_id="plain").rewards.values()
    assert line["reason"] == "tests_failed"
    held = {"instance_id": name, "tests": line["tests"]["failed"], "reason": "flaky"}
    (tmp_path / "held.jsonl").write_text(json.dumps(held))
    finished = run_plugin(tmp_path, *chosen, "--swe-quarantine", "held.jsonl")
    (line,) = finished.rewards.values()
    assert (line["status"], line["tests"]["failed"]) == ("resolved", []), line
    assert "quarantined_tests" in line["flags"]
    assert regrade(finished.directory) == (0, ["1 logs graded again, 0 changed"])
