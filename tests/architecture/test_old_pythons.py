"""What the oldest supported Python lacks: Debian 12 has 3.11.2, and no type checker knows of its last digit."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [path for top in ("pytest_swe", "tests", "datasets", "benchmarks") for path in (ROOT / top).rglob("*.py")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_names_a_filter_of_tar(path: Path) -> None:
    """``filter=`` came with 3.11.4: `pytest_swe.sandbox.archive.unpack` does without."""
    calls = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call)]
    named = [
        node.lineno
        for node in calls
        if isinstance(node.func, ast.Attribute)
        and node.func.attr in ("extract", "extractall")
        and any(keyword.arg == "filter" for keyword in node.keywords)
    ]
    assert named == []
