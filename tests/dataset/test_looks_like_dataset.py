"""Which paths of a user's command line are data sets: sure, cheap, and never an exception."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_swe.dataset.source import looks_like_dataset

ROW = {"instance_id": "a-1", "repo": "a/a", "base_commit": "0"}
YES = {
    "a row": b'{"instance_id": "a-1"}\n',
    "no instance of ours": b'{"org": "o", "repo": "r", "number": 1}\n',
    "later rows bad": b'{"instance_id": "a-1"}\noops\n',
    "bom": b'\xef\xbb\xbf\n{"instance_id": "a-1"}\n',
    "list": json.dumps([ROW]).encode(),
    "indented": json.dumps([ROW, ROW], indent=4).encode(),
    "dict": json.dumps({"a-1": {"repo": "a/a", "base_commit": "0"}}).encode(),
    "one object": json.dumps(ROW, indent=1).encode(),
    "gzip": gzip.compress(b'{"instance_id": "a-1"}\n'),
    "zstd": zstandard.compress(json.dumps([ROW], indent=4).encode()),
    "long first row": json.dumps({"patch": "x" * 300_000, "instance_id": "a-1"}).encode() + b"\n",
    "long first entry": json.dumps([{"patch": "x" * 300_000, "instance_id": "a-1"}], indent=1).encode(),
}
NO = {
    "empty": b"",
    "python": b"def test_x(): pass\n",
    "numbers": b"[1, 2, 3]",
    "empty list": b"[]",
    "empty dict": b"{}",
    "package.json": b'{"name": "x", "scripts": {"test": "jest"}}',
    "nested": b'{"scripts": {"test": "jest"}}',
    "chat": b'{"messages": [{"role": "user"}]}\n{"messages": []}\n',
    "log lines": b'{"level": "info", "instance": 1}\n',
    "id of another type": b'{"instance_id": 5}\n',
    "list of texts": b'["instance_id"]\n',
    "first row broken": b'{"instance_id": "a-1", "x\n{"instance_id": "a-2"}\n',
    "binary": bytes(range(256)) * 40,
    "cut gzip": gzip.compress(b'{"instance_id": "a-1"}\n' * 99)[:20],
    "cut zstd": zstandard.compress(b'{"instance_id": "a-1"}\n' * 99)[:12],
    "parquet stub": b"PAR1PAR1",
    "not utf-8": b'{"instance_id": "\xff"}\n',
    "deep": b"[" * 100_000,
    "utf-16": '{"instance_id": "a-1"}\n'.encode("utf-16"),
    "number style of others": b'{"repo": "a/a", "number": 4}\n',
}


@pytest.mark.parametrize("case", YES)
@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x"])
def test_a_data_set(tmp_path: Path, case: str, name: str) -> None:
    (tmp_path / name).write_bytes(YES[case])
    assert looks_like_dataset(tmp_path / name) is True


@pytest.mark.parametrize("case", NO)
@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x_test.py"])
def test_somebody_elses_file(tmp_path: Path, case: str, name: str) -> None:
    (tmp_path / name).write_bytes(NO[case])
    assert looks_like_dataset(tmp_path / name) is False


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for path in (
        tmp_path,
        tmp_path / "none",
        tmp_path / "pipe",
        tmp_path / "loop",
        Path("/dev/zero"),
        Path("x" * 5000),
    ):
        assert looks_like_dataset(path) is False
    assert looks_like_dataset(Path("a\0b")) is False


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_give_an_answer(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(content)
    assert looks_like_dataset(path) in (True, False)
