"""Predictions that no item came of are told, never silent; a bad one costs only itself."""

from __future__ import annotations

import json

import pytest

from .conftest import SHAPES, Project


@pytest.mark.parametrize("shape", SHAPES[:2], ids=" ".join)
def test_what_is_wrong_is_told_and_the_rest_runs(project: Project, shape: tuple[str, ...]) -> None:
    data = project.rows({"a-1": "resolved", "b-1": "resolved", "c-1": "resolved"})

    def line(name: str, patch: object) -> str:
        return json.dumps({"instance_id": name, "model_name_or_path": "m", "model_patch": patch})

    lines = [line("a-1", "p\n"), "[1, 2]", line("A-1", "p\n"), line("b-1", {"no": "string"}), line("c-1 ", "p\n")]
    result = project.run(data, "--swe-preds", project.lines(lines, "preds.jsonl"), *shape)
    assert project.statuses == {
        "a-1": ("resolved", ""),
        "b-1": ("error", "prediction_invalid"),
        "c-1": ("skipped", "missing_prediction"),
    }
    result.stdout.fnmatch_lines(
        [
            "*preds.jsonl:2: *",
            "*line 3: 'A-1' is not in the data set: did you mean 'a-1'?",
            "*'c-1 '*did you mean 'c-1'?",
        ]
    )
    assert "preds.jsonl:4" in next(r for r in project.rewards if r["instance_id"] == "b-1")["detail"]


def test_a_model_called_as_a_control_beside_it_is_refused(project: Project) -> None:
    """Merged, the two would be repeats of one model, with a rate that is neither's."""
    data = project.rows({"a-1": "resolved"})
    preds = project.lines(
        [json.dumps({"instance_id": "a-1", "model_name_or_path": "gold", "model_patch": "p\n"})], "preds.jsonl"
    )
    refused = project.run(data, "--swe-preds", f"gold,{preds}", "-n0")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*preds.jsonl: a model is called 'gold', as what is evaluated beside it*"])
    assert project.run(data, "--swe-preds", preds, "-n0").ret == 0
