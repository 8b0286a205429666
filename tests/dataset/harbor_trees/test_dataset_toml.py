"""A list of Harbor tasks: dataset.toml, its order, its digests, and what is no list."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_swe.dataset.source import open_dataset
from pytest_swe.errors import UsageError
from pytest_swe.harbor.task import load_task

from .small_tasks import listed, no_file, task


@pytest.mark.parametrize("how", ["directory", "link"])
def test_a_list_of_tasks_that_is_no_file_is_not_overlooked(tmp_path: Path, how: str) -> None:
    task(tmp_path / "a")
    assert listed(tmp_path) == [("a", "")]
    no_file(tmp_path / "dataset.toml", how)
    with pytest.raises(UsageError, match=r"dataset\.toml: cannot be read"):
        open_dataset(str(tmp_path))


def test_dataset_toml_lists_the_tasks_in_its_order(tmp_path: Path) -> None:
    digest = load_task(task(tmp_path / "one", {"task.toml": '[task]\nname = "org/first"\n'})).digest
    task(tmp_path / "two")
    task(tmp_path / "not-listed")
    (tmp_path / "dataset.toml").write_text(
        f'[dataset]\nname = "org/set"\n[[tasks]]\nname = "org/two"\ndigest = "sha256:{"0" * 64}"\n'
        f'[[tasks]]\nname = "org/first"\ndigest = "{digest}"\n[[tasks]]\nname = "org/thre"\n'
        '[[tasks]]\nname = "org/firts"\n'
    )
    wrong = f"its files have the digest {load_task(tmp_path / 'two').digest}, dataset.toml wants sha256:{'0' * 64}"
    assert listed(tmp_path) == listed(tmp_path / "dataset.toml")
    assert listed(tmp_path) == [
        ("two", wrong),
        ("one", ""),
        ("org/thre", "dataset.toml lists org/thre, and there is no such task below"),
        ("org/firts", "dataset.toml lists org/firts, and there is no such task below; nearest: org/first"),
    ]
    (tmp_path / "dataset.toml").write_text('[gym]\nlicense = "x"\n')
    assert [name for name, _ in listed(tmp_path)] == ["not-listed", "one", "two"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = [", "dataset.toml: not TOML"),
        ("tasks = 3", r"dataset.toml: tasks: expected \[\[tasks\]\]"),
        ("[[tasks]]\nx = 1", r"dataset.toml: tasks\[0\].name: expected a task's name"),
        ('[[tasks]]\nname = "a"\ndigest = "md5:1"', r"dataset.toml: tasks\[0\].digest: expected sha256: and 64 hex"),
        ("tasks = []", "no rows in it"),
    ],
)
def test_a_list_that_cannot_be_read_is_said_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    task(tmp_path / "a")
    (tmp_path / "dataset.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        open_dataset(str(tmp_path))
