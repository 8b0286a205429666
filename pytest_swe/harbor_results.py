"""The trials of a run in Harbor's layout of a job, for its viewers and readers (``--swe-harbor-results``).

Written once, at the end of the run, from its reward lines and the files that its trials left.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pytest_swe import registry
from pytest_swe.agents import CONTROLS
from pytest_swe.dataset.harbor_tasks import FAMILY
from pytest_swe.errors import RowInvalid
from pytest_swe.harbor.job_results import write_job
from pytest_swe.harbor.results import Raised, Span, StepRecord, TrialRecord, trial_name, write_trial
from pytest_swe.harbor.task import load_task
from pytest_swe.planning import Planned
from pytest_swe.report.keeping import WRITTEN
from pytest_swe.run import Run

#: Ours -> Harbor's.
_USAGE = {
    "input_tokens": "n_input_tokens",
    "cached_tokens": "n_cache_tokens",
    "output_tokens": "n_output_tokens",
    "cost_usd": "cost_usd",
}
#: What Harbor calls an error that is no step's.
_UNNAMED = "RuntimeError"

Line = Mapping[str, Any]


def write_harbor_results(run: Run, lines: Iterable[Line], expected: Iterable[Planned], above: Path) -> Path | None:
    """Write the trials among ``lines`` below ``above``; returns the job's directory, None without any. Raises OSError.

    An item that ended as an error is an errored trial, also one whose task could not be used, which Harbor leaves out:
    a mean over fewer tasks is another mean. What was skipped has no trial.
    """
    count = sum(planned.ref.family == FAMILY for planned in expected)
    job = above / run.run_id
    planned = {
        (plan.dataset.name, item.ref.line, item.model, item.repeat): item
        for plan in run.plans.values()
        for item in plan.items
        if item.ref.family == FAMILY
    }
    agents, trials, retries = _agents(run), [], 0
    for line in lines:
        found = planned.get((line["dataset"], line["line"], line["model"], line["repeat"]))
        # A task that could not be used has no family on its line.
        if found is not None and line["family"] in (FAMILY, "") and line["status"] != "skipped":
            trials.append(record(line, found, agents.get(found.model, ("", ""))))
            retries += len(line["attempts"]) + line["reruns"]
            place = write_trial(job, trials[-1])
            if line["logs"]:
                _copy(run.directory / line["logs"], place)
    if not count:
        return None
    begin = min((trial.span.started_at for trial in trials), default="")
    end = max((trial.span.finished_at for trial in trials), default="")
    job_id = str(uuid.uuid5(uuid.NAMESPACE_URL, run.run_id))
    write_job(job, job_id, Span(begin, end), count, trials, retries=retries)
    return job


def _agents(run: Run) -> dict[str, tuple[str, str]]:
    """Agent and model of each column, for lines that never came to them."""
    return {
        column: (registry.agent(CONTROLS.get(source.name) or source.name.removeprefix("agent:")).name, source.model)
        for source in run.sources()
        if source.agent or source.name in CONTROLS
        for column in source.models
    }


def record(line: Line, planned: Planned, column: tuple[str, str] = ("", "")) -> TrialRecord:
    """One line as Harbor has it. ``column``: agent and model, where the line does not name them."""
    steps = tuple(_step(step) for step in line["steps"] or ())
    agent = line["agent"] or dict(zip(("name", "model"), column, strict=True))
    is_single = len(steps) == 1 and not steps[0].name
    begun = "acquire" in line["phases_ms"]
    raised = steps[0].raised if is_single else None
    if raised is None and line["status"] == "error" and not any(step.raised for step in steps):
        raised = Raised(_UNNAMED, line["detail"] or line["reason"])
    name, mode = _of_task(planned)
    directory = planned.instance_id if planned.ref.problem else Path(planned.ref.data).name
    return TrialRecord(
        task=name,
        trial=trial_name(directory, _token(line)),
        id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{line['run_id']} {_token(line)}")),
        task_path=planned.ref.data,
        checksum=planned.ref.digest.removeprefix("sha256:"),
        source=line["dataset"],
        agent=agent.get("name") or "",
        model=agent.get("model") or "",
        rewards=line["rewards"],
        raised=raised,
        verifier_mode=mode,
        usage=_usage(line),
        span=_span(line),
        spans={**(steps[0].spans if is_single else {}), **({"environment_setup": _setup(line)} if begun else {})},
        steps=() if is_single else steps,
    )


def _step(step: Line) -> StepRecord:
    exception = step["exception"]
    return StepRecord(
        name=step["name"],
        rewards=step["rewards"],
        raised=Raised(exception["type"], exception["message"]) if exception else None,
        spans={name: Span(span["started_at"], span["finished_at"]) for name, span in step["spans"].items()},
    )


def _of_task(planned: Planned) -> tuple[str, str]:
    """Its name, and where its verifier runs."""
    try:
        task = load_task(Path(planned.ref.data))
    except RowInvalid:  # it is another one by now
        return planned.instance_id, ""
    return task.name, task.steps[0].settings.verifier_mode


def _token(line: Line) -> str:
    """Letters and digits that no other trial of the run has, the same when it is resumed."""
    key = f"{line['dataset']}\n{line['line']}\n{line['model']}\n{line['repeat']}"
    return base64.b32encode(hashlib.blake2b(key.encode(), digest_size=8).digest()).decode()[:7]


def _usage(line: Line) -> dict[str, float]:
    """Nothing for an agent that asked no model."""
    usage = line["usage"] or {}
    if not any(usage.values()):
        return {}
    return {theirs: usage[ours] for ours, theirs in _USAGE.items() if usage.get(ours) is not None}


def _span(line: Line) -> Span:
    return Span(line["started_at"], _later(line["started_at"], line["seconds"]))


def _setup(line: Line) -> Span:
    seconds = sum(line["phases_ms"].get(name, 0.0) for name in ("queue", "acquire")) / 1000
    return Span(line["started_at"], _later(line["started_at"], seconds))


def _later(started_at: str, seconds: float) -> str:
    begin = datetime.fromisoformat(started_at).astimezone(UTC)
    return (begin + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def _copy(logs: Path, place: Path) -> None:
    for name in _written(logs):
        shutil.copytree(logs / name, place / name, dirs_exist_ok=True)


def _written(logs: Path) -> Iterator[str]:
    yield from (name for name in WRITTEN if (logs / name).is_dir())
