"""Repeats, and what is known to be flaky or broken: by explicit entry, told, and in no rate."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_swe.quarantine import Quarantine

from .conftest import SHAPES, Project


def quarantine(project: Project, *entries: dict[str, Any]) -> str:
    (project.path / "held.jsonl").write_text("".join(json.dumps(entry) + "\n\n" for entry in entries))
    return "--swe-quarantine=held.jsonl"


@pytest.mark.parametrize("shape", SHAPES[:2], ids=" ".join)
def test_a_held_instance_is_run_and_in_no_rate(project: Project, shape: tuple[str, ...]) -> None:
    data = project.rows({"a-1": "resolved", "a-2": "unresolved", "a-3": "resolved"})
    held = quarantine(
        project, {"instance_id": "a-2", "reason": "gold fails"}, {"instance_id": "a-3", "reason": "?", "since": "2026"}
    )
    result = project.run(data, "--swe-preds", "gold", held, *shape)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["gold: 1 resolved, 0 unresolved, 0 error of 1 expected", "in quarantine: 2 of these*"])
    result.assert_outcomes(passed=1, xfailed=1, xpassed=1)
    assert [(line["instance_id"], line["status"], line["flags"]) for line in project.rewards] == [
        ("a-1", "resolved", []),
        ("a-2", "unresolved", ["quarantined"]),
        ("a-3", "resolved", ["quarantined"]),
    ]


def test_an_error_of_a_held_instance_is_an_error(project: Project) -> None:
    data = project.rows({"a-1": "start_fails"})
    held = quarantine(project, {"instance_id": "a-1", "reason": "gold fails"})
    assert project.run(data, "--swe-preds", "gold", held, "--swe-retries=0", "-n0").ret == 10


def test_a_held_base_may_resolve(project: Project) -> None:
    held = quarantine(project, {"instance_id": "a-1", "reason": "passes without a fix"})
    assert project.run(project.rows({"a-1": "always"}), "--swe-preds", "base", held, "-n0").ret == 0


@pytest.mark.parametrize("column", ["FAIL_TO_PASS", "pass_to_pass"])
@pytest.mark.parametrize("text", [False, True])
def test_held_tests_are_not_required(column: str, text: bool) -> None:
    row = {"instance_id": "i", column: json.dumps(["a", "b"]) if text else ["a", "b"]}
    held = Quarantine(tests={"i": frozenset({"b"})})
    assert held.applied(row, "i") == {"instance_id": "i", column: ["a"]}
    assert held.applied(row, "j") == row
    assert held.applied({column: ["a", "b"]}, "i") == {column: ["a"]}  # a family that derives its ids
    assert held.applied({column: "{"}, "i") == {column: "{"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "held.jsonl:1: not JSON"),
        ("[]", "held.jsonl:1: expected an object"),
        ('{"instance_id": "a"}', "held.jsonl:1: reason: expected some text"),
        ('{"reason": "a"}', "held.jsonl:1: instance_id: expected some text"),
        ('{"instance_id": "a", "reason": "b", "test": ["t"]}', "no field 'test', did you mean 'tests'?"),
        ('{"instance_id": "a", "reason": "b", "tests": []}', "held.jsonl:1: tests: expected some"),
        ('{"instance_id": "a", "reason": "b", "tests": [1]}', "held.jsonl:1: expected test ids"),
    ],
)
def test_a_bad_entry_is_told(project: Project, line: str, said: str) -> None:
    (project.path / "held.jsonl").write_text(line)
    data = project.rows({"a-1": "resolved"})
    result = project.run(data, "--swe-preds", "gold", "--swe-quarantine=held.jsonl", "-n0")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert said in result.stderr.str()
    assert project.started == []


@pytest.mark.parametrize("shape", SHAPES[:2], ids=" ".join)
def test_repeats_are_items_and_those_that_disagree_are_named(project: Project, shape: tuple[str, ...]) -> None:
    data = project.rows({"a-1": "resolved", "a-2": "alternates"})
    result = project.run(data, "--swe-preds", "gold", "--swe-repeat=2", *shape)
    assert [(line["instance_id"], line["repeat"]) for line in project.rewards] == [
        ("a-1", 0),
        ("a-1", 1),
        ("a-2", 0),
        ("a-2", 1),
    ]
    assert len({line["fingerprint"] for line in project.rewards}) == 4
    result.stdout.fnmatch_lines(["gold: 3 resolved, 1 unresolved, 0 error of 4 expected", "  flaky: 1 of*(a-2)"])


def test_a_repeat_that_is_none_is_told(project: Project) -> None:
    result = project.run(project.rows({"a-1": "resolved"}), "--swe-preds", "gold", "--swe-repeat=0", "-n0")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
