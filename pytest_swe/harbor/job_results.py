"""The results of a whole job in Harbor's layout: its ``result.json``, with counts, means and lists of trials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_swe.harbor.results import Span, TrialRecord, read_document, span_of, table_of, write_json
from pytest_swe.model import JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCounts:
    """What a job's file says of it, from any version; trials with an error, and those that were to be."""

    total: int = 0
    completed: int = 0
    errored: int = 0
    span: Span = field(default_factory=Span)
    evals: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


def write_job(
    job: Path, job_id: str, span: Span, planned: int, trials: Sequence[TrialRecord], *, retries: int = 0
) -> None:
    """``config.json`` and ``result.json`` of a job, beside the directories of its trials. Raises OSError."""
    job.mkdir(parents=True, exist_ok=True)
    datasets: list[JSON] = [{"path": name} for name in dict.fromkeys(trial.source for trial in trials) if name]
    write_json(job / "config.json", {"job_name": job.name, "datasets": datasets})
    write_json(job / "result.json", job_json(job_id, span, planned, trials, retries=retries))


def job_json(
    job_id: str, span: Span, planned: int, trials: Sequence[TrialRecord], *, retries: int = 0
) -> dict[str, JSON]:
    """As Harbor 0.25.0 writes it, but a step's exception counts as one of its trial."""
    groups: dict[str, list[TrialRecord]] = {}
    for trial in trials:
        parts = (trial.agent, trial.model, trial.source or "adhoc")
        groups.setdefault("__".join(part for part in parts if part), []).append(trial)
    tokens: dict[str, JSON] = {}
    for name in ("n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd"):
        found = [trial.usage[name] for trial in trials if name in trial.usage]
        tokens[name] = sum(found) if found else None
    return {
        "id": job_id,
        "started_at": span.started_at or None,
        "updated_at": span.finished_at or span.started_at or None,
        "finished_at": span.finished_at or None,
        "n_total_trials": planned,
        "stats": {
            "n_completed_trials": len(trials),
            "n_errored_trials": sum(trial.first_problem is not None for trial in trials),
            "n_running_trials": 0,
            "n_pending_trials": planned - len(trials),
            "n_cancelled_trials": 0,
            "n_retries": retries,
            "evals": {name: _eval(group) for name, group in groups.items()},
            **tokens,
        },
    }


def _eval(trials: Sequence[TrialRecord]) -> JSON:
    rewarded = [trial for trial in trials if trial.rewards is not None]
    rewards: dict[str, JSON] = {}
    for key in dict.fromkeys(key for trial in rewarded for key in trial.rewards or {}):
        by_value: dict[str, JSON] = {}
        for trial in rewarded:
            if key in (trial.rewards or {}):
                names = by_value.setdefault(str((trial.rewards or {})[key]), [])
                assert isinstance(names, list)
                names.append(trial.trial)
        rewards[key] = by_value
    return {
        "n_trials": len(rewarded),
        "n_errors": sum(trial.first_problem is not None for trial in trials),
        "metrics": [_means(trials)],
        "pass_at_k": {},
        "reward_stats": rewards,
        "exception_stats": _problems(trials),
    }


def _means(trials: Sequence[TrialRecord]) -> dict[str, JSON]:
    """Over all trials, one without a reward as 0; with one key in all it is called ``mean``."""
    keys = list(dict.fromkeys(key for trial in trials for key in trial.rewards or {}))
    means = {key: sum((trial.rewards or {}).get(key, 0) for trial in trials) / len(trials) for key in keys}
    if len(keys) > 1:
        return dict(means)
    return {"mean": means[keys[0]] if keys else 0.0}


def _problems(trials: Iterable[TrialRecord]) -> dict[str, JSON]:
    found: dict[str, list[JSON]] = {}
    for trial in trials:
        if trial.first_problem is not None:
            found.setdefault(trial.first_problem.name, []).append(trial.trial)
    return dict(found)


def read_job(path: Path) -> JobCounts:
    """A job from its ``result.json`` (or its directory), of any version. Raises ValueError naming the file, OSError."""
    document = read_document(path)
    stats = table_of(document, "stats")
    evals = table_of(stats, "evals")
    return JobCounts(
        total=_count(document, "n_total_trials"),
        completed=_count(stats, "n_completed_trials", "n_trials"),
        errored=_count(stats, "n_errored_trials", "n_errors"),
        span=span_of(document),
        evals={name: dict(value) for name, value in evals.items() if isinstance(value, Mapping)},
    )


def _count(document: Mapping[str, object], *names: str) -> int:
    return next((value for name in names if isinstance(value := document.get(name), int)), 0)
