"""Predictions files: every shape that people write, listed as small references; patches are read when needed.

Shapes: JSON lines; one JSON document (a list, a dict keyed by id of entries or of patches, a single entry), whatever
its suffix; both also compressed; a directory of ``<instance_id>.patch`` or ``.diff``, whose name is the model.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from pytest_swe.dataset.compressed import uncompressed
from pytest_swe.dataset.decode import loads
from pytest_swe.dataset.ids import checked, stem_of
from pytest_swe.dataset.json_file import entries_as_lines
from pytest_swe.dataset.prediction_entry import Entry, Kind, broken_entry, entries_in, entry_of, is_blank, patch_of
from pytest_swe.dataset.rows import digest_of, lines_of
from pytest_swe.dataset.sniff import NO_DATA, kind_of
from pytest_swe.encoding import patch_bytes
from pytest_swe.errors import PredictionInvalid, RowInvalid, UsageError

Duplicates = Literal["error", "first", "last", "all"]
_PATCH_SUFFIXES = (".patch", ".diff")


@dataclass(frozen=True, slots=True)
class PredictionRef:
    """Where one prediction stands, without its patch.

    ``line`` counts from 1 (the entry's number where a format has no lines). ``number`` counts, from 1, the
    predictions of one model for one instance. ``problem`` says why a ``bad`` one cannot be used, with its place.
    """

    instance_id: str
    model: str
    line: int
    number: int
    kind: Kind
    problem: str
    data: str
    offset: int
    length: int
    digest: str


@dataclass(frozen=True)
class Predictions:
    """What a predictions file holds.

    ``refs`` are about an instance each, in order. ``problems`` are lines that are about nobody, one text each;
    ``notes`` are what was assumed.
    """

    path: Path
    refs: tuple[PredictionRef, ...]
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def of(self, instance_id: str) -> tuple[PredictionRef, ...]:
        """The predictions for one instance, in order."""
        return self._by_id.get(instance_id, ())

    @cached_property
    def _by_id(self) -> Mapping[str, tuple[PredictionRef, ...]]:
        found: dict[str, list[PredictionRef]] = {}
        for ref in self.refs:
            found.setdefault(ref.instance_id, []).append(ref)
        return {instance_id: tuple(refs) for instance_id, refs in found.items()}

    def patch(self, ref: PredictionRef) -> bytes:
        """The patch, byte for byte; empty for an ``empty`` one. Raises PredictionInvalid."""
        if ref.kind == "bad":
            raise PredictionInvalid(ref.problem, instance_id=ref.instance_id)
        try:
            with open(ref.data, "rb") as file:
                file.seek(ref.offset)
                raw = file.read(ref.length)
        except OSError as error:
            raise self._invalid(ref, f"cannot be read: {error.strerror}") from error
        if digest_of(raw) != ref.digest:
            raise self._invalid(ref, "the file changed while it was in use")
        if self.path.is_dir():
            return b"" if ref.kind == "empty" else raw
        entry = loads(raw, any_bytes=True)
        text = patch_of(entry) if isinstance(entry, dict) else None
        return patch_bytes(text) if text and ref.kind == "patch" else b""

    def _invalid(self, ref: PredictionRef, message: str) -> PredictionInvalid:
        return PredictionInvalid(message, path=self.path, line=ref.line, instance_id=ref.instance_id)


def read_predictions(path: Path | str, duplicates: Duplicates = "error") -> Predictions:
    """The predictions in a file or directory.

    An entry without ``model_name_or_path`` is by the model called as the file, without suffixes. Several entries of
    one model for one instance: ``error`` makes them one bad prediction that names their lines, ``first`` and
    ``last`` take one, ``all`` keeps and numbers them. Raises UsageError when nothing at all can be read.
    """
    path = Path(path).absolute()
    try:
        entries = list(_in_directory(path) if path.is_dir() else _in_file(path))
    except FileNotFoundError as error:
        raise UsageError(f"{path}: no such predictions file{_near(path)}") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except RowInvalid as error:
        raise UsageError(f"{path}: {error.args[0]}") from error
    problems = [f"{path}:{ref.line}: {ref.problem}" for ref in entries if not ref.instance_id]
    named, notes = _with_models(path, [ref for ref in entries if ref.instance_id])
    if not entries:
        notes.append(f"{path}: no predictions in it")
    refs, left_out = _without_duplicates(path, named, duplicates)
    if left_out:
        notes.append(f"{path}: {left_out} repeated predictions left out, the {duplicates} of each is used")
    return Predictions(path, tuple(refs), tuple(problems), tuple(notes))


def _near(path: Path) -> str:
    try:
        beside = os.listdir(path.parent)
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, beside, 1)
    return f": did you mean {near[0]!r}?" if near else ""


def _in_file(path: Path) -> Iterator[PredictionRef]:
    plain = uncompressed(path)
    kind = kind_of(plain)
    if kind == "json":
        plain = entries_as_lines(plain, "predictions", entries_in, any_bytes=True)
    elif kind != "jsonl":
        other = "not a predictions file: expected JSON or JSON lines"
        message, hint = NO_DATA.get(kind, (other, "a single patch goes into a directory, as <instance_id>.patch"))
        raise UsageError(f"{path}: {message}", hint=hint)
    for line, offset, raw in lines_of(plain):
        try:
            entry = entry_of(loads(raw, any_bytes=True))
        except ValueError as error:
            entry = broken_entry(raw, str(error))
        yield _ref(entry, line, str(plain), offset, raw)


def _in_directory(path: Path) -> Iterator[PredictionRef]:
    model = path.resolve().name
    files = sorted(entry for entry in path.iterdir() if entry.suffix in _PATCH_SUFFIXES and entry.is_file())
    for number, file in enumerate(files, 1):
        raw = file.read_bytes()
        try:
            entry = Entry(checked(file.stem), model, "empty" if is_blank(raw) else "patch")
        except ValueError as error:
            entry = Entry("", model, "bad", str(error))
        yield _ref(entry, number, str(file), 0, raw)


def _ref(entry: Entry, line: int, data: str, offset: int, raw: bytes) -> PredictionRef:
    return PredictionRef(
        entry.instance_id,
        entry.model,
        line,
        1,
        entry.kind,
        entry.problem,
        data,
        offset,
        len(raw),
        digest_of(raw),
    )


def _with_models(path: Path, refs: list[PredictionRef]) -> tuple[list[PredictionRef], list[str]]:
    """The same with a model each, their problems with a place, and notes on what was assumed."""
    known = {ref.model for ref in refs if ref.model}
    stem = stem_of(path)
    # A torn line is by the file's one model: else it would make a second model, and items for all its instances.
    of_broken = next(iter(known)) if len(known) == 1 else stem
    assumed = sum(not ref.model and ref.kind != "bad" for ref in refs)
    named = [
        replace(
            ref,
            model=ref.model or (of_broken if ref.kind == "bad" else stem),
            problem=f"{path}:{ref.line}: {ref.problem}" if ref.problem else "",
        )
        for ref in refs
    ]
    return named, [f"{path}: {assumed} predictions without a model are called {stem!r}"] if assumed else []


def _without_duplicates(
    path: Path, refs: list[PredictionRef], duplicates: Duplicates
) -> tuple[list[PredictionRef], int]:
    """What the rule leaves, and how many it left out."""
    groups: dict[tuple[str, str], list[PredictionRef]] = {}
    for ref in refs:
        groups.setdefault((ref.instance_id, ref.model), []).append(ref)
    if duplicates == "all":
        numbers = {id(ref): number for group in groups.values() for number, ref in enumerate(group, 1)}
        return [replace(ref, number=numbers[id(ref)]) for ref in refs], 0
    if duplicates == "error":
        return [group[0] if len(group) == 1 else _clash(path, group) for group in groups.values()], 0
    chosen = [group[0 if duplicates == "first" else -1] for group in groups.values()]
    return sorted(chosen, key=lambda ref: ref.line), len(refs) - len(chosen)


def _clash(path: Path, group: Sequence[PredictionRef]) -> PredictionRef:
    lines = ", ".join(str(ref.line) for ref in group[:8]) + (", ..." if len(group) > 8 else "")
    problem = f"{path}: {len(group)} predictions of {group[0].model} for {group[0].instance_id} (lines {lines})"
    return replace(group[0], kind="bad", problem=f"{problem}: choose with --swe-duplicates first, last or all")


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A prediction for an instance that the data set does not have, and the one that is probably meant, or empty."""

    ref: PredictionRef
    suggestion: str

    def __str__(self) -> str:
        guess = f": did you mean {self.suggestion!r}?" if self.suggestion else ""
        return f"line {self.ref.line}: {self.ref.instance_id!r} is not in the data set{guess}"


def match(predictions: Predictions, ids: Iterable[str]) -> tuple[Unmatched, ...]:
    """The predictions whose instance is not among ``ids``.

    Ids are compared as they are: a trailing space or another case is another id, and is suggested, never folded.
    """
    known = dict.fromkeys(ids)
    alike = {_squashed(instance_id): instance_id for instance_id in known}
    unknown = [ref for ref in predictions.refs if ref.instance_id not in known]
    # difflib costs tens of milliseconds a word in thousands: for the first ones only.
    return tuple(
        Unmatched(
            ref, alike.get(_squashed(ref.instance_id), "") or (_closest(ref.instance_id, known) if n < 10 else "")
        )
        for n, ref in enumerate(unknown)
    )


def _squashed(instance_id: str) -> str:
    """Letters and digits, in lower case; image names write ``__`` as ``_1776_`` or ``_s_``."""
    return re.sub(r"[\W_]+", "", re.sub("_1776_|_s_", "__", instance_id.casefold()))


def _closest(instance_id: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(instance_id, known, 3, 0.9)
    # Another number is another instance, not a slip of the pen.
    numbers = re.findall(r"\d+", instance_id)
    return next((name for name in near if re.findall(r"\d+", name) == numbers), "")
