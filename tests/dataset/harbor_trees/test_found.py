"""Harbor tasks as a data set: what is found where, ids, and other people's directories."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_swe.dataset.source import looks_like_dataset, open_dataset
from pytest_swe.errors import UsageError
from pytest_swe.families import harness_for
from pytest_swe.harbor import tree
from pytest_swe.harbor.task import load_task
from pytest_swe.harness.harbor import HarborHarness, task_of

from .small_tasks import listed, task


def test_a_tree_its_tasks_and_their_files_can_be_named(tmp_path: Path) -> None:
    root = tmp_path / "tasks"
    task(root / "easy" / "b")
    task(root / "a")
    assert listed(root) == [("a", ""), ("b", "")]
    dataset = open_dataset(str(root))
    assert (dataset.name, dataset.root, dataset.trusted) == ("tasks", root, False)
    for place in (root / "easy" / "b", root / "easy" / "b" / "task.toml"):
        assert listed(place) == [("b", "")]
        assert looks_like_dataset(place)
    assert looks_like_dataset(root)


def test_a_row_is_of_the_family_and_holds_no_more_than_the_task_says(tmp_path: Path) -> None:
    directory = task(tmp_path / "tasks" / "a", {"task.toml": '[task]\nname = "org/a"\n[agent]\ntimeout = 3\n'})
    dataset = open_dataset(str(directory.parent))
    ref = dataset.refs[0]
    row = dataset.load(ref)
    assert row["harbor_task"] == {
        "name": "org/a",
        "schema_version": "1.4",
        "digest": load_task(directory).digest,
        "steps": [],
        "warnings": ["task.toml: agent.timeout is not read: did you mean timeout_sec?"],
    }
    assert harness_for(row).name == ref.family == "harbor"
    instance = HarborHarness().instance(row, dataset.origin(ref))
    assert (instance.id, task_of(instance).root) == ("a", directory)


def test_six_levels_and_no_hidden_or_linked_directories(tmp_path: Path) -> None:
    root = tmp_path / "tasks"
    task(root / "1" / "2" / "3" / "4" / "5" / "deep")
    task(root / "1" / "2" / "3" / "4" / "5" / "6" / "too-deep")
    task(root / ".hidden" / "h")
    task(tmp_path / "elsewhere" / "e")
    (root / "link").symlink_to(tmp_path / "elsewhere")
    (root / "linked-task").symlink_to(tmp_path / "elsewhere" / "e")
    task(root / "1" / "outer")
    task(root / "1" / "outer" / "environment" / "inner")
    assert [name for name, _ in listed(root)] == ["deep", "outer"]


def test_tasks_with_the_same_name_are_told_apart(tmp_path: Path) -> None:
    for place in ("x/same", "y/same", "z/other"):
        task(tmp_path / place)
    assert [name for name, _ in listed(tmp_path)] == ["x/same", "y/same", "other"]


def test_a_task_that_is_called_task_toml_makes_no_task_of_what_is_around_it(tmp_path: Path) -> None:
    task(tmp_path / "tasks" / "task.toml")
    task(tmp_path / "tasks" / "a")
    assert listed(tmp_path / "tasks") == [("a", ""), ("task.toml", "")]


def test_a_directory_without_tasks_says_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(UsageError, match=r"nor Harbor tasks \(task.toml in it or below\)"):
        open_dataset(str(tmp_path))
    (tmp_path / "dataset.toml").write_text("")
    with pytest.raises(UsageError):
        open_dataset(str(tmp_path / "dataset.toml"))


@pytest.mark.parametrize(
    ("others", "is_ours"),
    [
        ({}, True),
        ({"README.md": "", "metric.py": ""}, True),
        ({"unit/test_a.py": ""}, False),
        ({"test_a.py": ""}, False),
        ({"pkg/a_test.py": ""}, False),
        ({"pyproject.toml": ""}, False),
        # A list of tasks says what the directory is, whatever else is in it.
        ({"dataset.toml": "", "test_a.py": ""}, True),
        # It would be imported: named, it is refused, not run.
        ({"conftest.py": ""}, True),
    ],
)
def test_a_directory_of_the_users_own_tests_is_no_data_set(
    tmp_path: Path, others: Mapping[str, str], is_ours: bool
) -> None:
    task(tmp_path / "samples" / "a", {"tests/test_deep.py": "", "tests/conftest.py": ""})
    for name, text in others.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert looks_like_dataset(tmp_path) is is_ours
    assert looks_like_dataset(tmp_path / "samples")


def test_a_task_toml_of_another_program_is_none_of_our_business(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text("[tasks]\n")
    (tmp_path / "tests").mkdir()
    assert not looks_like_dataset(tmp_path)
    assert not looks_like_dataset(tmp_path / "task.toml")
    assert looks_like_dataset(task(tmp_path / "a") / "task.toml")


def test_a_directory_that_is_too_large_to_look_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        (tmp_path / str(number)).mkdir()
    task(tmp_path / "a")
    monkeypatch.setattr(tree, "MAX_DIRECTORIES", 5)
    assert not looks_like_dataset(tmp_path)
    with pytest.raises(UsageError, match="more than 5 directories that are no tasks"):
        open_dataset(str(tmp_path))
