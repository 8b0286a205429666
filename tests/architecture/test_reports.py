"""docs/reports.md: every report has its line, and every test that it names is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_report_has_a_line_and_every_test_named_is_there() -> None:
    text = (ROOT / "docs" / "reports.md").read_text()
    lines = re.findall(r"^\| (P\d\d) \|.*\| ([^|]+) \|$", text, re.MULTILINE)
    assert [number for number, _ in lines] == [f"P{number:02}" for number in range(1, 100)]
    places = (ROOT / "tests", ROOT / "pytest_swe" / "testing")
    known = {
        name
        for place in places
        for path in place.rglob("*.py")
        for name in re.findall(r"def (test_\w+)\(", path.read_text(encoding="utf-8"))
    }
    named = {name for _, tests in lines for name in re.findall(r"`(test_\w+)`", tests)}
    assert named <= known, sorted(named - known)
    assert sum(tests == "none" for _, tests in lines) == 1
