"""Grades of recorded logs are those of swebench 5.0.2, report for report. docs/parity.md says what was compared."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pytest_swe.harness.swebench import SweBenchHarness
from pytest_swe.model import Instance, Origin, Report

pytestmark = pytest.mark.shared_data

#: Files of recorded logs, and how many of their records have a known row.
LOGS = {"BenchmarkLLMAgent": 284, "inspect_ai": 262, "mini-swe-agent": 146, "verified-5.0.2": 72}
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


@dataclass(frozen=True)
class Compared:
    """One recorded log: what it is, the report it gets here, and the one that swebench 5.0.2 gave it."""

    key: tuple[str, str, str]
    mine: Report
    theirs: Mapping[str, Any]


@pytest.fixture(scope="module")
def compared(shared_data: Path) -> list[Compared]:
    return [found for name in LOGS for found in compare(shared_data, name)]


def compare(data: Path, name: str) -> Iterator[Compared]:
    for record in records(data / "logs" / f"{name}.jsonl.gz"):
        instance = instances(data / "rows" / f"{record['row_file']}.jsonl.gz")[record["instance_id"]]
        mine = HARNESS.grade(instance, HARNESS.saved(instance, record["patch"].encode(), output_of(record)))
        theirs = record["report_5_0_2"]
        key = name, str(record["run"]), instance.id
        yield Compared(key, mine, theirs.get(instance.id, theirs))


def is_same(found: Compared) -> bool:
    buckets = {"FAIL_TO_PASS": found.mine.fail_to_pass, "PASS_TO_PASS": found.mine.pass_to_pass}
    split = {name: {"success": list(b.success), "failure": list(b.failure)} for name, b in buckets.items()}
    known = {name: found.theirs.get("tests_status", {}).get(name, split[name]) for name in split}
    official = found.mine.official == {found.key[2]: found.theirs}
    return official and found.mine.resolved == found.theirs["resolved"] and split == known


@pytest.mark.parametrize(("name", "count"), LOGS.items())
def test_every_recorded_log_has_the_report_of_swebench(compared: list[Compared], name: str, count: int) -> None:
    ours = [found for found in compared if found.key[0] == name]
    assert [found.key for found in ours if not is_same(found) and found.key not in DELIBERATE] == []
    assert len(ours) == count


def test_what_is_no_resolution_has_a_reason(compared: list[Compared]) -> None:
    """And what nothing measured is no verdict: that is said only of logs that swebench does not grade either."""
    reasons: Counter[tuple[bool, str]] = Counter()
    for found in compared:
        assert found.mine.resolved == (found.mine.reason is None)
        assert found.mine.measured or not found.theirs["patch_successfully_applied"]
        assert len(found.mine.excerpt.split("\n")) <= 12
        reasons[found.mine.measured, str(found.mine.reason)] += 1
    assert reasons == {(True, "None"): 233, (True, "tests_failed"): 243, (False, "suite_did_not_run"): 288}
