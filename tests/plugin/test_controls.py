"""Gold resolves, base must not, and a base that resolves is found."""

from __future__ import annotations

import pytest

from .conftest import SHAPES, Project


@pytest.mark.parametrize("shape", SHAPES, ids=" ".join)
def test_a_base_that_behaves_exits_0(project: Project, shape: tuple[str, ...]) -> None:
    data = project.rows({"a-1": "resolved", "b-1": "resolved"})
    result = project.run(data, "--swe-preds", "gold,base", *shape)
    assert result.ret == 0
    result.assert_outcomes(passed=2, xfailed=2)
    assert [(line["model"], line["status"]) for line in project.rewards] == [
        ("base", "unresolved"),
        ("gold", "resolved"),
        ("base", "unresolved"),
        ("gold", "resolved"),
    ]


def test_a_row_whose_tests_pass_without_a_fix_is_found(project: Project) -> None:
    result = project.run(project.rows({"a-1": "resolved", "planted-1": "always"}), "--swe-preds", "base")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["the unpatched tree must not resolve*"])
    assert project.statuses["planted-1"] == ("resolved", "")


def test_an_environment_error_is_not_the_expected_failure_of_base(project: Project) -> None:
    result = project.run(project.rows({"a-1": "start_fails", "b-1": "bug"}), "--swe-preds", "base")
    assert result.ret == 10
    result.assert_outcomes(errors=2)


def test_the_control_runs_once_per_instance(project: Project) -> None:
    data = project.rows({"a-1": "not_run"})
    project.preds({"a-1": "p\n"}, "one.jsonl", "one")
    project.preds({"a-1": "p\n"}, "two.jsonl", "two")
    project.run(data, "--swe-preds", "one.jsonl,two.jsonl", "-n0")
    # two attempts each, and one control for both
    assert project.started == ["a-1"] * 5
