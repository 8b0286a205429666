"""--swe-check: everything that can be known without an engine, and nothing runs."""

from __future__ import annotations

import json

from .conftest import Project


def test_a_sound_data_set_and_its_predictions(project: Project) -> None:
    data = project.rows({"a-1": "resolved", "b-1": "resolved"})
    result = project.run(data, "--swe-preds", "gold", "--swe-check", provider="docker")
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["checked 2 rows: *"])
    assert project.started == []
    assert not (project.path / "rewards.jsonl").exists()
    assert not (project.path / "swe-results").exists()


def test_every_fault_is_one_line_with_its_place(project: Project) -> None:
    data = project.lines(
        [
            json.dumps({"instance_id": "a-1", "play": "resolved"}),
            "{torn",
            json.dumps({"instance_id": "b-1", "play": "row_invalid"}),
        ]
    )
    preds = project.preds({"a-1": "diff --git a/x b/x\nBinary files a/x and b/x differ\n", "A-1": "p\n"})
    result = project.run(data, "--swe-preds", preds, "--swe-check", "-n2")
    result.stdout.fnmatch_lines(
        [
            "error: *toy.jsonl:2: *not JSON*",
            "error: *toy.jsonl:3: b-1: play: expected a game*",
            "error: *preds.jsonl:2: A-1: not in the data set: did you mean 'a-1'?",
        ]
    )
    assert result.ret == 1
    assert project.started == []
