"""The quickstart data set and the planted row are whole: checked with git and plain Python, without an engine."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import yaml

from pytest_swe.model import Reason

QUICKSTART = Path(__file__).parents[2] / "datasets" / "quickstart"
PLANTED = Path(__file__).parents[1] / "data" / "planted"
TASKS = sorted([*QUICKSTART.glob("tasks/*"), *PLANTED.glob("tasks/*")])
FILES = {
    *("task.yaml", "tests.json", "problem_statement.md"),
    *("gold.patch", "test.patch", "eval.sh", "Dockerfile"),
}

each_task = pytest.mark.parametrize("task", TASKS, ids=[task.name for task in TASKS])


def git(where: Path, *arguments: str, stdin: bytes = b"", check: bool = True) -> str:
    """What git prints, on both streams. Knows no configuration of the user's."""
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *arguments], cwd=where, env=env, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    output = done.stdout.decode("utf-8", "replace")
    assert not check or done.returncode == 0, output
    return output if done.returncode == 0 else f"failed: {output}"


def metadata(task: Path) -> Mapping[str, object]:
    loaded: Mapping[str, object] = yaml.safe_load((task / "task.yaml").read_text("utf-8"))
    return loaded


def export_of(task: Path) -> Path:
    local = metadata(task)["local"]
    assert isinstance(local, dict)
    return task.parents[1] / str(local["export"])


def checkout(task: Path, where: Path) -> Path:
    """A work tree of the row's repository at its base commit."""
    git(where, "init", "-q")
    git(where, "fast-import", "--quiet", stdin=export_of(task).read_bytes())
    git(where, "checkout", "-q", str(metadata(task)["base_commit"]))
    return where


def predictions() -> dict[str, bytes]:
    """Instance id -> patch of the model ``demo``."""
    lines = [json.loads(line) for line in (QUICKSTART / "preds.jsonl").read_bytes().splitlines()]
    assert {line["model_name_or_path"] for line in lines} == {"demo"}
    patches = {line["instance_id"]: line["model_patch"].encode() for line in lines}
    assert len(patches) == len(lines)
    return patches


def quickstart_ids() -> list[str]:
    return sorted(task.name for task in TASKS if QUICKSTART in task.parents)


def test_there_are_ten_rows_over_four_repositories() -> None:
    assert len(quickstart_ids()) == 10
    assert len({export_of(task) for task in TASKS if QUICKSTART in task.parents}) == 4


@each_task
def test_row_is_complete(task: Path) -> None:
    row = metadata(task)
    published = yaml.safe_load((task.parents[1] / "sweb.yaml").read_text("utf-8"))
    assert {path.name for path in task.iterdir()} == FILES
    assert row["instance_id"] == task.name
    assert row["datasets"] == published["datasets"]
    assert row["split"] in published["splits"]
    assert published["trusted"] is True
    assert (row["log_parser"], row["eval_type"]) == ("parse_log_pytest", "pass_and_fail")
    assert str(row["image"]).endswith(f".{task.name}:1")
    assert row["local"] == {"export": f"repos/{export_of(task).name}", "commit": row["base_commit"]}
    assert (task / "problem_statement.md").read_text("utf-8").startswith("# ")


@each_task
def test_required_tests(task: Path) -> None:
    tests = json.loads((task / "tests.json").read_text("utf-8"))
    both = [*tests["FAIL_TO_PASS"], *tests["PASS_TO_PASS"]]
    assert tests["FAIL_TO_PASS"]
    assert tests["PASS_TO_PASS"]
    assert len(both) == len(set(both))
    assert not [name for name in both if " " in name], "ids end where the official parser cuts them"


@each_task
def test_history_is_reproducible(task: Path, tmp_path: Path) -> None:
    tree = checkout(task, tmp_path)
    people = set(git(tree, "log", "--all", "--format=%an <%ae>%n%cn <%ce>").splitlines())
    assert people == {"Quickstart <quickstart@example.com>"}
    assert git(tree, "rev-parse", "HEAD").strip() == metadata(task)["base_commit"]
    assert git(tree, "status", "--porcelain") == ""


