"""Whatever the bytes: references and problems, or one usage error; never another exception, never a lost row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_swe.dataset.predictions import Predictions, read_predictions
from pytest_swe.dataset.source import Dataset, open_dataset
from pytest_swe.errors import PredictionInvalid, RowInvalid, UsageError

SETTINGS = settings(deadline=None, max_examples=150)

IDS = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters=":/."), min_size=1, max_size=12)
TEXTS = st.text(st.characters(codec="utf-8"))
LINES = st.one_of(
    st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b"")),
    st.sampled_from(
        [b"", b" \r", b"\xef\xbb\xbf", b"{", b"[", b"[]", b"{}", b"null", b'{"instance_id": "a-1"}', b'{"a-1": "x"}']
    ),
    st.dictionaries(st.sampled_from(["instance_id", "repo", "model_patch", "patch"]), st.none() | TEXTS | st.integers())
    .map(json.dumps)
    .map(str.encode),
)
FILES = st.one_of(st.binary(max_size=80), st.lists(LINES, max_size=6).map(b"\n".join))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any")


def _open(path: Path, content: bytes) -> Dataset | None:
    # Another name for each content: files that are seconds old are told apart by size and time alone.
    path.write_bytes(content)
    try:
        return open_dataset(str(path))
    except UsageError as error:
        refused = str(error)
    assert "\n" not in refused
    return None


@SETTINGS
@given(FILES)
def test_any_bytes_as_a_data_set(place: Path, content: bytes) -> None:
    dataset = _open(place / f"{abs(hash(content))}.jsonl", content)
    if dataset is None:
        return
    ids = [ref.instance_id for ref in dataset.refs if ref.instance_id]
    assert len(ids) == len(set(ids))
    for ref in dataset.refs:
        if ref.problem:
            assert "\n" not in ref.problem
            with pytest.raises(RowInvalid):
                dataset.load(ref)
        else:
            assert dataset.load(ref)["instance_id"] == ref.instance_id


def _read(path: Path) -> Predictions | None:
    try:
        return read_predictions(path, "all")
    except UsageError as error:
        refused = str(error)
    assert "\n" not in refused
    return None


@SETTINGS
@given(FILES)
def test_any_bytes_as_predictions(place: Path, content: bytes) -> None:
    path = place / f"{abs(hash(content))}.preds"
    path.write_bytes(content)
    found = _read(path)
    if found is None:
        return
    assert all("\n" not in problem for problem in found.problems)
    for ref in found.refs:
        assert ref.instance_id
        assert ref.model.isprintable()
        if ref.kind == "bad":
            with pytest.raises(PredictionInvalid):
                found.patch(ref)
        else:
            assert bool(found.patch(ref).strip()) >= (ref.kind == "patch")


@SETTINGS
@given(st.lists(st.tuples(IDS, TEXTS), min_size=1, max_size=6, unique_by=lambda pair: pair[0]), st.booleans())
def test_rows_round_trip_through_their_offsets(place: Path, pairs: list[tuple[str, str]], ascii_only: bool) -> None:
    rows = [{"instance_id": name, "repo": "a/a", "patch": text} for name, text in pairs]
    content = "\n".join(json.dumps(row, ensure_ascii=ascii_only) for row in rows).encode()
    dataset = _open(place / f"{abs(hash(content))}.rows", content)
    assert dataset is not None
    assert [dataset.load(ref) for ref in dataset.refs] == rows
    for ref, row in zip(dataset.refs, rows, strict=True):
        assert json.loads(content[ref.offset : ref.offset + ref.length]) == row


@SETTINGS
@given(st.lists(st.tuples(IDS, st.binary()), min_size=1, max_size=6, unique_by=lambda pair: pair[0]))
def test_patches_of_any_bytes_round_trip(place: Path, pairs: list[tuple[str, bytes]]) -> None:
    entries = [
        {"instance_id": name, "model_name_or_path": "m", "model_patch": raw.decode("utf-8", "surrogateescape")}
        for name, raw in pairs
    ]
    path = place / f"{abs(hash(tuple(pairs)))}.preds"
    path.write_text("\n".join(map(json.dumps, entries)))
    found = read_predictions(path)
    assert [ref.instance_id for ref in found.refs] == [name for name, _ in pairs]
    for ref, (_, raw) in zip(found.refs, pairs, strict=True):
        assert found.patch(ref) == (raw if ref.kind == "patch" else b"")
        assert (ref.kind == "empty") == (not raw.decode("utf-8", "surrogateescape").strip())
