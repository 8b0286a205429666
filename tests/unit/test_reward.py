"""The reward line: its schema is published, old lines are read for ever, and it can always be written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pytest_swe
from pytest_swe.errors import RowInvalid, SandboxLost
from pytest_swe.model import Bucket, Reason, Report
from pytest_swe.reward import Reward, fault_of, value_of, verdict_of_error, verdict_of_report

SCHEMA = Path(pytest_swe.__file__).parent / "schemas" / "reward-1.json"
GOLDEN = Path(__file__).parent.parent / "data" / "rewards-schema-1.jsonl"


def test_the_published_schema_is_that_of_the_model() -> None:
    made = Reward.model_json_schema(by_alias=True, mode="serialization")
    published = json.loads(SCHEMA.read_text())
    published.pop("$schema")
    assert published == json.loads(json.dumps(made))


def test_lines_of_schema_1_are_read_for_ever() -> None:
    lines = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
    rewards = [Reward.model_validate(line) for line in lines]
    assert [reward.status for reward in rewards] == ["resolved", "unresolved", "error", "skipped"]
    assert [reward.reward for reward in rewards] == [1.0, 0.0, None, None]
    assert "a key of the future" in lines[0]


@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)))
def test_any_text_can_be_written(name: str, detail: str) -> None:
    reward = Reward(instance_id=name, status="error", detail=detail)
    line = reward.line_json()
    assert "\n" not in line
    assert Reward.model_validate_json(line) == reward


def test_a_lone_surrogate_is_replaced() -> None:
    assert Reward(instance_id="a\ud800", status="error").instance_id == "a?"


@pytest.mark.parametrize(
    ("report", "status", "reason"),
    [
        (Report(instance_id="a", resolved=True), "resolved", None),
        (Report(instance_id="a", resolved=False), "unresolved", Reason.TESTS_FAILED),
        (Report(instance_id="a", resolved=False, reason=Reason.TAMPERED), "unresolved", Reason.TAMPERED),
        (Report(instance_id="a", resolved=False, measured=False), "error", Reason.LOG_UNPARSEABLE),
        # A report that claims a pass that was not measured is no pass.
        (Report(instance_id="a", resolved=True, measured=False), "error", Reason.LOG_UNPARSEABLE),
    ],
)
def test_reports_become_verdicts(report: Report, status: str, reason: Reason | None) -> None:
    verdict = verdict_of_report(report)
    assert (verdict.status, verdict.reason) == (status, reason)


def test_errors_become_verdicts() -> None:
    lost = verdict_of_error(SandboxLost("gone"))
    assert (lost.status, lost.reason, fault_of(lost)) == ("error", Reason.SANDBOX_LOST, "unknown")
    bad = verdict_of_error(RowInvalid("expected a list", path="x.jsonl", line=3, field="FAIL_TO_PASS"))
    assert bad.detail == "x.jsonl:3: FAIL_TO_PASS: expected a list"
    assert fault_of(bad) == "environment"
    try:
        raise KeyError("x")
    except KeyError as error:
        unknown = verdict_of_error(error)
    assert unknown.reason is Reason.INTERNAL
    assert "test_reward.py" in unknown.detail


def test_only_measured_statuses_are_worth_a_number() -> None:
    assert [value_of(s) for s in ("resolved", "unresolved", "error", "skipped")] == [1.0, 0.0, None, None]


def test_buckets_are_counted_and_listed() -> None:
    from pytest_swe.reward import LISTED_FAILURES, tests_of

    failed = tuple(f"t{number}" for number in range(50))
    report = Report(instance_id="a", resolved=False, fail_to_pass=Bucket((), failed), pass_to_pass=Bucket(("p",), ()))
    tests = tests_of(report)
    assert tests is not None
    assert (tests.fail_to_pass.failure, tests.pass_to_pass.success) == (50, 1)
    assert len(tests.failed) == LISTED_FAILURES
