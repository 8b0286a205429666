"""Jobs run in threads while pytest sets and removes PYTEST_CURRENT_TEST: os.environ is read by name, never walked."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pytest_swe

PACKAGE = Path(pytest_swe.__file__).parent
#: A process of its own, with one thread.
ALONE = {PACKAGE / "sandbox" / "host" / "supervisor.py"}
FILES = sorted(set(PACKAGE.rglob("*.py")) - ALONE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_environment_is_read_by_name(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Attribute) and node.attr in ("environ", "environb")):
            continue
        parent = parents[node]
        by_name = (isinstance(parent, ast.Attribute) and parent.attr == "get") or isinstance(parent, ast.Subscript)
        assert by_name, f"line {node.lineno}: read os.environ by name"
