"""--swe-keep and --swe-shell: the sandbox of an item that failed, to be looked into."""

from __future__ import annotations

import pytest

from .conftest import Project

PLAYS = {"good-1": "resolved", "bad-1": "unresolved", "broken-1": "broken"}


@pytest.mark.parametrize("shape", ["-n0", "-n2"])
def test_keep_leaves_the_sandboxes_of_failed_items_and_says_how_to_enter(project: Project, shape: str) -> None:
    result = project.run(project.rows(PLAYS), "--swe-preds", "gold", "--swe-keep", shape)
    assert len(project.left) == 2
    text = result.stdout.str()
    assert text.count("kept: sh -c 'echo entered >> entered'   (the tests again: bash /pytest-swe/eval.sh)") == 2


def test_keep_does_not_keep_a_control_that_behaves(project: Project) -> None:
    project.run(project.rows({"a-1": "resolved", "b-1": "always"}), "--swe-preds", "base", "--swe-keep")
    assert len(project.left) == 1  # of the one that resolves, and must not


def test_shell_opens_in_the_sandbox_of_each_failed_item_and_removes_it(project: Project) -> None:
    project.run(project.rows(PLAYS), "--swe-preds", "gold", "--swe-shell", "-n0")
    assert (project.path / "entered").read_text().split() == ["entered"] * 2
    assert project.left == []


def test_shell_with_keep_leaves_it(project: Project) -> None:
    project.run(project.rows({"bad-1": "unresolved"}), "--swe-preds", "gold", "--swe-shell", "--swe-keep", "-n0")
    assert (project.path / "entered").exists()
    assert len(project.left) == 1


def test_shell_needs_the_terminal(project: Project) -> None:
    result = project.run(project.rows(PLAYS), "--swe-preds", "gold", "--swe-shell", "-n2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "--swe-shell needs the terminal: use -n0" in result.stderr.str()
