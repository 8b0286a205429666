"""pass@k: how likely one of k attempts resolves an instance, estimated without bias from n of them. Pure.

The estimator is that of https://arxiv.org/abs/2107.03374: 1 - C(n-c, k) / C(n, k) of each instance, and their mean.
Unlike elsewhere k = 1 is told too, and attempts that were not measured count as not resolved, as they do in the rate.

The interval is Wilson's, of the mean over as many instances. The estimates lie between 0 and 1, so their variance is at
most that of a proportion: it is never too narrow, and claims no certainty where all instances happen to agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_swe.report.wilson import wilson


@dataclass(frozen=True, slots=True)
class PassAtK:
    """``rate`` with its 95 % interval over ``instances``: how far another set of as many could be from it."""

    k: int
    rate: float
    low: float
    high: float
    instances: int


def pass_at_k(lines: Iterable[Mapping[str, Any]]) -> list[PassAtK]:
    """For k = 1, 2, 4, ... up to the fewest attempts of an instance; empty when each had one."""
    attempts: dict[tuple[str, str], list[bool]] = {}
    for line in lines:
        key = str(line.get("dataset")), str(line["instance_id"])
        attempts.setdefault(key, []).append(line["status"] == "resolved")
    fewest = min((len(found) for found in attempts.values()), default=0)
    if fewest < 2:
        return []
    counted = [(len(found), sum(found)) for found in attempts.values()]
    return [_of(k, [estimate(n, c, k) for n, c in counted]) for k in _ks(fewest)]


def estimate(attempts: int, resolved: int, k: int) -> float:
    """Of one instance: the chance that k of its attempts, drawn without putting back, hold one that resolved."""
    return 1.0 - math.comb(attempts - resolved, k) / math.comb(attempts, k)


def _ks(most: int) -> list[int]:
    powers = [2**power for power in range(most.bit_length()) if 2**power <= most]
    return powers if powers[-1] == most else [*powers, most]


def _of(k: int, estimates: list[float]) -> PassAtK:
    mean = sum(estimates) / len(estimates)
    low, high = wilson(mean, len(estimates))
    return PassAtK(k, mean, low, high, len(estimates))
