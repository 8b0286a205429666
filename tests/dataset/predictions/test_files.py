"""Predictions in every shape, patches byte for byte, and what is no file of predictions."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import zstandard

from pytest_swe.dataset.predictions import read_predictions
from pytest_swe.errors import PredictionInvalid, UsageError

from .prediction_files import ENTRIES, PATCH, Entries, jsonl, one, read


def _dict(entries: Entries, indent: int | None = None, *, inside: bool = True) -> bytes:
    found = {e["instance_id"]: {k: v for k, v in e.items() if inside or k != "instance_id"} for e in entries}
    return json.dumps(found, indent=indent).encode()


SHAPES: Mapping[str, Callable[[Entries], bytes]] = {
    "jsonl": jsonl,
    "bom": lambda entries: b"\xef\xbb\xbf" + jsonl(entries),
    "crlf": lambda entries: jsonl(entries).replace(b"}\n", b"}\r\n"),
    "blank-lines": lambda entries: b"\n" + jsonl(entries).replace(b"}\n", b"}\n\n \n"),
    "list": lambda entries: json.dumps(entries).encode(),
    "indented-list": lambda entries: json.dumps(entries, indent=2).encode(),
    "dict": _dict,
    "indented-dict": lambda entries: _dict(entries, 4),
    "dict-ids-outside": lambda entries: _dict(entries, inside=False),
    "gzip": lambda entries: gzip.compress(jsonl(entries)),
    "gzip-dict": lambda entries: gzip.compress(_dict(entries)),
    "zstd": lambda entries: zstandard.compress(jsonl(entries)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["preds.jsonl", "preds.json"])
def test_every_shape_gives_the_same_predictions(tmp_path: Path, shape: str, name: str) -> None:
    found = read(tmp_path, SHAPES[shape](ENTRIES), name)
    assert [(ref.instance_id, ref.model, ref.kind) for ref in found.refs] == [
        ("a-1", "m/1", "patch"),
        ("a-2", "m/1", "patch"),
        ("a-3", "m/1", "empty"),
    ]
    assert [found.patch(ref) for ref in found.refs] == [PATCH.encode(), "\r\n \u2028é".encode(), b""]
    assert (found.problems, found.notes) == ((), ())


def test_a_dict_of_diffs(tmp_path: Path) -> None:
    found = read(tmp_path, json.dumps({"a-1": PATCH, "a-2": "", "a-3": None, "a-4": 5}).encode(), "gpt.json")
    assert [(ref.instance_id, ref.model, ref.kind) for ref in found.refs] == [
        ("a-1", "gpt", "patch"),
        ("a-2", "gpt", "empty"),
        ("a-3", "gpt", "empty"),
        ("a-4", "gpt", "bad"),
    ]
    assert found.patch(found.refs[0]) == PATCH.encode()


@pytest.mark.parametrize("indent", [None, 2])
def test_a_single_object(tmp_path: Path, indent: int | None) -> None:
    found = read(tmp_path, json.dumps(ENTRIES[0], indent=indent).encode())
    assert [(ref.instance_id, ref.kind) for ref in found.refs] == [("a-1", "patch")]


def test_a_directory_of_patches(tmp_path: Path) -> None:
    place = tmp_path / "my-model"
    place.mkdir()
    for name, content in {
        "b-2.diff": b"caf\xe9\r\n",
        "a-1.patch": PATCH.encode(),
        "c-3.patch": b" \n",
        "d::4.patch": b"x",
        "README.md": b"x",
    }.items():
        (place / name).write_bytes(content)
    (place / "e-5.patch").mkdir()
    found = read_predictions(place)
    assert [(ref.instance_id, ref.model, ref.kind) for ref in found.refs] == [
        ("a-1", "my-model", "patch"),
        ("b-2", "my-model", "patch"),
        ("c-3", "my-model", "empty"),
    ]
    assert [found.patch(ref) for ref in found.refs] == [PATCH.encode(), b"caf\xe9\r\n", b""]
    assert len(found.problems) == 1
    assert "'d::4'" in found.problems[0]


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("a\r\nb\r\n", b"a\r\nb\r\n"),
        ("no final newline", b"no final newline"),
        ("\ndiff", b"\ndiff"),
        ("GIT binary patch\nliteral 4\nLc${NkU|;|M00aO5\n\n", b"GIT binary patch\nliteral 4\nLc${NkU|;|M00aO5\n\n"),
        ("\u2028\u0085\x0b\x0c\x00\ufeff", "\u2028\u0085\x0b\x0c\x00\ufeff".encode()),
        ("\ud800", b"\xed\xa0\x80"),
        ("caf\udce9", b"caf\xe9"),
        ("\ud83d\ude00", "\U0001f600".encode()),
    ],
)
@pytest.mark.parametrize("shape", ["line", "document"])
def test_patches_keep_their_bytes(tmp_path: Path, text: str, raw: bytes, shape: str) -> None:
    entry = {"instance_id": "a-1", "model_name_or_path": "m", "model_patch": text}
    content = json.dumps(entry if shape == "line" else [entry, {**entry, "instance_id": "a-2"}]).encode()
    found = read(tmp_path, content)
    assert {found.patch(ref) for ref in found.refs} == {raw}


@pytest.mark.parametrize("shape", ["line", "list"])
def test_bytes_that_are_no_utf8_are_kept(tmp_path: Path, shape: str) -> None:
    line = b'{"instance_id": "a-1", "model_name_or_path": "m", "model_patch": "caf\xe9 \xff \\u00e9"}'
    found = read(tmp_path, line if shape == "line" else b"[" + line + b"]")
    assert found.patch(found.refs[0]) == b"caf\xe9 \xff \xc3\xa9"


def test_ten_mebibytes(tmp_path: Path) -> None:
    text = "+é\n" * (10 * 1024 * 1024 // 4)
    found = one(tmp_path, text)
    assert found.patch(found.refs[0]) == text.encode()
    assert found.refs[0].length > len(text)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\n \n", b"\xef\xbb\xbf\n"])
def test_no_predictions_is_a_note(tmp_path: Path, content: bytes) -> None:
    found = read(tmp_path, content)
    assert found.refs == ()
    assert found.notes == (f"{found.path}: no predictions in it",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (PATCH.encode(), "not a predictions file"),
        (b"\x89PNG\x00", "not a predictions file"),
        (b'[\n{"a": 1},\n', "not JSON: "),
        (gzip.compress(b'[\n{"a": 1},\n'), "not JSON: "),
        (gzip.compress(jsonl(ENTRIES) * 99)[:-9], "damaged or cut off"),
        (b"PAR1", "not a predictions file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "git-lfs pointer"),
        ('{"a-1": ""}'.encode("utf-16"), "UTF-16 text"),
    ],
    ids=lambda value: value if isinstance(value, str) else "is",  # gzip writes the time: no id for xdist
)
def test_what_cannot_be_read_at_all_is_said_in_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        read(tmp_path, content)
    assert str(tmp_path / "preds.jsonl") in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_file_names_a_near_one(tmp_path: Path) -> None:
    (tmp_path / "preds.jsonl").write_bytes(jsonl(ENTRIES))
    with pytest.raises(UsageError, match=r"no such predictions file: did you mean 'preds\.jsonl'"):
        read_predictions(tmp_path / "pred.jsonl")
    with pytest.raises(UsageError, match="no such predictions file"):
        read_predictions(tmp_path / "none" / "x")
    with pytest.raises(UsageError, match="not a predictions file"):
        read_predictions("/dev/zero")


def test_a_file_that_changes_under_a_run_is_noticed(tmp_path: Path) -> None:
    found = read(tmp_path, jsonl(ENTRIES))
    (tmp_path / "preds.jsonl").write_bytes(jsonl(ENTRIES).replace(b"+b", b"+c"))
    with pytest.raises(PredictionInvalid, match="changed while it was in use"):
        found.patch(found.refs[0])
    (tmp_path / "preds.jsonl").unlink()
    with pytest.raises(PredictionInvalid, match="No such file"):
        found.patch(found.refs[0])


@pytest.mark.shared_data
def test_every_public_file_reads_with_its_known_counts(shared_data: Path) -> None:
    lines = (shared_data / "preds" / "index.jsonl").read_text().splitlines()
    assert len(lines) == 42
    for line in lines:
        facts = json.loads(line)
        found = read_predictions(shared_data / "preds" / f"{facts['file']}.gz", duplicates="all")
        kinds = Counter(ref.kind for ref in found.refs)
        ids = [ref.instance_id for ref in found.refs]
        assert (found.problems, len(ids), len(ids) - len(set(ids))) == ((), facts["n"], facts["dups"]), facts["file"]
        if facts["pk"] == "patch":
            assert kinds == {"bad": facts["n"]}, facts["file"]  # data set rows: their patch is the reference fix
            continue
        assert kinds["bad"] == facts["nonstr"], facts["file"]
        assert kinds["empty"] == facts["none"] + facts["empty"] + facts["blank"], facts["file"]
        patches = [found.patch(ref) for ref in found.refs if ref.kind == "patch"]
        assert sum(not patch.endswith(b"\n") for patch in patches) == facts["nonl"], facts["file"]
        assert sum(b"\r\n" in patch for patch in patches) == facts["crlf"], facts["file"]
