"""What other tools read of an item: JUnit XML, report logs, durations."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import pytest

from .conftest import SHAPES, Project

PLAYS = {"good-1": "resolved", "bad-1": "unresolved", "start-1": "start_fails", "broken-1": "broken"}
EXPECTED = {
    "good-1": ("resolved", "", None),
    "bad-1": ("unresolved", "tests_failed", "failure"),
    "start-1": ("error", "sandbox_start_failed", "error"),
    "broken-1": ("error", "suite_did_not_run", "error"),
}


@pytest.mark.parametrize("shape", SHAPES[:2], ids=" ".join)
def test_junit_has_instance_model_status_and_reason(project: Project, shape: tuple[str, ...]) -> None:
    project.run(project.rows(PLAYS), "--swe-preds", "gold", "--junitxml", "junit.xml", "--reruns", "1", *shape)
    cases = list(ElementTree.parse(project.path / "junit.xml").iter("testcase"))
    found = {}
    for case in cases:
        properties = {p.get("name"): p.get("value") for p in case.iter("property")}
        assert len(properties) == len(list(case.iter("property")))  # reruns do not pile them up
        assert properties["swe_model"] == "gold"
        kinds = [kind for kind in ("failure", "error") if case.find(kind) is not None]
        found[properties["swe_instance_id"]] = (
            properties["swe_status"],
            properties["swe_reason"],
            kinds[0] if kinds else None,
        )
    assert found == EXPECTED


@pytest.mark.parametrize("shape", SHAPES[:2], ids=" ".join)
def test_a_report_log_has_the_whole_line(project: Project, shape: tuple[str, ...]) -> None:
    project.run(project.rows(PLAYS), "--swe-preds", "gold", *shape, "--report-log", "log.jsonl")
    reports = [json.loads(line) for line in (project.path / "log.jsonl").read_text().splitlines()]
    lines = {r["swe_reward"]["instance_id"]: r["swe_reward"] for r in reports if "swe_reward" in r}
    assert {key: (line["status"], line["reason"]) for key, line in lines.items()} == {
        key: value[:2] for key, value in EXPECTED.items()
    }


def test_durations_tell_setup_from_call(project: Project) -> None:
    result = project.run(project.rows({"s-1": "sleep:0.3"}), "--swe-preds", "gold", "--durations", "5", "-vv")
    result.stdout.re_match_lines([r"[\d.]+s call .*::s-1"])
