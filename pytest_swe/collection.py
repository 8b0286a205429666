"""Data sets in pytest's collection tree: one collector for a file or a task repository, items below it, no more.

A data set is data: nothing in it is imported or run on the host. It is collected only when it is named.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from pytest_swe.errors import SweError
from pytest_swe.harbor.files import real
from pytest_swe.harbor.tree import is_task
from pytest_swe.item import SweItem
from pytest_swe.run import RUN

#: The file that a task repository is named by; it stands for the directory in node ids.
REPO_FILE = "sweb.yaml"
TASK_FILE = "task.yaml"

#: What pytest would import or obey in a directory that it is given.
HOST_CODE = ("conftest.py", "pytest.ini", "pytest.toml", ".pytest.ini", ".pytest.toml", "tox.ini", "setup.cfg")


class DatasetFile(pytest.Module):
    """A data set's rows as items. A Module, so that module-scoped fixtures of users work; it has no code."""

    obj = None

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        run = self.config.stash[RUN]
        try:
            plan = run.plan_of(real(self.path))  # a link is what it leads to, on every side
        except SweError as error:
            raise self.CollectError(str(error)) from None
        for planned in plan.items:
            if planned.work == "bad" and run.settings.strict:
                raise self.CollectError(plan.problem_of(planned))
            yield SweItem.of(self, plan, planned)


def dataset_file(parent: pytest.Collector, path: Path) -> DatasetFile:
    """The collector of a data set, with a node id that leads to it from wherever it stands.

    pytest's own is empty for a file outside of rootdir: two data sets there would share their node ids.
    """
    nodeid = os.path.relpath(path, parent.config.rootpath).replace(os.sep, "/")
    node: DatasetFile = DatasetFile.from_parent(parent, path=path, nodeid=nodeid)
    return node


class TaskRepository(pytest.Directory):
    """A task repository or one task of it, or Harbor tasks: one data set below it, nothing else is looked at."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        yield dataset_file(self, file_of(self.path))


def is_task_repository(path: Path) -> bool:
    """Whether ``path`` is the root of a task repository; two look-ups on disk."""
    return os.path.isfile(path / REPO_FILE) and os.path.isdir(path / "tasks")


def file_of(path: Path) -> Path:
    """What stands for a data set in node ids: ``sweb.yaml`` or ``task.yaml``, or (Harbor's tasks) the directory."""
    if os.path.isdir(path):
        if is_task_repository(path):
            path = path / REPO_FILE
        elif os.path.isfile(path / TASK_FILE):
            path = path / TASK_FILE
    return real(path)


def host_code_in(root: Path) -> Path | None:
    """The first file in a data set's root that pytest would run or obey, or None.

    pytest imports ``conftest.py`` and ``test*/conftest.py`` of every directory that it is given. A Harbor task is given
    by its ``task.toml`` (`pytest_swe.plugin`), so that its ``tests/`` are not looked at.
    """
    for name in HOST_CODE:
        if (root / name).exists():
            return root / name
    project = root / "pyproject.toml"
    if project.is_file() and b"tool.pytest" in project.read_bytes():
        return project
    return None if is_task(root) else next(iter(sorted(root.glob("test*/conftest.py"))), None)


class CollectionPlugin:
    """The collection hooks; registered only when the session has data sets."""

    def __init__(self, datasets: Iterable[Path]) -> None:
        self._files = frozenset(datasets)

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        if file_of(path) in self._files:
            repository: TaskRepository = TaskRepository.from_parent(parent, path=path)
            return repository
        return None

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        if real(file_path) in self._files:
            return dataset_file(parent, file_path)
        return None
