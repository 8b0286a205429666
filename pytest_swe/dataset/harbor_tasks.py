"""Harbor tasks as a data set: a directory with ``task.toml``, a tree of them, or what a ``dataset.toml`` lists.

    tasks/dataset.toml?      [[tasks]] name = "org/name", digest = "sha256:..."
    tasks/<any>/<task>/      task.toml instruction.md environment/ tests/ solution/ steps/

A row names its task; the task itself is read from its directory when it is needed. A task that is broken is a row that
cannot be used, and costs no other.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pytest_swe.dataset.base import RowRef
from pytest_swe.dataset.cache import wait_out
from pytest_swe.dataset.ids import checked
from pytest_swe.dataset.wrapped import RESERVED
from pytest_swe.errors import RowInvalid
from pytest_swe.harbor.dataset_toml import Listed, chosen, listed_tasks
from pytest_swe.harbor.files import CONFIG, stamps_of, text_of
from pytest_swe.harbor.parse import parse
from pytest_swe.harbor.task import HarborTask, load_task
from pytest_swe.harbor.tree import DATASET, harbor_root, ids_of, task_directories
from pytest_swe.model import Row

#: The column by which such a row is known, with what there is to say of the task.
COLUMN = "harbor_task"
FAMILY = "harbor"


class HarborTasksReader:
    """Rows read from their directories each time."""

    name = "harbor-tasks"

    def recognises(self, path: Path) -> bool:
        return harbor_root(path) is not None

    def refs(self, path: Path) -> Iterator[RowRef]:
        """Every task, by path, or in the order of ``dataset.toml``. Its id is its directory's name, made unique."""
        root = _root(path)
        ids = {directory: name for name, directory in ids_of(root).items()}
        listed = None if root in ids else listed_tasks(root)
        if listed is None:
            for number, (directory, name) in enumerate(ids.items(), 1):
                yield _ref(directory, number, name)
            return
        found = [(_named(directory), directory) for directory in ids]
        for number, (task, place, near) in enumerate(chosen(listed, found), 1):
            yield _listed_ref(root, number, task, place, near, ids)

    def load(self, ref: RowRef) -> Row:
        """The row of a task. Raises RowInvalid with the file, also when the task changed since it was listed."""
        task = load_task(Path(ref.data))
        if task.digest != ref.digest:
            raise RowInvalid("the task changed while it was in use", path=ref.data)
        return row_of(task, ref.instance_id)

    def is_trusted(self, path: Path) -> bool:
        """Never: nothing of a task runs without isolation."""
        return False


def row_of(task: HarborTask, instance_id: str) -> Row:
    """What stands for a task: ``RESERVED`` holds its directory, which no row from elsewhere can name."""
    return {
        "instance_id": instance_id,
        COLUMN: {
            "name": task.name,
            "schema_version": task.config.schema_version,
            "digest": task.digest,
            "steps": [step.name for step in task.steps if step.name],
            "warnings": list(task.warnings),
        },
        RESERVED: {"task": str(task.root)},
    }


def warnings_of(row: Row) -> tuple[str, ...]:
    """What nobody reads in the task of a row; empty for any other row."""
    task = row.get(COLUMN)
    warnings = task.get("warnings") if isinstance(task, Mapping) else None
    return tuple(map(str, warnings)) if isinstance(warnings, list) else ()


def warnings_in(directory: Path) -> tuple[str, ...]:
    """What nobody reads in a task's configuration; nothing of a task that is broken, which is told elsewhere."""
    path = directory / CONFIG
    try:
        return parse(text_of(path), path)[1]
    except RowInvalid:
        return ()


def stamp_of_tasks(root: Path) -> str:
    """What tells one content of a tree of tasks from another without reading it. Raises OSError, RowInvalid."""
    seen = hashlib.blake2b(digest_size=16)
    newest = 0.0
    for directory in task_directories(root):
        seen.update(f"{directory}\n".encode("utf-8", "surrogateescape"))
        try:
            for path, stat in stamps_of(directory.resolve()):
                newest = max(newest, stat.st_mtime, stat.st_ctime)
                facts = f"{path}\n{stat.st_size} {stat.st_mode} {stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_ino}\n"
                seen.update(facts.encode("utf-8", "surrogateescape"))
        except (RowInvalid, OSError) as error:  # that task's own problem, told when it is read
            seen.update(str(error).encode("utf-8", "surrogateescape"))
    if (root / DATASET).is_file():
        seen.update((root / DATASET).read_bytes())
    elif os.path.lexists(root / DATASET):
        seen.update(b"a list that cannot be read")
    wait_out(newest)
    return seen.hexdigest()


def _root(path: Path) -> Path:
    root = harbor_root(path)
    if root is None:
        raise RowInvalid("no Harbor task: expected task.toml in it or below", path=path)
    return root


def _ref(directory: Path, number: int, name: str, digest: str = "") -> RowRef:
    ref = RowRef("", number, str(directory), family=FAMILY)
    try:
        ref = replace(ref, instance_id=checked(name, "the name of its directory"))
        task = load_task(directory)
    except (RowInvalid, ValueError) as error:
        return replace(ref, problem=_without_place(str(error), directory))
    ref = replace(ref, digest=task.digest)
    if digest and digest != task.digest:
        return replace(ref, problem=f"its files have the digest {task.digest}, {DATASET} wants {digest}")
    return ref


def _listed_ref(
    root: Path, number: int, task: Listed, place: Path | None, near: str, ids: Mapping[Path, str]
) -> RowRef:
    if place is not None:
        return _ref(place, number, ids[place], task.digest)
    guess = f"; nearest: {near}" if near else ""
    problem = f"{DATASET} lists {task.name}, and there is no such task below{guess}"
    ref = RowRef("", number, str(root), problem=problem, family=FAMILY)
    try:
        return replace(ref, instance_id=checked(task.name))
    except ValueError:
        return ref


def _named(directory: Path) -> str:
    path = directory / CONFIG
    try:
        config, _ = parse(text_of(path), path)
    except RowInvalid:
        return directory.name
    return config.task.name if config.task else directory.name


def _without_place(message: str, directory: Path) -> str:
    """The place stands before the message wherever it is shown."""
    for place in (str(directory), str(directory.resolve())):
        message = message.removeprefix(place)
    return message.lstrip("/: ")
