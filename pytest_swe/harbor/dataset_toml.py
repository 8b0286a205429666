"""``dataset.toml``: which tasks a data set of Harbor has, by name, and what their content must be."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_swe.errors import RowInvalid
from pytest_swe.harbor.files import text_of
from pytest_swe.harbor.tree import DATASET

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Listed:
    """A task that is listed: its ``org/name``, and its digest or empty."""

    name: str
    digest: str = ""


def listed_tasks(root: Path) -> tuple[Listed, ...] | None:
    """The tasks in the order of the file; None when there is no file, or it lists none.

    Raises RowInvalid, for the whole data set: who lists tasks means these alone.
    """
    path = root / DATASET
    if not os.path.lexists(path):  # a link to nothing is one that cannot be read
        return None
    try:
        document = tomllib.loads(text_of(path).decode("utf-8-sig").replace("\r\n", "\n"))
    except (ValueError, RecursionError) as error:
        raise RowInvalid(f"not TOML: {error}", path=path) from None
    tasks = document.get("tasks")
    if tasks is None:
        return None
    if not isinstance(tasks, list):
        raise RowInvalid("expected [[tasks]] with name and digest", path=path, field="tasks")
    return tuple(_listed(entry, number, path) for number, entry in enumerate(tasks))


def _listed(entry: object, number: int, path: Path) -> Listed:
    name = entry.get("name") if isinstance(entry, dict) else None
    digest = entry.get("digest", "") if isinstance(entry, dict) else ""
    if not isinstance(name, str) or not name:
        raise RowInvalid("expected a task's name", path=path, field=f"tasks[{number}].name")
    if not isinstance(digest, str) or (digest and not _DIGEST.fullmatch(digest)):
        raise RowInvalid("expected sha256: and 64 hex digits", path=path, field=f"tasks[{number}].digest")
    return Listed(name, digest)


def chosen(listed: Iterable[Listed], found: Iterable[tuple[str, Path]]) -> Iterator[tuple[Listed, Path | None, str]]:
    """Each listed task with its directory, or None and the nearest names; ``found`` are names and directories.

    A task is found by its own name, by ``org/name`` with its directory's name in the end, or by that name alone.
    """
    by_name: dict[str, Path] = {}
    for name, directory in found:
        by_name.setdefault(name, directory)
        by_name.setdefault(directory.name, directory)
    for task in listed:
        place = by_name.get(task.name) or by_name.get(task.name.rpartition("/")[2])
        near = difflib.get_close_matches(task.name, by_name, 1) if place is None else []
        yield task, place, "".join(near)
