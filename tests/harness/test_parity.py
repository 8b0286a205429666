"""Grades of recorded logs are those of swebench 5.0.2, report for report. docs/parity.md says what was compared."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pytest_swe.harness.swebench import SweBenchHarness
from pytest_swe.model import Instance, Origin, Report

pytestmark = pytest.mark.shared_data

LOGS = ("BenchmarkLLMAgent", "inspect_ai", "mini-swe-agent", "verified-5.0.2")
#: (file, run, instance) whose report is deliberately another than swebench's, with the reason. There is none.
DELIBERATE: Mapping[tuple[str, str, str], str] = {}

HARNESS = SweBenchHarness()


def records(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path) as lines:
        for line in lines:
            record = json.loads(line)
            if record.get("row_file"):
                yield record


def output_of(record: Mapping[str, Any]) -> bytes:
    if "test_output_b64" in record:
        return base64.b64decode(record["test_output_b64"])
    return str(record["test_output"]).encode("utf-8", "surrogateescape")


@cache
def instances(rows: Path) -> Mapping[str, Instance]:
    with gzip.open(rows) as lines:
        found = [HARNESS.instance(json.loads(line), Origin()) for line in lines]
    return {instance.id: instance for instance in found}


def regraded(data: Path, record: Mapping[str, Any]) -> Report:
    instance = instances(data / "rows" / f"{record['row_file']}.jsonl.gz")[record["instance_id"]]
    return HARNESS.grade(instance, HARNESS.saved(instance, record["patch"].encode(), output_of(record)))


def theirs(record: Mapping[str, Any]) -> dict[str, Any]:
    report: dict[str, Any] = record["report_5_0_2"]
    return dict(report.get(record["instance_id"], report))


@pytest.mark.parametrize("name", LOGS)
def test_every_recorded_log_has_the_report_of_swebench(shared_data: Path, name: str) -> None:
    differing, seen = [], 0
    for record in records(shared_data / "logs" / f"{name}.jsonl.gz"):
        mine, official = regraded(shared_data, record), theirs(record)
        seen += 1
        key = name, str(record["run"]), str(record["instance_id"])
        same = mine.official == {record["instance_id"]: official} and mine.resolved == official["resolved"]
        buckets = official.get("tests_status")
        if buckets:
            for bucket, found in (("FAIL_TO_PASS", mine.fail_to_pass), ("PASS_TO_PASS", mine.pass_to_pass)):
                same &= buckets[bucket] == {"success": list(found.success), "failure": list(found.failure)}
        if not same and key not in DELIBERATE:
            differing.append(key)
    assert differing == []
    assert seen > 70


def test_what_is_no_resolution_has_a_reason(shared_data: Path) -> None:
    """And what nothing measured is no verdict: nothing but logs that swebench does not grade."""
    reasons: Counter[tuple[bool, str]] = Counter()
    for name in LOGS:
        for record in records(shared_data / "logs" / f"{name}.jsonl.gz"):
            mine = regraded(shared_data, record)
            assert mine.resolved == (mine.reason is None)
            assert mine.measured or not theirs(record)["patch_successfully_applied"]
            assert len(mine.excerpt.split("\n")) <= 12
            reasons[mine.measured, str(mine.reason)] += 1
    assert sum(reasons.values()) == 764
    assert reasons[True, "None"] == 233
