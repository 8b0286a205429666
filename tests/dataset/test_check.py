"""The preflight: what it finds in rows, predictions and patches, each once, with its place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from pytest_swe.dataset.check import Finding, check
from pytest_swe.dataset.predictions import read_predictions
from pytest_swe.dataset.source import open_dataset
from pytest_swe.errors import RowInvalid
from pytest_swe.harness.base import Harness
from pytest_swe.model import Instance, Origin, Row, SandboxSpec


def _diff(path: str, added: str = "+b\n") -> str:
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n{added}"


GOOD: Mapping[str, object] = {
    "instance_id": "a__a-1",
    "repo": "a/a",
    "patch": _diff("src/x.py"),
    "test_patch": _diff("tests/test_x.py"),
    "FAIL_TO_PASS": '["tests/test_x.py::t"]',
    "PASS_TO_PASS": [],
}


class Family:
    """As much of a family as the preflight asks: it wants a repository, and gold is the row's patch."""

    name = "plain"

    def missing_columns(self, row: Row) -> frozenset[str]:
        return frozenset({"repo"} - row.keys())

    def instance(self, row: Row, origin: Origin) -> Instance:
        if not isinstance(row["repo"], str):
            raise RowInvalid("expected owner/name", path=origin.path, line=origin.line, field="repo")
        return Instance(id=str(row["instance_id"]), family="plain", spec=SandboxSpec(image="i"), payload=row)

    def gold(self, instance: Instance) -> bytes:
        assert isinstance(instance.payload, dict)
        return str(instance.payload["patch"]).encode()


def harness_of(row: Row) -> Harness:
    family = Family()
    if family.missing_columns(row):
        raise RowInvalid("no family has these columns: plain needs repo")
    return cast("Harness", family)


def _rows(tmp_path: Path, *rows: Mapping[str, object] | str) -> list[Finding]:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    return check(open_dataset(str(tmp_path / "rows.jsonl")), None, harness_of)


def _preds(tmp_path: Path, *entries: Mapping[str, object] | str) -> list[Finding]:
    (tmp_path / "rows.jsonl").write_text(json.dumps(GOOD))
    lines = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    (tmp_path / "preds.jsonl").write_text("\n".join(lines))
    dataset, predictions = open_dataset(str(tmp_path / "rows.jsonl")), read_predictions(tmp_path / "preds.jsonl")
    return check(dataset, predictions, harness_of)


def _patch(tmp_path: Path, patch: object, instance_id: str = "a__a-1") -> list[tuple[str, str]]:
    entry = {"instance_id": instance_id, "model_name_or_path": "m", "model_patch": patch}
    found = _preds(tmp_path, entry)
    assert all(finding.text.startswith(f"{tmp_path / 'preds.jsonl'}") or not finding.path for finding in found)
    return [(finding.level, finding.message) for finding in found]


def test_nothing_to_complain_about(tmp_path: Path) -> None:
    assert _rows(tmp_path, GOOD) == []
    assert _patch(tmp_path, _diff("src/x.py")) == [("info", "touches src/x.py")]


def test_a_finding_is_one_line_with_its_place_first(tmp_path: Path) -> None:
    found = _rows(tmp_path, GOOD, {**GOOD, "instance_id": "a__a-2", "FAIL_TO_PASS": "nonsense"})
    assert [finding.text for finding in found] == [
        f"{tmp_path / 'rows.jsonl'}:2: a__a-2: FAIL_TO_PASS: expected test ids as a list, a JSON list in a string, "
        "or the Python repr of one, got str 'nonsense'"
    ]


@pytest.mark.parametrize(
    ("row", "level", "field", "message"),
    [
        ("oops", "error", "", "not JSON"),
        ({**GOOD, "instance_id": None}, "error", "", "instance_id: expected a string, got null"),
        (GOOD, "error", "", "'a__a-1' stands on line 1 and again on line 2"),
        ({"instance_id": "b-1"}, "error", "", "no family has these columns: plain needs repo"),
        ({**GOOD, "instance_id": "b-1", "repo": 5}, "error", "repo", "expected owner/name"),
        ({**GOOD, "instance_id": "b-1 "}, "warning", "instance_id", "'b-1 ' has blanks around it"),
        ({**GOOD, "instance_id": "b-1", "FAIL_TO_PASS": []}, "error", "FAIL_TO_PASS", "empty: nothing would be"),
        ({**GOOD, "instance_id": "b-1", "PASS_TO_PASS": None}, "error", "PASS_TO_PASS", "got nothing"),
        (
            {**GOOD, "instance_id": "b-1", "PASS_TO_PASS": ["[100%]", "#15789", '"', ""]},
            "warning",
            "PASS_TO_PASS",
            "4 ids",
        ),
        ({**GOOD, "instance_id": "b-1", "PASS_TO_PASS": ["t", "t", "u"]}, "warning", "PASS_TO_PASS", "1 ids stand"),
        (
            {**GOOD, "instance_id": "b-1", "PASS_TO_PASS": ["tests/test_x.py::t"]},
            "warning",
            "PASS_TO_PASS",
            "1 tests are also in FAIL_TO_PASS",
        ),
        (
            {**GOOD, "instance_id": "b-1", "PASS_TO_PASS": ["t[a"]},
            "info",
            "PASS_TO_PASS",
            "1 ids are cut off at a blank",
        ),
        ({**GOOD, "instance_id": "b-1", "patch": "hello"}, "warning", "patch", "no diff in it"),
        ({**GOOD, "instance_id": "b-1", "patch": GOOD["test_patch"]}, "warning", "patch", "the test patch replaces"),
    ],
)
def test_rows(tmp_path: Path, row: Mapping[str, object] | str, level: str, field: str, message: str) -> None:
    found = _rows(tmp_path, GOOD, row)
    assert [(finding.level, finding.field, finding.line) for finding in found] == [(level, field, 2)]
    assert message in found[0].message


