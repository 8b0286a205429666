"""Counts, rates and intervals; the run report in swebench's schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_swe.report.run_report import run_report
from pytest_swe.report.summary import as_json, summarise
from pytest_swe.report.wilson import wilson


def line(name: str, status: str, reason: str = "", model: str = "m") -> dict[str, Any]:
    reward = {"resolved": 1.0, "unresolved": 0.0}.get(status)
    return {"instance_id": name, "model": model, "status": status, "reason": reason, "reward": reward, "repo": name[0]}


LINES = [
    line("a-1", "resolved"),
    line("a-2", "unresolved", "tests_failed"),
    line("b-1", "unresolved", "empty_patch"),
    line("b-2", "error", "image_unavailable"),
    line("b-3", "error", "suite_did_not_run"),
    line("b-4", "skipped", "missing_prediction"),
]


def test_errors_skipped_and_missing_count_as_not_resolved() -> None:
    (summary,) = summarise(LINES, {"m": 8})
    assert (summary.resolved, summary.unresolved, summary.error, summary.skipped, summary.missing) == (1, 2, 2, 1, 2)
    assert summary.rate == 1 / 8
    assert summary.of_measured == 1 / 3
    assert summary.mask_fraction == 5 / 8
    assert summary.repos == {"a": (1, 2), "b": (0, 4)}
    json.dumps(as_json([summary]))


def test_a_model_without_any_line_is_there() -> None:
    (summary,) = summarise([], {"m": 3})
    assert (summary.missing, summary.rate, summary.of_measured) == (3, 0.0, None)


@pytest.mark.parametrize(
    ("good", "total", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (250, 500, 0.4563, 0.5437), (0, 0, 0, 1)],
)
def test_wilsons_interval(good: int, total: int, low: float, high: float) -> None:
    assert wilson(good / total if total else 0.0, total) == pytest.approx((low, high), abs=5e-5)


def test_repeats_of_an_instance_make_no_rate_surer() -> None:
    lines = [
        {**line(name, "resolved" if name < "c" else "unresolved"), "repeat": n} for name in "abcd" for n in range(3)
    ]
    (repeated,) = summarise(lines, {"m": 12})
    (once,) = summarise(lines[::3], {"m": 4})
    assert (repeated.rate, repeated.low, repeated.high) == (once.rate, once.low, once.high)


def test_an_agents_attempts_may_differ_and_a_controls_may_not() -> None:
    lines = [{**line("a", status), "repeat": n} for n, status in enumerate(("resolved", "unresolved"))]
    assert summarise(lines, {"m": 2})[0].flaky == ("a",)
    assert summarise([{**each, "agent": {"name": "x"}} for each in lines], {"m": 2})[0].flaky == ()


@given(st.integers(0, 500), st.integers(0, 500))
def test_the_interval_holds_the_rate(good: int, more: int) -> None:
    total = good + more
    rate = good / total if total else 0.0
    low, high = wilson(rate, total)
    assert 0 <= low <= rate <= high <= 1


def test_the_run_report_has_swebenchs_schema() -> None:
    ids = [str(found["instance_id"]) for found in LINES]
    report = run_report(LINES, ids, [name for name in ids if name != "b-4"])
    assert report["schema_version"] == 2
    assert report["total_instances"] == 6
    assert report["submitted_instances"] == 5
    assert report["completed_ids"] == ["a-1", "a-2"]
    assert report["incomplete_ids"] == ["b-4"]
    assert report["empty_patch_ids"] == ["b-1"]
    assert report["error_ids"] == ["b-2", "b-3"]
    assert report["infra_failure_ids"] == ["b-2"]
    assert report["ambiguous_failure_ids"] == ["b-3"]
    assert report["failure_reasons"] == {"b-2": "image_unavailable", "b-3": "suite_did_not_run"}
