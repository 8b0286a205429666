"""Paths in a compose file: each must lie inside of the task, links followed."""

from __future__ import annotations

from pathlib import Path

from pytest_swe.sandbox.compose.spot import Spot


def inside(directory: Path, text: str, spot: Spot) -> Path:
    """``text``, relative to ``directory`` or absolute, as the real path that it leads to.

    Raises Unsupported when that is outside of ``directory``, RowInvalid when nothing is there.
    """
    if "\0" in text or not text:
        raise spot.invalid("expected a path")
    if text.startswith("~"):
        raise spot.refused("a home directory is outside of the task")
    root = directory.resolve()
    try:
        found = (root / text).resolve()
    except (OSError, RuntimeError) as error:
        raise spot.invalid(f"{text}: a loop of links") from error
    if not found.is_relative_to(root):
        raise spot.refused(f"{text} is outside of the task", hint="put what is needed below environment/")
    if not found.exists():
        raise spot.invalid(f"{text}: no such file or directory in the task")
    return found