def test_lower_case_lists_are_looked_at(tmp_path: Path) -> None:
    row = {key: value for key, value in GOOD.items() if "TO_PASS" not in key}
    found = _rows(tmp_path, {**row, "fail_to_pass": "[]", "pass_to_pass": "['t']"})
    assert [(finding.level, finding.field) for finding in found] == [("error", "fail_to_pass")]
    assert _rows(tmp_path, row) == []


@pytest.mark.parametrize(
    ("patch", "level", "message"),
    [
        (None, "warning", "empty patch: unresolved without a sandbox"),
        ("  \n", "warning", "empty patch"),
        (["x"], "error", "model_patch: expected a string, got a list"),
        ("I fixed it!", "error", "no diff in it: it starts with b'I fixed it!'"),
        ("Here you are:\n" + _diff("x"), "warning", "text before the diff: b'Here you are:'"),
        ("```diff\n" + _diff("x") + "```\n", "warning", "code fences around the diff"),
        ("<patch>\n" + _diff("x") + "</patch>\n", "warning", "text before the diff: b'<patch>'"),
        (_diff("x").partition("\n")[2], "info", "no 'diff --git' lines"),
        (_diff("x").rstrip("\n"), "info", "no final newline: one is added"),
        (_diff("x", "+b\r\n"), "info", "1 lines end in CRLF"),
        (_diff("x").replace("@@ -1 +1 @@", "@@ -1,9 +1,9 @@"), "warning", "shorter than its header"),
        (_diff("tests/test_x.py"), "warning", "touches files that the test patch replaces: tests/test_x.py"),
        (_diff("tests/conftest.py"), "info", "touches tests: tests/conftest.py"),
        (_diff("src/foo.spec.ts"), "info", "touches tests: src/foo.spec.ts"),
        ("diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n", "warning", "no content"),
        (_diff("../x"), "warning", "outside the tree"),
    ],
)
def test_patches(tmp_path: Path, patch: object, level: str, message: str) -> None:
    found = _patch(tmp_path, patch)
    assert [pair for pair in found if pair[0] == level and message in pair[1]], found
    assert not [pair for pair in found if pair[0] in ("error", "warning") and message not in pair[1]]


def test_the_files_of_a_patch_are_listed(tmp_path: Path) -> None:
    assert _patch(tmp_path, "".join(_diff(f"f{n}") for n in range(12)))[0] == (
        "info",
        "touches f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 and 2 more",
    )


@pytest.mark.parametrize(
    ("instance_id", "level", "message"),
    [
        ("a__a-1 ", "error", "not in the data set: did you mean 'a__a-1'?"),
        ("A__A-1", "error", "not in the data set: did you mean 'a__a-1'?"),
        ("other__other-7", "warning", "not in the data set"),
    ],
)
def test_unknown_instances(tmp_path: Path, instance_id: str, level: str, message: str) -> None:
    found = _patch(tmp_path, _diff("x"), instance_id)
    assert (level, message) in found
    assert ("info", "1 of 1 rows have no prediction: a__a-1") in found


def test_many_unknown_instances_are_one_finding(tmp_path: Path) -> None:
    found = _preds(tmp_path, *({"instance_id": f"zz-{n}", "model_patch": ""} for n in range(9)))
    told = [finding.message for finding in found if "does not have" in finding.message]
    assert told == [
        "9 predictions are for instances that the data set does not have: zz-0, zz-1, zz-2, zz-3, zz-4, ..."
    ]


def test_lines_about_nobody_duplicates_and_what_was_assumed(tmp_path: Path) -> None:
    entry = {"instance_id": "a__a-1", "model_patch": _diff("x")}
    found = [(finding.level, finding.text) for finding in _preds(tmp_path, entry, "oops", entry)]
    assert [level for level, _ in found] == ["error", "info", "error"]
    assert f"{tmp_path / 'preds.jsonl'}:2: not JSON" in found[0][1]
    assert "without a model are called 'preds'" in found[1][1]
    assert "2 predictions of preds for a__a-1 (lines 1, 3)" in found[2][1]
