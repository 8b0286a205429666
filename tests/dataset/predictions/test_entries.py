"""One prediction, and one rule for each oddity of it: its patch, its id, its model."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from pytest_swe.errors import PredictionInvalid

from .prediction_files import ENTRIES, PATCH, jsonl, one, read


@pytest.mark.parametrize("patch", [None, "", " ", "\n", "\r\n\t ", float("nan")])
def test_null_empty_and_blank_are_empty(tmp_path: Path, patch: object) -> None:
    found = one(tmp_path, patch)
    assert [ref.kind for ref in found.refs] == ["empty"]
    assert found.patch(found.refs[0]) == b""


@pytest.mark.parametrize(
    ("patch", "kind"),
    [([], "a list"), ({"patch": "x"}, "an object"), (5, "a number"), (True, "a boolean"), (["x"], "a list")],
)
def test_a_patch_that_is_no_text_is_bad(tmp_path: Path, patch: object, kind: str) -> None:
    found = one(tmp_path, patch)
    assert [(ref.instance_id, ref.kind) for ref in found.refs] == [("a-1", "bad")]
    assert found.refs[0].problem == f"{found.path}:1: model_patch: expected a string, got {kind}"
    with pytest.raises(PredictionInvalid, match="expected a string"):
        found.patch(found.refs[0])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"oops", "not JSON: "),
        (b"{", "not JSON: "),
        (b"[1]", "expected an object, got a list"),
        (b"null", "expected an object, got null"),
        (b'{"model_patch": "x"}', "instance_id: expected a string, the row has none (its keys: model_patch)"),
        (b'{"instance_id": null, "model_patch": "x"}', "instance_id: expected a string, got null"),
        (b'{"instance_id": "", "model_patch": "x"}', "instance_id: expected a name, got a blank string"),
        (b'{"instance_id": "a\\n", "model_patch": "x"}', "control or invisible"),
        (b'{"a": ' * 5000, "nested too deeply"),
        (b"\xfe", "not JSON: "),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_line_about_nobody_is_a_problem_and_costs_no_other(
    tmp_path: Path, line: bytes, problem: str, place: int
) -> None:
    lines = jsonl(ENTRIES).splitlines()
    lines.insert(place, line)
    found = read(tmp_path, b"\n".join(lines))
    assert [ref.instance_id for ref in found.refs] == ["a-1", "a-2", "a-3"]
    assert {ref.model for ref in found.refs} == {"m/1"}
    assert len(found.problems) == 1
    assert found.problems[0].startswith(f"{found.path}:{place + 1}: ")
    assert problem in found.problems[0]
    assert "\n" not in found.problems[0]


def test_a_torn_line_costs_its_instance_only(tmp_path: Path) -> None:
    found = read(tmp_path, jsonl(ENTRIES) + b'{"instance_id": "a-4", "model_name_or_path": "m/1", "model_patch": "di')
    assert [(ref.instance_id, ref.model, ref.kind) for ref in found.refs[3:]] == [("a-4", "m/1", "bad")]
    found = read(tmp_path, jsonl(ENTRIES) + b'{"instance_id": "a-4", "model_na')
    assert [(ref.instance_id, ref.model, ref.kind) for ref in found.refs[3:]] == [("a-4", "m/1", "bad")]


def test_a_prediction_without_a_patch_is_bad(tmp_path: Path) -> None:
    found = read(tmp_path, b'{"instance_id": "a-1", "prediction": "x"}\n{"instance_id": "a-2", "model_patch": "x"}\n')
    assert [ref.kind for ref in found.refs] == ["bad", "patch"]
    assert "model_patch: expected a string, the entry has none (its keys: instance_id, prediction)" in (
        found.refs[0].problem
    )


def test_patch_stands_in_for_model_patch_but_a_reference_fix_never_does(tmp_path: Path) -> None:
    entry = {"instance_id": "a-1", "patch": PATCH}
    found = read(tmp_path, jsonl([entry, {**entry, "instance_id": "a-2", "base_commit": "0"}]))
    assert [ref.kind for ref in found.refs] == ["patch", "bad"]
    assert found.patch(found.refs[0]) == PATCH.encode()
    assert "--swe-preds gold" in found.refs[1].problem
    found = read(tmp_path, jsonl([{**entry, "model_patch": "mine", "base_commit": "0"}]))
    assert found.patch(found.refs[0]) == b"mine"


@pytest.mark.parametrize("model", [None, "", " ", 5])
def test_a_missing_model_is_the_file_and_noted(tmp_path: Path, model: object) -> None:
    entry = {"instance_id": "a-1", "model_patch": "x", "model_name_or_path": model}
    found = read(tmp_path, gzip.compress(jsonl([entry, {**ENTRIES[1]}])), "gpt.v2.jsonl.gz")
    assert [ref.model for ref in found.refs] == ["gpt.v2", "m/1"]
    assert found.notes == (f"{found.path}: 1 predictions without a model are called 'gpt.v2'",)


def test_a_model_that_cannot_travel_is_made_to(tmp_path: Path) -> None:
    content = rb'{"instance_id": "a-1", "model_name_or_path": "m\ud800\n[1m]", "model_patch": "x"}' + b"\n"
    assert [ref.model for ref in read(tmp_path, content).refs] == ["m__[1m]"]