@each_task
def test_patches_apply_and_nothing_of_them_is_in_the_history(task: Path, tmp_path: Path) -> None:
    tree = checkout(task, tmp_path)
    known = set(git(tree, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split())
    for name in ("gold.patch", "test.patch"):
        git(tree, "apply", "--index", str(task / name))
    changed = git(tree, "diff", "--cached", "--raw", "--abbrev=40", "--no-renames", "HEAD").splitlines()
    results = {line.split()[3] for line in changed} - {"0" * 40}
    assert results
    assert not results & known


@each_task
def test_eval_script(task: Path) -> None:
    script = (task / "eval.sh").read_bytes()
    lines = script.decode().splitlines()
    assert lines[:3] == ["#!/bin/bash", "set -uxo pipefail", 'cd "${TESTBED:-/testbed}"']
    assert [line for line in lines if "Test Output" in line] == [
        ": '>>>>> Start Test Output'",
        ": '>>>>> End Test Output'",
    ]
    heredoc = b"git apply -v - <<'EOF_114329324912'\n" + (task / "test.patch").read_bytes() + b"EOF_114329324912\n"
    assert heredoc in script
    assert "--global" not in script.decode()
    subprocess.run(["bash", "-n", str(task / "eval.sh")], check=True)


@each_task
def test_eval_script_resets_the_files_of_the_test_patch(task: Path, tmp_path: Path) -> None:
    tree, base = checkout(task, tmp_path), str(metadata(task)["base_commit"])
    git(tree, "apply", "--index", str(task / "test.patch"))
    changes = [line.split("\t") for line in git(tree, "diff", "--cached", "--name-status", "--no-renames").splitlines()]
    lines = (task / "eval.sh").read_text("utf-8").splitlines()
    assert named(lines, f"git checkout {base} ") == {path for status, path in changes if status != "A"}
    assert named(lines, "rm -f ") == {path for status, path in changes if status == "A"}
    (command,) = [line for line in lines if line.startswith("python3 -m pytest -rA ")]
    assert set(command.split()) >= {path for status, path in changes if status != "D"}


def named(lines: Sequence[str], command: str) -> set[str]:
    """The files that a command names; it stands there twice, before and after the tests, or not at all."""
    found = [line.removeprefix(command) for line in lines if line.startswith(command)]
    assert found == [] or (len(found) == 2 and found[0] == found[1])
    return set(found[0].split()) if found else set()


@each_task
def test_dockerfile_builds_the_same_tree(task: Path) -> None:
    lines = (task / "Dockerfile").read_text("utf-8").splitlines()
    assert "FROM ${BASE}" in lines
    assert f"COPY repos/{export_of(task).name} /tmp/export" in lines
    assert f" && git checkout -q -B main {metadata(task)['base_commit']} \\" in lines


def test_every_row_has_one_prediction_and_its_expected_outcomes() -> None:
    expected = json.loads((QUICKSTART / "expected.json").read_text("utf-8"))
    assert sorted(predictions()) == quickstart_ids()
    assert list(expected) == ["preds.jsonl", "gold", "base"]
    for outcomes in expected.values():
        assert sorted(outcomes) == quickstart_ids()
        for outcome in outcomes.values():
            assert outcome["status"] in ("resolved", "unresolved")
            assert (outcome["reason"] is None) == (outcome["status"] == "resolved")
            assert outcome["reason"] is None or Reason(outcome["reason"])


def test_the_predictions_show_every_outcome_of_a_candidate() -> None:
    outcomes = json.loads((QUICKSTART / "expected.json").read_text("utf-8"))["preds.jsonl"].values()
    reasons = {outcome["reason"] for outcome in outcomes}
    failures = {Reason.TESTS_FAILED, Reason.EMPTY_PATCH, Reason.PATCH_APPLY_FAILED, Reason.TESTS_TIMED_OUT}
    assert reasons == {None, *failures}


@pytest.mark.parametrize("instance_id", quickstart_ids())
def test_predictions_apply_but_for_the_stale_and_the_empty(instance_id: str, tmp_path: Path) -> None:
    patch = predictions()[instance_id]
    outcome = json.loads((QUICKSTART / "expected.json").read_text("utf-8"))["preds.jsonl"][instance_id]
    tree = checkout(QUICKSTART / "tasks" / instance_id, tmp_path)
    applied = not git(tree, "apply", "--check", "-", stdin=patch, check=False).startswith("failed")
    assert applied == (outcome["reason"] not in (Reason.PATCH_APPLY_FAILED, Reason.EMPTY_PATCH))
    assert (not patch) == (outcome["reason"] == Reason.EMPTY_PATCH)


@pytest.mark.parametrize(
    ("instance_id", "pattern"),
    [
        ("measures-1", rb"^GIT binary patch$"),
        ("measures-3", "^\\+.*Ähnliche".encode()),
        ("stencil-1", rb"^new file mode 100644$"),
        ("stencil-2", rb"^rename to stencil/filters/capitalize.py$"),
        ("inilite-1", rb"^\+.*\r$"),
    ],
)
def test_fix_keeps_what_is_special_about_it(instance_id: str, pattern: bytes) -> None:
    gold = (QUICKSTART / "tasks" / f"pytest-swe__{instance_id}" / "gold.patch").read_bytes()
    assert re.search(pattern, gold, re.MULTILINE)


@pytest.mark.parametrize("root", [QUICKSTART, PLANTED], ids=["quickstart", "planted"])
def test_root_holds_nothing_that_pytest_runs(root: Path) -> None:
    files = [path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert not [path for path in files if path.name in ("conftest.py", "pytest.ini") or path.match("test_*.py")]
    assert sum(path.stat().st_size for path in files) < 300_000


@pytest.mark.parametrize("root", [QUICKSTART, PLANTED], ids=["quickstart", "planted"])
def test_official_tools_read_it(root: Path) -> None:
    from swebench.task.checks import check_task_repo
    from swebench.task.repo import load_task_repo

    rows = {row["instance_id"]: row for row in load_task_repo(root)}
    assert list(rows) == sorted(path.name for path in root.glob("tasks/*"))
    for instance_id, row in rows.items():
        assert row["patch"].encode() == (root / "tasks" / instance_id / "gold.patch").read_bytes()
        assert row["FAIL_TO_PASS"]
    # Images of the project's own have names of its own; every other rule holds.
    problems = [str(problem) for problem in check_task_repo(root)]
    assert [problem for problem in problems if not problem.endswith("is not the derived name")] == []
