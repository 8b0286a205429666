"""A data set in every shape: the same rows come out, and a bad row costs that row only."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from pytest_swe.dataset.source import Dataset, dataset_of_rows, looks_like_dataset, open_dataset
from pytest_swe.errors import RowInvalid, UsageError

Rows = Sequence[Mapping[str, object]]

ROWS: Rows = [
    {
        "instance_id": "a__a-1",
        "repo": "a/a",
        "base_commit": "1",
        "patch": "x\r\ny\u2028z\n",
        "FAIL_TO_PASS": ["t"],
        "n": None,
    },
    {"instance_id": "a__a-2", "repo": "a/a", "base_commit": "2", "patch": "", "FAIL_TO_PASS": [], "n": 1.5},
    {
        "instance_id": "b__b-3",
        "repo": "b/b",
        "base_commit": "3",
        "patch": "é\x0b\x0c\u0085",
        "FAIL_TO_PASS": ["u"],
        "n": 2.0,
    },
]


def _jsonl(rows: Rows) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _parquet(rows: Rows) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), sink)
    return sink.getvalue()


def _by_id(rows: Rows, *, inside: bool) -> bytes:
    found = {row["instance_id"]: {k: v for k, v in row.items() if inside or k != "instance_id"} for row in rows}
    return json.dumps(found).encode()


SHAPES: Mapping[str, Callable[[Rows], bytes]] = {
    "jsonl": _jsonl,
    "jsonl-ascii": lambda rows: "\n".join(json.dumps(row) for row in rows).encode(),
    "bom": lambda rows: b"\xef\xbb\xbf" + _jsonl(rows),
    "crlf": lambda rows: _jsonl(rows).replace(b"}\n", b"}\r\n"),
    "blank-lines": lambda rows: b"\n \n" + _jsonl(rows).replace(b"}\n", b"}\n\n\r\n"),
    "two-files-joined": lambda rows: _jsonl(rows[:1]) + b"\xef\xbb\xbf" + _jsonl(rows[1:]),
    "list": lambda rows: json.dumps(rows).encode(),
    "indented-list": lambda rows: json.dumps(rows, indent=2).encode(),
    "dict": lambda rows: _by_id(rows, inside=True),
    "dict-ids-outside": lambda rows: _by_id(rows, inside=False),
    "gzip": lambda rows: gzip.compress(_jsonl(rows)),
    "gzip-list": lambda rows: gzip.compress(json.dumps(rows).encode()),
    "gzip-members": lambda rows: gzip.compress(_jsonl(rows[:1])) + gzip.compress(_jsonl(rows[1:])),
    "zstd": lambda rows: zstandard.compress(_jsonl(rows)),
    "zstd-frames": lambda rows: zstandard.compress(_jsonl(rows[:1])) + zstandard.compress(_jsonl(rows[1:])),
    "parquet": _parquet,
}


def _opened(tmp_path: Path, content: bytes, name: str = "data.jsonl") -> Dataset:
    path = tmp_path / name
    path.write_bytes(content)
    return open_dataset(str(path))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["data.jsonl", "data.txt"])
def test_every_shape_gives_the_same_rows(tmp_path: Path, shape: str, name: str) -> None:
    dataset = _opened(tmp_path, SHAPES[shape](ROWS), name)
    assert [ref.instance_id for ref in dataset.refs] == ["a__a-1", "a__a-2", "b__b-3"]
    assert [ref.repo for ref in dataset.refs] == ["a/a", "a/a", "b/b"]
    assert [dataset.load(ref) for ref in dataset.refs] == ROWS
    assert dataset.row("b__b-3") == ROWS[2]
    assert not any(ref.problem for ref in dataset.refs)
    assert looks_like_dataset(dataset.path)


def test_lines_end_at_newline_bytes_only(tmp_path: Path) -> None:
    raw = '{"instance_id": "a-1", "patch": "1\u20282\u00853\x0b4\x0c5\r6"}\n{"instance_id": "a-2"}\n'
    dataset = _opened(tmp_path, raw.encode())
    assert [(ref.instance_id, ref.line) for ref in dataset.refs] == [("a-1", 1), ("a-2", 2)]
    assert dataset.row("a-1")["patch"] == "1\u20282\u00853\x0b4\x0c5\r6"


def test_lone_surrogates_and_nan_lose_no_line(tmp_path: Path) -> None:
    dataset = _opened(tmp_path, rb'{"instance_id": "a-1", "patch": "\ud800"}' + b'\n{"instance_id": "a-2", "x": NaN}\n')
    assert dataset.row("a-1")["patch"] == "\ud800"
    assert "x" in dataset.row("a-2")


def test_offsets_are_where_the_rows_stand(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf\n" + _jsonl(ROWS)
    dataset = _opened(tmp_path, content)
    for ref, row in zip(dataset.refs, ROWS, strict=True):
        assert json.loads(content[ref.offset : ref.offset + ref.length]) == row
        assert content[: ref.offset].count(b"\n") + 1 == ref.line


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"instance_id": "bad-1", "patch": "to', "not JSON: "),
        (b"[1, 2]", "expected an object, got a list"),
        (b'"text"', "expected an object, got a string"),
        (b"null", "expected an object, got null"),
        (b"oops", "not JSON: "),
        (b"{}", "instance_id: expected a string, the row has none"),
        (b'{"repo": "a/a"}', "its keys: repo"),
        (b'{"instance_id": null}', "instance_id: expected a string, got null"),
        (b'{"instance_id": 5}', "instance_id: expected a string, got int"),
        (b'{"instance_id": " "}', "blank"),
        (b'{"instance_id": "x::y"}', "'::'"),
        (b'{"instance_id": "x\\ny"}', "control"),
        (b'{"instance_id": "x", "patch": "\xe9"}', "not UTF-8: byte 0xe9"),
        (b'{"a": ' * 5000, "nested too deeply"),
        (b"\x00\x01\x02", "not JSON"),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_bad_line_costs_that_row_only(tmp_path: Path, line: bytes, message: str, place: int) -> None:
    lines = _jsonl(ROWS).splitlines()
    lines.insert(place, line)
    dataset = _opened(tmp_path, b"\n".join(lines))
    bad = [ref for ref in dataset.refs if ref.problem]
    assert [ref.line for ref in bad] == [place + 1]
    assert message in bad[0].problem
    assert [ref.instance_id for ref in dataset.refs if not ref.problem] == [row["instance_id"] for row in ROWS]
    with pytest.raises(RowInvalid) as refused:
        dataset.load(bad[0])
    assert str(refused.value).startswith(f"{dataset.path}:{place + 1}: ")
    assert "\n" not in str(refused.value)


def test_a_torn_row_keeps_its_id(tmp_path: Path) -> None:
    dataset = _opened(tmp_path, _jsonl(ROWS) + b'{"instance_id": "c__c-4", "patch": "di')
    assert (dataset.refs[3].instance_id, dataset.refs[3].problem[:8]) == ("c__c-4", "not JSON")


def test_a_duplicate_names_both_lines_and_the_first_stands(tmp_path: Path) -> None:
    dataset = _opened(tmp_path, _jsonl([*ROWS, {"instance_id": "a__a-2", "repo": "other"}]))
    assert [ref.instance_id for ref in dataset.refs] == ["a__a-1", "a__a-2", "b__b-3", ""]
    assert dataset.refs[3].problem == "instance_id: 'a__a-2' stands on line 2 and again on line 4"
    assert dataset.row("a__a-2") == ROWS[1]


def test_a_torn_line_does_not_take_the_id_of_a_good_one(tmp_path: Path) -> None:
    dataset = _opened(tmp_path, b'{"instance_id": "a__a-2", "pa\n' + _jsonl(ROWS))
    assert [(ref.instance_id, bool(ref.problem)) for ref in dataset.refs[:3]] == [
        ("", True),
        ("a__a-1", False),
        ("a__a-2", False),
    ]


def test_bad_entries_of_a_document(tmp_path: Path) -> None:
    document = {"a-1": {"repo": "a/a"}, "a-2": 5, "a::3": {"repo": "b/b"}, "a-4": {"instance_id": "z"}}
    dataset = _opened(tmp_path, json.dumps(document).encode(), "data.json")
    assert [(ref.instance_id, ref.line) for ref in dataset.refs] == [("a-1", 1), ("", 2), ("", 3), ("z", 4)]
    assert dataset.refs[1].problem == "expected an object, got a number"
    assert dataset.row("a-1") == {"instance_id": "a-1", "repo": "a/a"}


@pytest.mark.parametrize("indent", [None, 1])
def test_a_single_object_is_one_row(tmp_path: Path, indent: int | None) -> None:
    row: dict[str, object] = {"repo": "a/a", "nested": {"x": 1}, "instance_id": "a-1"}
    assert _opened(tmp_path, json.dumps(row, indent=indent).encode()).row("a-1") == row


def test_a_single_row_without_an_id_is_one_bad_row(tmp_path: Path) -> None:
    dataset = _opened(tmp_path, b'{"repo_name": "aiohttp", "image": "x", "expected": {"t": "PASSED"}, "hash": "f"}')
    assert [bool(ref.problem) for ref in dataset.refs] == [True]


def test_an_id_that_is_built_is_in_the_row(tmp_path: Path) -> None:
    dataset = _opened(tmp_path, b'{"org": "o", "repo": "r", "number": 7}\n{"org": "o", "repo": "r", "number": 8}\n')
    assert dataset.row("o__r-7") == {"org": "o", "repo": "r", "number": 7, "instance_id": "o__r-7"}
    assert dataset.refs[0].repo == "o/r"


def test_a_row_cannot_name_files_of_this_host(tmp_path: Path) -> None:
    content = b'{"instance_id": "a-1", "_tree": {"export": "/etc/passwd", "commit": "x"}}\n'
    assert _opened(tmp_path, content).row("a-1") == {"instance_id": "a-1"}


def test_the_same_rows_have_the_same_digest(tmp_path: Path) -> None:
    digests = {_opened(tmp_path, SHAPES[shape](ROWS)).digest for shape in ("jsonl", "bom", "crlf", "gzip", "zstd")}
    assert len(digests) == 1
    assert _opened(tmp_path, _jsonl(ROWS[:2])).digest not in digests


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no rows in it"),
        (b"\n\n", "no rows in it"),
        (b"#!/bin/sh\n{\n  true\n}\n", "not a data set"),
        (b"[]", "no rows in it"),
        (b'[\n{"instance_id": "a"},\n oops]', "not JSON: Expecting value at line 3 column 2"),
        (b'{\n  "a": {"x": 1},\n', "not JSON"),
        (b"\x89PNG\r\n\x1a\n\x00", "expected JSON lines, JSON or parquet"),
        (b"import os\n", "not a data set"),
        ('{"instance_id": "a"}\n'.encode("utf-16"), "UTF-16 text"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n",
            r"git-lfs pointer, not the file .git lfs pull",
        ),
        (gzip.compress(b'{"instance_id": "a"}\n' * 500)[:-9], "damaged or cut off"),
        (b"\x1f\x8b" + b"\xff" * 30, "damaged or cut off"),
        (zstandard.compress(b'{"instance_id": "a"}\n' * 500)[:-6], "damaged or cut off"),
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 30, "damaged or cut off"),
        (b"PAR1" + b"\xff" * 30, "damaged parquet"),
        (_parquet(ROWS)[:-20], "damaged parquet"),
    ],
    ids=lambda value: value if isinstance(value, str) else "is",  # gzip writes the time: no id for xdist
)
def test_what_cannot_be_read_at_all_is_said_in_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        _opened(tmp_path, content)
    assert str(tmp_path / "data.jsonl") in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_path_names_a_near_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "verified.jsonl").write_bytes(_jsonl(ROWS))
    with pytest.raises(UsageError, match=r"did you mean '.*verified\.jsonl'"):
        open_dataset(str(tmp_path / "verfied.jsonl"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"no such file, directory or data set .did you mean 'verified"):
        open_dataset("verifed")


def test_a_directory_that_is_none_and_a_pipe(tmp_path: Path) -> None:
    for path in (tmp_path, Path("/dev/null")):
        with pytest.raises(UsageError, match="neither a file nor a task repository"):
            open_dataset(str(path))


def test_predictions_are_refused_as_a_data_set(tmp_path: Path) -> None:
    content = b'{"instance_id": "a-1", "model_name_or_path": "m", "model_patch": "x"}\n'
    with pytest.raises(UsageError, match=r"predictions, not a data set .give it with --swe-preds"):
        _opened(tmp_path, content)
    assert _opened(tmp_path, b'{"instance_id": "a-1", "model_patch": "x", "repo": "a/a"}\n').refs


def test_an_unknown_id_names_near_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no row 'a__a-9' among 3; nearest: a__a-"):
        _opened(tmp_path, _jsonl(ROWS)).row("a__a-9")


def test_a_file_that_changes_under_a_run_is_noticed(tmp_path: Path) -> None:
    dataset = _opened(tmp_path, _jsonl(ROWS))
    (tmp_path / "data.jsonl").write_bytes(_jsonl(ROWS).replace(b"a__a-1", b"a__a-7"))
    with pytest.raises(RowInvalid, match=":1: the file changed while it was in use"):
        dataset.load(dataset.refs[0])
    assert dataset.load(dataset.refs[1]) == ROWS[1]
    (tmp_path / "data.jsonl").unlink()
    with pytest.raises(RowInvalid, match="No such file"):
        dataset.load(dataset.refs[1])


def test_rows_by_split(tmp_path: Path) -> None:
    rows = [{"instance_id": "a", "split": "dev"}, {"instance_id": "b", "split": "test"}]
    (tmp_path / "data.jsonl").write_bytes(_jsonl(rows))
    path = str(tmp_path / "data.jsonl")
    assert [ref.instance_id for ref in open_dataset(path, split="dev").refs] == ["a"]
    with pytest.raises(UsageError, match="no split 'train': it has dev, test"):
        open_dataset(path, split="train")


def test_rows_from_python() -> None:
    dataset = dataset_of_rows(Path("made.py"), [*ROWS, {"x": 1}, {"instance_id": "a__a-1"}])
    assert dataset.row("a__a-2") == ROWS[1]
    assert [bool(ref.problem) for ref in dataset.refs] == [False, False, False, True, True]
    assert dataset.origin(dataset.refs[1]).line == 2


def test_names(tmp_path: Path) -> None:
    for file in ("my.set.jsonl", "my.set.jsonl.gz", "my.set.json.zst", "my.set.parquet", "my.set"):
        assert _opened(tmp_path, _jsonl(ROWS), file).name == "my.set"


@pytest.mark.parametrize(
    ("module", "shape", "extra"), [("zstandard", "zstd", "zstd"), ("pyarrow", "parquet", "parquet")]
)
def test_a_missing_extra_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, shape: str, extra: str
) -> None:
    for name in [name for name in sys.modules if name == module or name.startswith(f"{module}.")]:
        monkeypatch.delitem(sys.modules, name)
    blocked: Any = None
    monkeypatch.setitem(sys.modules, module, blocked)
    with pytest.raises(UsageError, match=rf'pip install "pytest-swe\[{extra}\]"'):
        _opened(tmp_path, SHAPES[shape](ROWS))
