"""One entry of a predictions file: whom it is about, whose it is, and whether it holds a patch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_swe.dataset.ids import instance_id_of, salvaged
from pytest_swe.dataset.rows import json_name

Kind = Literal["patch", "empty", "bad"]

PATCH_KEY = "model_patch"
MODEL_KEY = "model_name_or_path"
#: With one of these beside it, ``patch`` is the reference fix of a data set row, and must not pass for a candidate.
_ROW_KEYS = frozenset({"base_commit", "test_patch"})
_MODEL = re.compile(rb'"model_name_or_path"\s*:\s*"([^"\\\x00-\x1f]{1,200})"')


@dataclass(frozen=True, slots=True)
class Entry:
    """What an entry says of itself. ``instance_id`` and ``model`` are empty when it does not say."""

    instance_id: str
    model: str
    kind: Kind
    problem: str = ""


def entries_in(document: object) -> Iterator[object]:
    """The entries of a JSON document: a list, a dict keyed by id whose values are entries or patches, or one entry."""
    if isinstance(document, list):
        yield from document
    elif isinstance(document, dict) and not {"instance_id", PATCH_KEY} & document.keys():
        for key, value in document.items():
            if isinstance(value, dict):
                yield {"instance_id": key, **value}
            else:
                yield {"instance_id": key, PATCH_KEY: value}
    else:
        yield document


def entry_of(value: object) -> Entry:
    """What is in an entry. Total: what cannot be used is ``bad``, with the field and what was expected."""
    if not isinstance(value, dict):
        return Entry("", "", "bad", f"expected an object, got {json_name(value)}")
    model = _model_of(value)
    try:
        instance_id = instance_id_of(value)
    except ValueError as error:
        return Entry("", model, "bad", str(error))
    try:
        return Entry(instance_id, model, "empty" if is_blank(patch_of(value)) else "patch")
    except ValueError as error:
        return Entry(instance_id, model, "bad", str(error))


def broken_entry(raw: bytes, problem: str) -> Entry:
    """A line that is no JSON: whom it seems to be about is kept, so that this prediction alone is lost."""
    model = _MODEL.search(raw)
    name = model[1].decode("utf-8", "replace") if model else ""
    return Entry(salvaged(raw), name if name.isprintable() else "", "bad", problem)


def patch_of(entry: Mapping[str, object]) -> str | None:
    """The patch as text; None for null.

    It stands under ``model_patch``; in an entry without that key under ``patch``, unless the entry is a data set row.
    Raises ValueError, in one line that starts with the field.
    """
    key = PATCH_KEY
    if key not in entry:
        if "patch" in entry and _ROW_KEYS & entry.keys():
            raise ValueError(f"{key}: this is a data set row: its patch is the reference fix (--swe-preds gold)")
        key = "patch"
    if key not in entry:
        raise ValueError(f"{PATCH_KEY}: expected a string, the entry has none (its keys: {', '.join(list(entry)[:6])})")
    value = entry[key]
    if value is None or value != value:  # NaN is how pandas writes a missing text
        return None
    if not isinstance(value, str):
        raise ValueError(f"{key}: expected a string, got {json_name(value)}")
    return value


def is_blank(patch: str | bytes | None) -> bool:
    """Whether a patch is null, empty or white space."""
    return not patch or not patch.strip()


def _model_of(entry: Mapping[str, object]) -> str:
    """The model's name; characters that cannot be shown become ``_`` (they cannot travel between processes)."""
    value = entry.get(MODEL_KEY)
    if not isinstance(value, str) or not value.strip():
        return ""
    return "".join(char if char.isprintable() else "_" for char in value)
