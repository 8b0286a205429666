"""Counts and rates of a run, from its reward lines. Pure.

The rate is resolved / expected: errors, skipped and missing items count as not resolved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_swe.report.pass_at_k import PassAtK, pass_at_k
from pytest_swe.report.wilson import wilson

Line = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary:
    """One model's counts. ``low`` and ``high``: Wilson's 95 % interval of the rate, over the instances.

    ``flaky``: instances whose repeats were measured and do not agree. An agent's attempts may differ.
    """

    model: str
    expected: int
    resolved: int = 0
    unresolved: int = 0
    error: int = 0
    skipped: int = 0
    missing: int = 0
    rate: float = 0.0
    low: float = 0.0
    high: float = 0.0
    of_measured: float | None = None
    mean_reward: float | None = None
    mask_fraction: float = 0.0
    reasons: Mapping[str, int] = field(default_factory=dict)
    repos: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    flaky: tuple[str, ...] = ()
    pass_at: tuple[PassAtK, ...] = ()


def summarise(lines: Iterable[Line], expected: Mapping[str, int]) -> list[ModelSummary]:
    """One summary per model; ``expected`` counts the items of each model that should have a line."""
    by_model: dict[str, list[Line]] = {model: [] for model in expected}
    for line in lines:
        by_model.setdefault(str(line["model"]), []).append(line)
    return [_summary(model, found, expected.get(model, len(found))) for model, found in by_model.items()]


def _summary(model: str, lines: Sequence[Line], expected: int) -> ModelSummary:
    count = Counter(str(line["status"]) for line in lines)
    measured = [float(line["reward"]) for line in lines if line["reward"] is not None]
    resolved = count["resolved"]
    rate = resolved / expected if expected else 0.0
    repeats = 1 + max((int(line.get("repeat") or 0) for line in lines), default=0)
    low, high = wilson(
        rate, max(1, expected // repeats) if expected else 0
    )  # repeats of one instance are not independent
    reasons = Counter(str(line["reason"]) for line in lines if line["reason"] and line["status"] != "resolved")
    return ModelSummary(
        model=model,
        expected=expected,
        resolved=resolved,
        unresolved=count["unresolved"],
        error=count["error"],
        skipped=count["skipped"],
        missing=max(0, expected - len(lines)),
        rate=rate,
        low=low,
        high=high,
        of_measured=resolved / len(measured) if measured else None,
        mean_reward=sum(measured) / len(measured) if measured else None,
        mask_fraction=(expected - len(measured)) / expected if expected else 0.0,
        reasons=dict(reasons.most_common()),
        repos=_repos(lines),
        flaky=_flaky(lines),
        pass_at=tuple(pass_at_k(lines)),
    )


def _flaky(lines: Iterable[Line]) -> tuple[str, ...]:
    found: dict[tuple[str, str], set[str]] = {}
    for line in lines:
        if line["status"] in ("resolved", "unresolved") and not line.get("agent"):
            found.setdefault((str(line.get("dataset")), str(line["instance_id"])), set()).add(str(line["status"]))
    return tuple(instance for (_, instance), statuses in found.items() if len(statuses) > 1)


def _repos(lines: Iterable[Line]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for line in lines:
        resolved, total = found.get(str(line["repo"]), (0, 0))
        found[str(line["repo"])] = (resolved + (line["status"] == "resolved"), total + 1)
    return dict(sorted(found.items()))


def as_json(summaries: Iterable[ModelSummary]) -> dict[str, Any]:
    """The content of summary.json."""
    return {"schema": 1, "models": [asdict(summary) for summary in summaries]}
