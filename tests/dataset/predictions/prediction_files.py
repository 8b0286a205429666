"""Files of predictions to read, and the reading of one that a test writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_swe.dataset.predictions import Duplicates, Predictions, read_predictions

Entries = Sequence[Mapping[str, object]]
PATCH = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
ENTRIES: Entries = [
    {"instance_id": "a-1", "model_name_or_path": "m/1", "model_patch": PATCH},
    {"instance_id": "a-2", "model_name_or_path": "m/1", "model_patch": "\r\n \u2028é"},
    {"instance_id": "a-3", "model_name_or_path": "m/1", "model_patch": None},
]


def jsonl(entries: Entries) -> bytes:
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries).encode()


def read(tmp_path: Path, content: bytes, name: str = "preds.jsonl", duplicates: Duplicates = "error") -> Predictions:
    path = tmp_path / name
    path.write_bytes(content)
    return read_predictions(path, duplicates)


def one(tmp_path: Path, patch: object) -> Predictions:
    entry = {"instance_id": "a-1", "model_name_or_path": "m", "model_patch": patch}
    return read(tmp_path, json.dumps(entry).encode() + b"\n")
