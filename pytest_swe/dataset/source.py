"""From what a user names to a data set: a path or hub name, its index, and rows one at a time."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pytest_swe import registry
from pytest_swe.dataset import cache, index
from pytest_swe.dataset.base import DatasetReader, RowRef
from pytest_swe.dataset.compressed import uncompressed
from pytest_swe.dataset.glance import looks_like_dataset
from pytest_swe.dataset.harbor_tasks import stamp_of_tasks
from pytest_swe.dataset.hub import ALIASES, fetched, hub_name
from pytest_swe.dataset.ids import stem_of
from pytest_swe.dataset.memory import MemoryReader
from pytest_swe.dataset.rows import with_unique_ids
from pytest_swe.dataset.sniff import NO_DATA, kind_of, task_repo_root, tree_root
from pytest_swe.dataset.task_repo import stamp_of_tree
from pytest_swe.errors import RowInvalid, UsageError
from pytest_swe.model import Origin, Row

__all__ = ["Dataset", "dataset_of_rows", "dataset_path", "looks_like_dataset", "open_dataset"]

#: Files that name the whole of a tree.
_STAND_FOR_ALL = ("sweb.yaml", "dataset.toml", "task.toml")
_ONLY_IN_ROWS = frozenset({"repo", "base_commit", "patch", "test_patch"})


@dataclass(frozen=True)
class Dataset:
    """A data set as the rest of the package sees it: what is in it, and any row when it is needed.

    ``refs`` are the rows to evaluate, in order, bad ones included; an ``instance_id`` in them that is not empty is
    unique. ``digest`` is of the content, the same for a file and its compressed copy. ``root`` is the directory of a
    task repository.
    """

    path: Path
    name: str
    reader: DatasetReader
    refs: tuple[RowRef, ...]
    digest: str
    trusted: bool = False
    root: Path | None = None
    every: tuple[RowRef, ...] = ()

    def load(self, ref: RowRef) -> Row:
        """The row. Raises RowInvalid with file, line and field."""
        if ref.problem:
            if self.root:  # the directory has the id for a name
                raise RowInvalid(ref.problem, path=ref.data)
            raise RowInvalid(ref.problem, path=self.path, line=ref.line, instance_id=ref.instance_id)
        try:
            return self.reader.load(ref)
        except RowInvalid as error:
            if not self.root:  # what was read is perhaps a copy in the cache, which nobody knows
                error.path = str(self.path)
            raise

    def origin(self, ref: RowRef) -> Origin:
        """Where the row comes from, as messages name it."""
        if self.root is not None:
            return Origin(path=ref.data, trusted=self.trusted, root=self.root)
        return Origin(path=str(self.path), line=ref.line, trusted=self.trusted)

    def ref(self, instance_id: str) -> RowRef:
        """Where a row stands, by name: also one that is in no published split. Raises UsageError with near names."""
        found = self._by_id.get(instance_id)
        if found is None:
            near = difflib.get_close_matches(instance_id, self._by_id, 3)
            guess = f"; nearest: {', '.join(near)}" if near else ""
            raise UsageError(f"{self.path}: no row {instance_id!r} among {len(self.refs)}{guess}")
        return found

    def row(self, instance_id: str) -> Row:
        """One row by name. Raises UsageError when there is none, RowInvalid when it cannot be used."""
        return self.load(self.ref(instance_id))

    @cached_property
    def _by_id(self) -> Mapping[str, RowRef]:
        return {ref.instance_id: ref for ref in self.every or self.refs if ref.instance_id}


def open_dataset(name_or_path: str, *, split: str | None = None) -> Dataset:
    """The data set at a path, or on the hub under a name.

    Without ``split``: all rows, of a task repository those it publishes, of a hub name the split ``test``. A path
    inside a task repository (``tasks/<id>``) is that task alone. Raises UsageError when nothing can be read.
    """
    path = dataset_path(name_or_path, split=split)
    root: Path | None = None
    try:
        root = tree_root(path)
        key = _stamp_of(root) if root else cache.Stamp.of(path).key
        # Another version may know other families.
        key = f"{key} {' '.join(registry.harnesses())}"
        found = index.cached(str(root or path), key, lambda: _built(root or path))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except RowInvalid as error:
        error.path = error.path if root else str(path)
        raise UsageError(str(error)) from error
    refs = _chosen(found.refs, path, root, None if cache.label_of(path) else split)
    dataset = Dataset(
        path=path,
        name=_name_of(root or path),
        reader=registry.reader(found.reader),
        refs=refs,
        digest=found.digest,
        trusted=found.trusted,
        root=root,
        every=found.refs,
    )
    _refuse_predictions(dataset)
    return dataset


def dataset_of_rows(path: Path, rows: Iterable[Row]) -> Dataset:
    """A data set of rows that are already there; ``path`` is what messages name."""
    reader = MemoryReader(rows)
    refs = tuple(with_unique_ids(list(reader.refs(path))))
    return Dataset(path=path, name=_name_of(path), reader=reader, refs=refs, digest=_digest(refs))


def dataset_path(name: str, *, split: str | None = None) -> Path:
    """The absolute path of what ``name`` names; a data set of the hub is fetched into the cache first.

    What exists on disk comes before a hub name. Raises UsageError for neither, with the nearest name.
    """
    path = Path(os.path.abspath(name))
    try:
        os.stat(path)
        return path
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(path):
            raise UsageError(f"{name}: a link that leads to nothing") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{name}: {getattr(error, 'strerror', None) or error}") from None
    named = hub_name(name, split)
    near = _near(path)
    if named is not None and not near:
        return fetched(named)
    known = near or difflib.get_close_matches(name, ALIASES, 1)
    guess = f"did you mean {os.path.join(os.path.dirname(name), known[0])!r}?" if known else ""
    raise UsageError(f"{name}: no such file, directory or data set", hint=guess)


def _near(path: Path) -> list[str]:
    """What stands beside a path that does not exist, under nearly its name."""
    try:
        return difflib.get_close_matches(path.name, os.listdir(path.parent), 1)
    except OSError:
        return []


def _stamp_of(root: Path) -> str:
    return stamp_of_tree(root) if task_repo_root(root) else stamp_of_tasks(root)


def _built(path: Path) -> index.Index:
    plain = uncompressed(path)
    reader = next((reader for reader in registry.readers() if reader.recognises(plain)), None)
    if reader is None:
        raise _unknown(path, plain)
    refs = tuple(with_unique_ids(list(reader.refs(plain))))
    if not refs:
        raise UsageError(f"{path}: no rows in it")
    made = refs[0].data if cache.label_of(Path(refs[0].data)) and refs[0].data != str(path) else ""
    return index.Index(reader=reader.name, digest=_digest(refs), refs=refs, trusted=reader.is_trusted(plain), made=made)


def _unknown(path: Path, plain: Path) -> UsageError:
    if not plain.is_file():
        trees = "a task repository (sweb.yaml and tasks/) nor Harbor tasks (task.toml in it or below)"
        return UsageError(f"{path}: neither a file nor {trees}")
    formats = "JSON lines, JSON or parquet, plain or compressed with gzip or zstd"
    message, hint = NO_DATA.get(kind_of(plain), (f"not a data set: expected {formats}", ""))
    return UsageError(f"{path}: {message}", hint=hint)


def _digest(refs: Iterable[RowRef]) -> str:
    return hashlib.blake2b("".join(ref.digest for ref in refs).encode(), digest_size=16).hexdigest()


def _chosen(refs: tuple[RowRef, ...], path: Path, root: Path | None, split: str | None) -> tuple[RowRef, ...]:
    """The rows that are meant: one task by its directory, those of a split, or all that are published."""
    if root is not None and path not in (root, *(root / name for name in _STAND_FOR_ALL)):
        return tuple(ref for ref in refs if ref.data == str(path))
    if split is None:
        return tuple(ref for ref in refs if ref.published)
    found = tuple(ref for ref in refs if ref.split == split)
    if not found:
        splits = sorted({ref.split for ref in refs if ref.split})
        has = f"it has {', '.join(splits)}" if splits else "its rows name none"
        raise UsageError(f"{path}: no split {split!r}: {has}")
    return found


def _name_of(path: Path) -> str:
    return cache.label_of(path) or stem_of(path)


def _refuse_predictions(dataset: Dataset) -> None:
    first = next((ref for ref in dataset.refs if not ref.problem), None)
    if first is None:
        return
    try:
        row = dataset.load(first)
    except RowInvalid:  # told as that row's own
        return
    if "model_patch" in row and not _ONLY_IN_ROWS & row.keys():
        hint = f"give it with --swe-preds {dataset.path}"
        raise UsageError(f"{dataset.path}: predictions, not a data set", hint=hint)
