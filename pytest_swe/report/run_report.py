"""The run report in swebench's schema 2, one file per model: ``<model>.<run id>.json``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Line = Mapping[str, Any]

#: Reasons that swebench 5.0.2 calls ambiguous: environment or patch. The others of an error are infrastructure.
AMBIGUOUS = frozenset({"suite_did_not_run", "log_unparseable", "tests_timed_out"})


def run_report(lines: Iterable[Line], dataset_ids: Sequence[str], submitted_ids: Iterable[str]) -> dict[str, Any]:
    """One model's report. ``submitted_ids`` are its predictions; the rest of the data set is incomplete."""
    found = {str(line["instance_id"]): line for line in lines}
    submitted = sorted(set(submitted_ids))
    groups: dict[str, list[str]] = {
        "completed": [i for i, line in found.items() if _completed(line)],
        "incomplete": [i for i in dataset_ids if i not in set(submitted)],
        "empty_patch": [i for i, line in found.items() if line["reason"] == "empty_patch"],
        "submitted": submitted,
        "resolved": [i for i, line in found.items() if line["status"] == "resolved"],
        "unresolved": [i for i, line in found.items() if line["status"] == "unresolved" and _completed(line)],
        "infra_failure": [i for i, line in found.items() if _failed(line) and line["reason"] not in AMBIGUOUS],
        "ambiguous_failure": [i for i, line in found.items() if line["reason"] in AMBIGUOUS],
        "error": [i for i in submitted if i not in found or found[i]["status"] == "error"],
    }
    report: dict[str, Any] = {"total_instances": len(dataset_ids)}
    order = ("submitted", "completed", "resolved", "unresolved", "infra_failure", "ambiguous_failure", "empty_patch")
    report.update({f"{name}_instances": len(groups[name]) for name in (*order, "error")})
    report.update({f"{name}_ids": sorted(ids) for name, ids in groups.items()})
    report["failure_reasons"] = {
        i: str(found[i]["reason"]) for i in sorted({*groups["infra_failure"], *groups["ambiguous_failure"]})
    }
    report["schema_version"] = 2
    return report


def write_run_report(directory: Path, model_name: str, run_id: str, report: Mapping[str, Any]) -> Path:
    """Write a report where swebench would; returns its path. ``model_name``: the model as a safe file name."""
    path = directory / f"{model_name}.{run_id}.json"
    path.write_text(json.dumps(report, indent=4) + "\n", encoding="utf-8")
    return path


def _completed(line: Line) -> bool:
    return line["status"] in ("resolved", "unresolved") and line["reason"] not in ("empty_patch", "missing_prediction")


def _failed(line: Line) -> bool:
    return bool(line["status"] == "error")
