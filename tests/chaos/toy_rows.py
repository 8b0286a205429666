"""A data set for runs that are to be disturbed: small rows whose tests take a moment, and candidates of every kind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

SCRIPT = """\
#!/bin/bash
set -uxo pipefail
cd /testbed
: '>>>>> Start Test Output'
bash -c 'sleep {seconds}; grep -qx right answer && echo "PASSED t.py::one" || {{ echo "FAILED t.py::one"; exit 1; }}'
: '>>>>> End Test Output'
"""
ANSWER = "diff --git a/answer b/answer\nnew file mode 100644\n--- /dev/null\n+++ b/answer\n@@ -0,0 +1 @@\n+%s\n"
NOT_THERE = "diff --git a/gone b/gone\n--- a/gone\n+++ b/gone\n@@ -1 +1 @@\n-one\n+two\n"
#: What the candidates are, in turns, and what each must come to.
KINDS = (
    (ANSWER % "right", "resolved"),
    (ANSWER % "wrong", "unresolved"),
    (ANSWER % "right", "resolved"),
    ("", "unresolved"),
    (ANSWER % "right", "resolved"),
    (NOT_THERE, "unresolved"),
)


def ids(count: int) -> list[str]:
    return [f"toy-{number:03}" for number in range(count)]


def write(place: Path, images: Sequence[str], *, seconds: float = 1.0) -> list[str]:
    """``rows.jsonl`` and ``preds.jsonl``, one row for each of ``images``; returns the instance ids."""
    named = ids(len(images))
    rows = [
        {
            "instance_id": name,
            "repo": "toys/toy",
            "image": image,
            "eval_script": SCRIPT.format(seconds=seconds),
            "FAIL_TO_PASS": ["t.py::one"],
            "patch": ANSWER % "right",
            "timeout": 60,
        }
        for name, image in zip(named, images, strict=True)
    ]
    preds = [
        {"instance_id": name, "model_name_or_path": "model", "model_patch": KINDS[number % len(KINDS)][0]}
        for number, name in enumerate(named)
    ]
    for file, lines in (("rows.jsonl", rows), ("preds.jsonl", preds)):
        (place / file).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return named
