"""Evaluations recorded on a real engine, judged again without one: the whole way from row to report.

``transcripts/swebench/<case>/`` holds row.json, candidate.diff (none: the unpatched tree), transcript.jsonl and
expected.json. With PYTEST_SWE_RECORD=1 in the environment, a Docker engine and the images of datasets/quickstart, the
recordings and what is expected are written anew; the difference then shows in the review.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_swe import registry
from pytest_swe.dataset.source import open_dataset
from pytest_swe.harness.swebench import SweBenchHarness
from pytest_swe.model import Candidate, EvalLog, Origin, Report
from pytest_swe.sandbox.base import SandboxProvider
from pytest_swe.sandbox.replay import RecordingProvider, ReplayProvider

PLACE = Path(__file__).parent / "transcripts" / "swebench"
QUICKSTART = Path(__file__).parents[2] / "datasets" / "quickstart"
RECORD = bool(os.environ.get("PYTEST_SWE_RECORD"))

#: case -> (row of the quickstart, its time-out, whose patch)
CASES = {
    "gold": ("pytest-swe__spans-2", 60, "gold"),
    "base": ("pytest-swe__spans-2", 60, "base"),
    "wrong-fix": ("pytest-swe__spans-2", 60, "demo"),
    "cheat": ("pytest-swe__spans-1", 60, "demo"),
    "does-not-apply": ("pytest-swe__inilite-2", 60, "demo"),
    "hangs": ("pytest-swe__stencil-1", 5, "demo"),
}


def judged(case: Path, provider: SandboxProvider) -> tuple[EvalLog, Report]:
    row: dict[str, Any] = json.loads((case / "row.json").read_text())
    patch = case / "candidate.diff"
    harness = SweBenchHarness()
    instance = harness.instance(row, Origin(trusted=True))
    sandbox = provider.acquire(instance.spec, labels={"instance": instance.id})
    try:
        candidate = Candidate(model="m", patch=patch.read_bytes() if patch.exists() else None)
        log = harness.evaluate(instance, candidate, sandbox)
    finally:
        sandbox.close()
    return log, harness.grade(instance, log)


def told(log: EvalLog, report: Report) -> dict[str, Any]:
    """What is compared: the report without swebench's copy of the buckets, and how the run went."""
    step = log.steps[0]
    run = step.run
    return {
        "resolved": report.resolved,
        "measured": report.measured,
        "reason": report.reason,
        "detail": report.detail,
        "fail_to_pass": [list(report.fail_to_pass.success), list(report.fail_to_pass.failure)],
        "pass_to_pass": [list(report.pass_to_pass.success), list(report.pass_to_pass.failure)],
        "first_failure": report.first_failure,
        "excerpt": report.excerpt.split("\n"),
        "flags": list(report.flags),
        "apply": [step.apply.outcome, step.apply.attempt, step.apply.whole, list(step.apply.paths)],
        "run": run and [run.exit_code, run.test_exit_code, run.timed_out, run.started, run.ended, run.forged],
    }


def record(name: str) -> None:
    instance_id, timeout, model = CASES[name]
    case = PLACE / name
    case.mkdir(parents=True, exist_ok=True)
    row = {key: value for key, value in open_dataset(str(QUICKSTART)).row(instance_id).items() if key != "_tree"}
    predictions = [json.loads(line) for line in (QUICKSTART / "preds.jsonl").read_text().splitlines()]
    patches = {found["instance_id"]: found["model_patch"] for found in predictions}
    patch = {"gold": row["patch"], "base": None}.get(model, patches[instance_id])
    (case / "row.json").write_text(json.dumps({**row, "timeout": timeout}, indent=1) + "\n")
    if isinstance(patch, str):
        (case / "candidate.diff").write_text(patch)
    transcript = case / "transcript.jsonl"
    transcript.unlink(missing_ok=True)
    recorder = RecordingProvider(registry.provider("docker"), transcript, kinds={"nonce": "(?<=swe-)[0-9a-f]{32}"})
    try:
        log, report = judged(case, recorder)
    finally:
        recorder.close()
    (case / "expected.json").write_text(json.dumps(told(log, report), indent=1, default=str) + "\n")


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_evaluation_has_its_report(name: str) -> None:
    if RECORD:
        record(name)
    with ReplayProvider(PLACE / name / "transcript.jsonl") as provider:
        log, report = judged(PLACE / name, provider)
    expected = json.loads((PLACE / name / "expected.json").read_text())
    assert json.loads(json.dumps(told(log, report), default=str)) == expected


@pytest.mark.parametrize("name", CASES)
def test_an_evaluation_is_one_upload_and_one_command(name: str) -> None:
    lines = (PLACE / name / "transcript.jsonl").read_text().splitlines()
    asked = [json.loads(line)["ask"]["call"] for line in lines[1:]]
    assert [call for call in asked if call != "close"] == ["acquire", "upload", "exec"]
