"""Harbor tasks that are broken, or change: each costs no other, and is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_swe.dataset.check import check
from pytest_swe.dataset.source import looks_like_dataset, open_dataset
from pytest_swe.errors import RowInvalid
from pytest_swe.families import harness_for

from .small_tasks import FILES, listed, no_file, task


@pytest.mark.parametrize("name", ["instruction.md", "environment/loop", "tests/test.sh"])
def test_a_link_that_leads_to_itself_costs_its_task_only(tmp_path: Path, name: str) -> None:
    for place in ("a", "b"):
        task(tmp_path / place)
    link = tmp_path / "a" / name
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(link.name)
    found = {ref.instance_id: ref.problem for ref in open_dataset(str(tmp_path)).refs}
    assert found == {"a": f"{name}: neither a file nor a directory", "b": ""}


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ("directory", "task.toml: a directory where a file is expected"),
        ("link", "task.toml: neither a file nor a directory"),
        ("pipe", "task.toml: neither a file nor a directory"),
    ],
)
@pytest.mark.parametrize("alone", [False, True], ids=["with-files", "alone"])
def test_a_task_without_a_task_toml_that_can_be_read_is_not_left_out(
    tmp_path: Path, how: str, problem: str, alone: bool
) -> None:
    task(tmp_path / "tasks" / "a")
    broken = tmp_path / "tasks" / "b"
    broken.mkdir() if alone else task(broken)
    no_file(broken / "task.toml", how)
    (tmp_path / "tasks" / "no-task" / "task.txt").mkdir(parents=True)
    assert listed(tmp_path / "tasks") == [("a", ""), ("b", problem)]
    assert listed(broken) == [("b", problem)]
    assert looks_like_dataset(broken) is not alone
    (broken / "task.toml").rmdir() if how == "directory" else (broken / "task.toml").unlink()
    (broken / "task.toml").write_text("")
    assert listed(tmp_path / "tasks")[1] == ("b", "instruction.md missing: what the agent is told" if alone else "")


def test_a_broken_task_costs_no_other(tmp_path: Path) -> None:
    task(tmp_path / "a-good")
    task(tmp_path / "b-toml", {"task.toml": "x = ["})
    task(tmp_path / "c-tests", {"tests/test.sh": None})
    task(tmp_path / "d-environment", {"environment/Dockerfile": None})
    task(tmp_path / "e-empty", dict.fromkeys(FILES, None) | {"task.toml": ""})
    task(tmp_path / "f::g")
    dataset = open_dataset(str(tmp_path))
    found = {ref.instance_id: ref.problem for ref in dataset.refs}
    assert found["a-good"] == ""
    assert found["b-toml"].startswith("task.toml: not TOML: ")
    assert found["c-tests"] == "tests/test.sh missing: what gives the reward"
    assert found["d-environment"].startswith("environment: expected environment/Dockerfile")
    assert found["e-empty"] == "instruction.md missing: what the agent is told"
    assert found[""].startswith("the name of its directory: 'f::g' has '::'")
    with pytest.raises(RowInvalid) as refused:
        dataset.row("c-tests")
    assert str(refused.value).startswith(f"{tmp_path / 'c-tests'}: tests/test.sh missing")


def test_a_task_that_changed_is_read_anew_and_never_mistaken(tmp_path: Path) -> None:
    directory = task(tmp_path / "a")
    before = open_dataset(str(tmp_path))
    (directory / "tests" / "test.sh").write_text("echo 0\n")
    after = open_dataset(str(tmp_path))
    assert after.digest != before.digest
    with pytest.raises(RowInvalid, match="the task changed while it was in use"):
        before.row("a")
    task(tmp_path / "b", {"tests/test.sh": None})
    assert [ref.instance_id for ref in open_dataset(str(tmp_path)).refs] == ["a", "b"]


def test_the_preflight_tells_what_is_wrong_with_each_task(tmp_path: Path) -> None:
    task(tmp_path / "a", {"task.toml": "[agent]\ntimeout = 3\n"})
    task(tmp_path / "b", {"tests/test.sh": None})
    task(tmp_path / "c", {"task.toml": "[environment]\ngpus = 1\n"})
    task(tmp_path / "d")
    findings = check(open_dataset(str(tmp_path)), None, harness_for)
    levels = [(found.level, found.instance_id) for found in findings]
    assert levels == [("warning", "a"), ("error", "b"), ("error", "c")]
    assert findings[0].text.endswith("/a: a: task.toml: agent.timeout is not read: did you mean timeout_sec?")
