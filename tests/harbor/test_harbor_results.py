"""Result directories: what is written is read back, and what Harbor wrote is understood."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_swe.harbor.job_results import job_json, read_job, write_job
from pytest_swe.harbor.results import (
    Raised,
    Span,
    StepRecord,
    TrialRecord,
    read_trial,
    trial_json,
    trial_name,
    write_trial,
)

SPAN = Span("2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z")
STEPPED = TrialRecord(
    task="org/a",
    trial="a__abcdefg",
    id="1",
    task_path="tasks/a",
    checksum="sha256:0",
    source="tasks",
    agent="oracle",
    model="m",
    rewards={"reward": 0.5},
    usage={"n_input_tokens": 5},
    span=SPAN,
    spans={"environment_setup": SPAN},
    steps=(
        StepRecord(name="one", rewards={"reward": 1}, spans={"agent_execution": SPAN}),
        StepRecord(name="two", raised=Raised("VerifierTimeoutError", "slow", "trace", SPAN.finished_at)),
    ),
)
BROKEN = TrialRecord(
    task="b", trial="b__1", agent="oracle", model="m", source="tasks", verifier_mode="shared",
    raised=Raised("RewardFileNotFoundError", "none"), agent_version="1.0",
)  # fmt: skip
#: Where paths were taken out of these files, a quotation mark was left in.
REDACTED = ('<harbor>",', '<harbor>\\",')


@pytest.mark.parametrize("record", [STEPPED, BROKEN], ids=["steps", "broken"])
def test_a_trial_is_read_as_it_was_written(tmp_path: Path, record: TrialRecord) -> None:
    place = write_trial(tmp_path, record)
    found = read_trial(place)
    assert found.first_problem is not None
    assert found.uri == place.as_uri()
    assert trial_json(replace(found, uri="")) == trial_json(record)
    assert (place / "exception.txt").exists() == (record.raised is not None)
    assert sorted(path.name for path in place.iterdir()) == sorted(
        ["config.json", "result.json", *(["exception.txt"] if record.raised else [])]
    )


def test_a_job_counts_what_a_step_raised(tmp_path: Path) -> None:
    whole = TrialRecord(task="c", trial="c__1", agent="oracle", model="m", source="tasks", rewards={"reward": 1.0})
    write_job(tmp_path / "job", "j", SPAN, 4, [STEPPED, BROKEN, whole])
    found = read_job(tmp_path / "job")
    assert (found.total, found.completed, found.errored, found.span) == (4, 3, 2, SPAN)
    assert found.evals["oracle__m__tasks"] == {
        "n_trials": 2,
        "n_errors": 2,
        "metrics": [{"mean": 0.5}],
        "pass_at_k": {},
        "reward_stats": {"reward": {"0.5": ["a__abcdefg"], "1.0": ["c__1"]}},
        "exception_stats": {"VerifierTimeoutError": ["a__abcdefg"], "RewardFileNotFoundError": ["b__1"]},
    }


def test_several_keys_have_a_mean_each() -> None:
    trials = [
        TrialRecord(task="a", trial="a", agent="x", rewards={"a": 1, "b": 0}),
        TrialRecord(task="b", trial="b", agent="x", rewards=None),
    ]
    stats: Any = job_json("j", SPAN, 2, trials)["stats"]
    assert stats["evals"]["x__adhoc"]["metrics"] == [{"a": 0.5, "b": 0.0}]


@pytest.mark.parametrize(
    ("document", "rewards", "problem"),
    [
        ({}, None, None),
        ({"verifier_result": None, "step_results": None, "exception_info": None}, None, None),
        ({"verifier_result": {"reward": 1.0}}, {"reward": 1.0}, None),
        ({"verifier_result": {"rewards": {"a": 1, "b": "x"}}}, {"a": 1}, None),
        ({"exception_info": {"exception_type": "A"}}, None, "A"),
        ({"step_results": [{"step_name": "s", "exception_info": {"exception_type": "B"}}]}, None, "B"),
        ({"step_results": [None, 3], "agent_result": [], "agent_info": "x"}, None, None),
    ],
)
def test_fields_of_other_versions(
    tmp_path: Path, document: dict[str, object], rewards: dict[str, float] | None, problem: str | None
) -> None:
    (tmp_path / "result.json").write_text(json.dumps(document))
    found = read_trial(tmp_path)
    assert found.rewards == rewards
    assert (found.first_problem.name if found.first_problem else None) == problem


def test_old_jobs_have_other_counts(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"n_total_trials": 3, "stats": {"n_trials": 2, "n_errors": 1}}')
    found = read_job(tmp_path)
    assert (found.total, found.completed, found.errored) == (3, 2, 1)


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100_000])
def test_what_is_no_result_names_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(ValueError, match=r"result\.json: "):
        read_trial(tmp_path)


def test_names_of_trials() -> None:
    assert trial_name("hc-m-agtimeout", "hbZ3TFe") == "hc-m-agtimeout__hbZ3TFe"
    assert trial_name("a" * 31 + "-b", "x") == "a" * 31 + "__x"
    assert trial_name("a/../b", "x") == "a_.._b__x"


@pytest.mark.shared_data
def test_what_harbor_wrote(tmp_path: Path, shared_data: Path) -> None:
    found = {}
    for file in sorted((shared_data / "harbor-conformance").glob("job-*/*/result.json")):
        copy = tmp_path / file.parent.name
        copy.mkdir()
        (copy / "result.json").write_text(file.read_text().replace(*REDACTED))
        record = read_trial(copy)
        found[record.task] = (record.rewards, record.first_problem and record.first_problem.name, len(record.steps))
        written = json.loads((copy / "result.json").read_text())
        ours = trial_json(record)
        assert ours.keys() == written.keys()
        for same in ("verifier_result", "step_results", "exception_info", "agent_result", "verifier", "task_id"):
            assert ours[same] == written[same], (record.task, same)
    assert found == {
        "hc-c-sep": ({"reward": 1.0}, None, 0),
        "hc-k-fail": (None, "RewardFileNotFoundError", 0),
        "hc-k-rand": ({"reward": 1.0}, None, 0),
        "hc-m-agtimeout": ({"reward": 1.0}, "AgentTimeoutError", 2),
        "hc-m-clean": ({"reward": 0.8333333333333334, "k": 0.3333333333333333}, None, 3),
        "hc-m-hcfail": ({"reward": 1.0}, "HealthcheckError", 2),
    }
    job = read_job(shared_data / "harbor-conformance" / "job-k1")
    assert (job.total, job.completed, job.errored) == (6, 6, 2)
