"""A SWE-bench 5 task repository: ``sweb.yaml`` and a directory of files for each task.

    sweb.yaml               datasets, splits; ``trusted: true`` when its rows may run without isolation
    tasks/<instance_id>/    task.yaml tests.json problem_statement.md hints.md? gold.patch test.patch eval.sh
                            Dockerfile? test_assets/?

One key of task.yaml is ours: ``local: {export: PATH, commit: REF}``, a ``git fast-export`` text in the repository
that the local provider builds the work tree from. It becomes the row's ``_tree``, the path made absolute.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pytest_swe.dataset.base import RowRef
from pytest_swe.dataset.cache import wait_out
from pytest_swe.dataset.decode import loads
from pytest_swe.dataset.ids import checked
from pytest_swe.dataset.rows import described, digest_of, json_name
from pytest_swe.dataset.sniff import task_repo_root
from pytest_swe.dataset.wrapped import RESERVED
from pytest_swe.dataset.yaml_file import load_yaml
from pytest_swe.errors import RowInvalid
from pytest_swe.model import Row

TASK, TESTS, HINTS = "task.yaml", "tests.json", "hints.md"
#: Columns that are files of their own, line ends kept.
COLUMNS = {
    "patch": "gold.patch",
    "test_patch": "test.patch",
    "eval_script": "eval.sh",
    "problem_statement": "problem_statement.md",
}
FILES = frozenset((TASK, TESTS, HINTS, *COLUMNS.values()))


class TaskRepoReader:
    """Rows read from their directories each time."""

    name = "task-repo"

    def recognises(self, path: Path) -> bool:
        return task_repo_root(path) is not None

    def refs(self, path: Path) -> Iterator[RowRef]:
        """Every task, by name. One that is in no published split or data set is not ``published``."""
        root = _root(path)
        config = load_yaml(root / "sweb.yaml")
        for number, directory in enumerate(task_directories(root), 1):
            yield _ref(directory, number, config)

    def load(self, ref: RowRef) -> Row:
        directory = Path(ref.data)
        files = _read(directory)
        if _digest(files) != ref.digest:
            raise RowInvalid("the task changed while it was in use", path=directory)
        return _row(directory, files)

    def is_trusted(self, path: Path) -> bool:
        return load_yaml(_root(path) / "sweb.yaml").get("trusted") is True


def task_directories(root: Path) -> list[Path]:
    """The tasks of a repository, by name; one whose ``task.yaml`` cannot be read is among them."""
    return sorted(entry for entry in (root / "tasks").iterdir() if os.path.lexists(entry / TASK))


def stamp_of_tree(root: Path) -> str:
    """What tells one content of a task repository from another without reading it. Raises OSError."""
    seen = hashlib.blake2b(digest_size=16)
    newest = 0.0
    for place, wanted in ((root, {"sweb.yaml"}), *((place, FILES) for place in task_directories(root))):
        for entry in sorted(os.scandir(place), key=lambda entry: entry.name):
            if entry.name in wanted:
                stat = entry.stat(follow_symlinks=os.path.exists(entry))
                newest = max(newest, stat.st_mtime, stat.st_ctime)
                facts = f"{entry.path}\n{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_ino}\n"
                seen.update(facts.encode("utf-8", "surrogateescape"))
    wait_out(newest)
    return seen.hexdigest()


def read_task(directory: Path) -> Row:
    """The row that a task's directory holds. Raises RowInvalid with the file."""
    return _row(directory, _read(directory))


def _root(path: Path) -> Path:
    root = task_repo_root(path)
    if root is None:
        raise RowInvalid("not a task repository: expected sweb.yaml and tasks/", path=path)
    return root


def _ref(directory: Path, number: int, config: Mapping[str, object]) -> RowRef:
    ref = RowRef("", number, str(directory))
    try:
        files = _read(directory)
        ref = replace(ref, instance_id=checked(directory.name), digest=_digest(files))
        row = _row(directory, files)
    except (RowInvalid, ValueError) as error:
        return replace(ref, problem=str(error).removeprefix(str(directory)).lstrip("/: "))
    return replace(described(ref, row), published=_is_published(row, config))


def _is_published(row: Row, config: Mapping[str, object]) -> bool:
    """As swebench has it, save that a task which names no split or no data set is in all of them."""
    splits, datasets = config.get("splits") or ["test"], config.get("datasets")
    split, named = row.get("split"), row.get("datasets")
    in_split = split is None or (isinstance(splits, list) and split in splits)
    if not isinstance(datasets, list) or not isinstance(named, list):
        return in_split
    return in_split and any(name in datasets for name in named)


def _read(directory: Path) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for name in sorted(FILES):
        try:
            files[name] = (directory / name).read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise RowInvalid(f"cannot be read: {error.strerror}", path=directory / name) from error
    return files


def _digest(files: Mapping[str, bytes]) -> str:
    return digest_of(b"".join(b"%s %d\n%s" % (name.encode(), len(raw), raw) for name, raw in files.items()))


def _row(directory: Path, files: Mapping[str, bytes]) -> Row:
    """The task as the row that swebench makes of it. Raises RowInvalid with the file."""
    missing = [name for name in (TASK, TESTS, *COLUMNS.values()) if name not in files]
    if missing:
        raise RowInvalid(f"{', '.join(missing)} missing", path=directory)
    row = dict(load_yaml(directory / TASK, files[TASK]))
    named = row.setdefault("instance_id", directory.name)
    if named != directory.name:
        message = f"{named!r} does not match its directory {directory.name!r}"
        raise RowInvalid(message, path=directory / TASK, field="instance_id")
    row.update({column: _text(files[name]) for column, name in COLUMNS.items()})
    row["hints_text"] = _text(files.get(HINTS, b""))
    row.update(_tests(directory / TESTS, files[TESTS]))
    row.pop(RESERVED, None)
    local = row.pop("local", None)
    if local is not None:
        row[RESERVED] = _tree(directory, local)
    return row


def _text(raw: bytes) -> str:
    # A patch may touch files that are no UTF-8; `pytest_swe.encoding.patch_bytes` gives these bytes back.
    return raw.decode("utf-8", "surrogateescape")


def _tests(path: Path, raw: bytes) -> Mapping[str, object]:
    try:
        tests = loads(raw)
    except ValueError as error:
        raise RowInvalid(str(error), path=path) from error
    if not isinstance(tests, dict):
        raise RowInvalid(f"expected an object, got {json_name(tests)}", path=path)
    return tests


def _tree(directory: Path, local: object) -> dict[str, str]:
    """The ``local`` key as absolute path and commit; the path may not leave the repository."""
    values = local if isinstance(local, dict) else {}
    export, commit = values.get("export"), values.get("commit")
    where = directory / TASK
    if not isinstance(export, str) or not isinstance(commit, str) or not export or not commit:
        raise RowInvalid("expected {export: path in the repository, commit: ref}", path=where, field="local")
    root = directory.parent.parent.resolve()
    found = (root / export).resolve()
    if os.path.isabs(export) or not found.is_relative_to(root):
        raise RowInvalid(f"{export!r} leaves the repository", path=where, field="local.export")
    if not found.is_file():
        raise RowInvalid(f"no file {export!r} in the repository", path=where, field="local.export")
    return {"export": str(found), "commit": commit}
