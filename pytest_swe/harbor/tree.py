"""Where the tasks of a Harbor data set stand. Only names are looked at, so it is cheap enough to ask of any argument.

A task is a directory with ``task.toml``; tasks stand up to six levels below the root. Hidden directories and links to
directories are not entered, and nothing below a task is looked at.
"""

from __future__ import annotations

import fnmatch
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from pytest_swe.errors import RowInvalid

TASK = "task.toml"
DATASET = "dataset.toml"
LEVELS = 6
#: So many directories that are no tasks are looked into; a data set has a handful of them.
MAX_DIRECTORIES = 10_000
#: In a directory that is named on pytest's command line: it holds tests of the user's own, not a data set.
_OF_A_PROJECT = (
    "test_*.py",
    "*_test.py",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "tox.ini",
    "pytest.ini",
)


def is_task(directory: Path) -> bool:
    """Whether it says that it is a task; one that is broken counts, also by a link to nothing or a directory."""
    return os.path.lexists(directory / TASK) and not os.path.lexists(directory / TASK / TASK)


def looks_like_task(directory: Path) -> bool:
    """Whether it is sure to be a task: other programs have a ``task.toml`` too."""
    return is_task(directory) and (os.path.lexists(directory / "instruction.md") or os.path.isdir(directory / "steps"))


def harbor_root(path: Path) -> Path | None:
    """The root of the data set that ``path`` names: a task, a tree of tasks, or the file that stands for one.

    None when there is no task in it. Raises OSError.
    """
    if path.name in (TASK, DATASET) and path.is_file():
        return path.parent if path.name == TASK or _has_tasks(path.parent) else None
    return path if path.is_dir() and _has_tasks(path) else None


def is_meant(path: Path) -> bool:
    """Whether a path on pytest's command line is a data set of Harbor, and not a directory of the user's own tests.

    Never raises.
    """
    try:
        if path.name in (TASK, DATASET):
            return harbor_root(path) is not None and looks_like_meant(path.parent)
        return path.is_dir() and looks_like_meant(path)
    except (OSError, RowInvalid):
        return False


def looks_like_meant(directory: Path) -> bool:
    """The same for a directory. Raises OSError, RowInvalid when it is a project's, or there is too much in it.

    With ``dataset.toml`` it is a data set whatever else is in it: then nothing in it may be run, tests neither.
    """
    if is_task(directory):
        return looks_like_task(directory)
    look = _anything if os.path.lexists(directory / DATASET) else _refuse_projects
    return any([looks_like_task(task) for task in _tasks(directory, look)])


def task_directories(root: Path) -> list[Path]:
    """Every task, by path; the root itself when it is one. Raises OSError, RowInvalid when there is too much in it."""
    return [root] if is_task(root) else sorted(_tasks(root))


def ids_of(root: Path) -> dict[str, Path]:
    """Every task by its id: the name of its directory, or its path where several are called so.

    Raises OSError, RowInvalid when there is too much in it.
    """
    directories = task_directories(root)
    names = Counter(directory.name for directory in directories)
    return {
        directory.name if names[directory.name] == 1 else directory.relative_to(root).as_posix(): directory
        for directory in directories
    }


def task_named(root: Path, name: str) -> Path | None:
    """The task of an item of the tree ``root``: its id, perhaps with a model and a number behind it."""
    tasks = ids_of(root)
    return tasks.get(name) or next((tasks[key] for key in tasks if name.startswith((f"{key}@", f"{key}#"))), None)


def _has_tasks(root: Path) -> bool:
    return is_task(root) or next(_tasks(root), None) is not None


def _anything(names: list[str]) -> None:
    pass


def _refuse_projects(names: list[str]) -> None:
    for pattern in _OF_A_PROJECT:
        if fnmatch.filter(names, pattern):
            raise RowInvalid(f"holds {pattern}: tests of a project, no data set")


def _tasks(root: Path, look: Callable[[list[str]], None] = _anything) -> Iterator[Path]:
    """Level by level, so that what stands high is seen first. ``look`` sees the names in what is no task."""
    places, seen = [root], 0
    for _ in range(LEVELS):
        below: list[Path] = []
        for place in places:
            seen += 1
            if seen > MAX_DIRECTORIES:
                raise RowInvalid(f"more than {MAX_DIRECTORIES} directories that are no tasks", path=root)
            with os.scandir(place) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
            look([entry.name for entry in found])
            for entry in found:
                if entry.name.startswith(".") or not entry.is_dir(follow_symlinks=False):
                    continue
                path = Path(entry.path)
                if is_task(path):
                    yield path
                else:
                    below.append(path)
        places = below
