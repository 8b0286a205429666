"""What the oldest supported Python lacks: Debian 12 has 3.11.2, and no type checker knows of its last digit."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = [path for top in ("pytest_swe", "tests", "datasets", "benchmarks") for path in (ROOT / top).rglob("*.py")]


def names_a_filter(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("extract", "extractall")
        and any(keyword.arg == "filter" for keyword in node.keywords)
    )


def test_nothing_names_a_filter_of_tar() -> None:
    """``filter=`` came with 3.11.4: `pytest_swe.sandbox.archive.unpack` does without."""
    assert any(map(names_a_filter, ast.walk(ast.parse("tar.extractall(place, filter='data')"))))
    assert len(FILES) > 500
    assert [path for path in FILES if any(map(names_a_filter, ast.walk(ast.parse(path.read_bytes()))))] == []
