"""The exit status, in mixes: tests of the user's own beside items, controls, expected failures."""

from __future__ import annotations

import json

import pytest

from .conftest import TOY, Project

FAILING = "def test_of_the_user():\n    assert 0\n"
PASSING = "def test_of_the_user():\n    pass\n"


@pytest.mark.parametrize(
    ("play", "module", "options", "status"),
    [
        ("start_fails", FAILING, [], 1),  # not 10: it is not only errors
        ("start_fails", PASSING, [], 10),
        ("unresolved", FAILING, ["--swe-fail-under", "0"], 1),  # the rate says nothing of the user's tests
        ("unresolved", PASSING, ["--swe-fail-under", "0"], 0),
        ("start_fails", PASSING, ["--swe-fail-under", "0"], 0),
        ("resolved", FAILING, [], 1),
    ],
)
def test_a_failing_test_of_the_user_is_never_passed_over(
    project: Project, play: str, module: str, options: list[str], status: int
) -> None:
    project.pytester.makepyfile(test_user=module)
    data = project.rows({"a-1": play})
    assert project.run(data, "test_user.py", "--swe-preds", "gold", *options).ret == status


def test_a_control_that_resolves_is_a_failure_beside_errors_too(project: Project) -> None:
    data = project.rows({"a-1": "always", "b-1": "start_fails"})
    assert project.run(data, "--swe-preds", "base").ret == 1


def test_a_model_called_base_is_a_model(project: Project) -> None:
    data = project.rows({"a-1": "unresolved", "b-1": "resolved"})
    entry = {"model_name_or_path": "base", "model_patch": "p\n"}
    preds = project.lines([json.dumps({"instance_id": row, **entry}) for row in ("a-1", "b-1")], "preds.jsonl")
    assert project.run(data, "--swe-preds", preds, "--swe-fail-under", "0.5").ret == 0
    (project.path / "rewards.jsonl").unlink()
    assert project.run(data, "--swe-preds", preds).ret == 1


@pytest.mark.parametrize("shape", [("-n0",), ("-n2",)], ids=" ".join)
def test_a_failure_that_the_user_expects_is_none(project: Project, shape: tuple[str, ...]) -> None:
    hook = (
        "\n\ndef pytest_collection_modifyitems(items):\n"
        "    for item in items:\n"
        "        item.add_marker(pytest.mark.xfail(reason='known'))\n"
    )
    project.pytester.makeconftest(TOY.read_text() + hook)
    result = project.run(project.rows({"a-1": "unresolved"}), "--swe-preds", "gold", *shape)
    assert project.statuses == {"a-1": ("unresolved", "tests_failed")}
    assert result.ret == 0
    result.assert_outcomes(xfailed=1)
