"""Small Harbor tasks in a tree, and what a data set of that tree lists."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pytest_swe.dataset.source import open_dataset

FILES: Mapping[str, str] = {
    "task.toml": "",
    "instruction.md": "Do it.\n",
    "environment/Dockerfile": "FROM scratch\n",
    "tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
}


def task(directory: Path, files: Mapping[str, str | None] | None = None) -> Path:
    for path, text in {**FILES, **(files or {})}.items():
        if text is not None:
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(text)
    return directory


def listed(root: Path) -> list[tuple[str, str]]:
    return [(ref.instance_id, ref.problem) for ref in open_dataset(str(root)).refs]


def no_file(path: Path, how: str) -> None:
    """Something in the place of a file that is none: a directory, a link to nothing, a pipe."""
    path.unlink(missing_ok=True)
    if how == "directory":
        path.mkdir()
    elif how == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("gone")
