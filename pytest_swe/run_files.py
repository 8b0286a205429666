"""``run.json``: what a run was, so that its numbers can be judged and its logs graded again."""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pytest_swe.leftovers import record
from pytest_swe.masking import without_secret
from pytest_swe.remarks import remarks
from pytest_swe.rewards_file import RewardsFile
from pytest_swe.run import Run
from pytest_swe.settings import Settings
from pytest_swe.whole import write_whole

PACKAGES = ("pytest-swe", "pytest", "pytest-xdist", "swebench", "docker")


def run_json(run: Run, rewards: RewardsFile) -> dict[str, Any]:
    """Versions, options, data sets and their digests, the provider, and what did not run."""
    return {
        "schema": 1,
        "run_id": run.run_id,
        "part": record(run),
        "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "host": {"machine": platform.machine(), "system": platform.platform(), "cpus": os.cpu_count()},
        "options": _options(run.settings),
        "provider": run.settings.provider,
        "rewards": str(run.rewards_path),
        "datasets": [
            {
                "name": plan.dataset.name,
                "path": str(path),
                "digest": plan.dataset.digest,
                "rows": len(plan.dataset.refs),
            }
            for path, plan in run.plans.items()
        ],
        "networks": dict(Counter(line["network"] for line in rewards.lines if line.get("network"))),
        "user_models": sorted({user for line in rewards.lines if (user := _user_model(line)) is not None}),
        "remarks": remarks(run),
        "expected": len(rewards.expected),
        "written": len(rewards.lines),
        "did_not_run": [planned.name for planned in rewards.missing],
    }


def swebench_run_json(run: Run) -> dict[str, Any]:
    """swebench's own record of a run, which its re-grading looks for beside the logs."""
    dataset = next(iter(run.plans.values())).dataset
    return {
        "dataset": str(dataset.path),
        "split": run.settings.split or "test",
        "task_repo": str(dataset.root) if dataset.root else None,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def link_for_swebench(run: Run) -> None:
    """Let swebench's tools read the logs from the run's directory: they look in ``logs/run_evaluation/<run id>``.

    A link per model: one to all of ``logs`` would lead into itself, and whoever walks the tree with it.
    """
    logs = run.directory / "logs"
    if not logs.is_dir():
        return
    place = logs / "run_evaluation" / run.run_id
    place.mkdir(parents=True, exist_ok=True)
    write_json(place / "run.json", swebench_run_json(run))
    for model in {run.model_name(planned.model) for plan in run.plans.values() for planned in plan.items}:
        link = place / model
        if (logs / model).is_dir() and not link.is_symlink():
            link.symlink_to(f"../../{model}", target_is_directory=True)


def versions() -> dict[str, str]:
    """Versions of what a verdict depends on."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write it whole or not at all."""
    write_whole(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _user_model(line: Mapping[str, Any]) -> str | None:
    """The model that played the user of an item's task; None where nobody did."""
    user = (line.get("agent") or {}).get("user")
    return str(user["model"]) if user else None


def _options(settings: Settings) -> dict[str, Any]:
    """What was asked for, without what names of arguments and variables say to be secrets."""
    found = {key: _plain(value) for key, value in asdict(settings).items()}
    found["agent_args"] = [without_secret(text) for text in settings.agent_args]
    found["compose_vars"] = [
        text if text.partition("=")[2].startswith(("env:", "model:")) else without_secret(text)  # no value stands there
        for text in settings.compose_vars
    ]
    return found


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Path) else value
