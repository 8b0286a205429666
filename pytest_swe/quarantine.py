"""Known flaky or broken instances and tests, by explicit entry only: a file of JSON lines.

    {"instance_id": "a__b-1", "reason": "gold fails", "since": "2026-11-29"}
    {"instance_id": "a__b-2", "tests": ["t.py::flaky"], "reason": "passes in 3 of 5 runs", "since": "2026-11-29"}

An entry without ``tests`` takes the whole instance out of the rate; one with them takes these out of what is required.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_swe.errors import UsageError
from pytest_swe.model import Row
from pytest_swe.required import required_tests

_FIELDS = ("instance_id", "tests", "reason", "since")
#: Columns in which families list required tests.
_REQUIRED = (
    "FAIL_TO_PASS",
    "PASS_TO_PASS",
    "fail_to_pass",
    "pass_to_pass",
    "fail_to_pass_select",
    "pass_to_pass_select",
)


@dataclass(frozen=True, slots=True)
class Quarantine:
    """``instances``: id -> reason. ``tests``: id -> tests that are not required of it."""

    instances: Mapping[str, str] = field(default_factory=dict)
    tests: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def applied(self, row: Row, instance_id: str) -> Row:
        """``row`` without the tests that are in quarantine. Lists that are not lists are left to the family.

        ``instance_id``: as its items are called; not every family's rows have a column for it.
        """
        tests = self.tests.get(instance_id)
        if not tests:
            return row
        found = dict(row)
        for column in _REQUIRED:
            if row.get(column) is not None:
                try:
                    found[column] = [test for test in required_tests(row[column]) if test not in tests]
                except ValueError:
                    continue
        return found


def read_quarantine(path: Path) -> Quarantine:
    """The entries of a file. Raises UsageError naming file, line and field."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--swe-quarantine {path}: {error}") from None
    instances: dict[str, str] = {}
    tests: dict[str, frozenset[str]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            instance, named, reason = _entry(line)
        except ValueError as error:
            raise UsageError(f"{path}:{number}: {error}") from None
        if named:
            tests[instance] = tests.get(instance, frozenset()) | named
        else:
            instances[instance] = reason
    return Quarantine(instances, tests)


def _entry(line: str) -> tuple[str, frozenset[str], str]:
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(entry, dict):
        raise ValueError("expected an object")
    for name in entry:
        if name not in _FIELDS:
            near = difflib.get_close_matches(str(name), _FIELDS, 1)
            raise ValueError(f"no field {name!r}" + (f", did you mean {near[0]!r}?" if near else ""))
    for name in ("instance_id", "reason"):
        if not isinstance(entry.get(name), str) or not entry[name].strip():
            raise ValueError(f"{name}: expected some text")
    if "tests" in entry and not entry["tests"]:
        raise ValueError("tests: expected some, or no field `tests` for the whole instance")
    return entry["instance_id"], frozenset(required_tests(entry.get("tests", []))), entry["reason"]
