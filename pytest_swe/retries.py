"""What follows an attempt that gave no verdict: the one table of reasons. Pure.

retries   the environment's: again in a fresh sandbox, up to ``--swe-retries`` times, waiting longer each time
once      what a candidate can bring about as well: once more, then the control (the unpatched tree) decides
never     another attempt cannot say anything else
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_swe.model import Reason
from pytest_swe.reward import Verdict


@dataclass(frozen=True, slots=True)
class Rule:
    """How often an attempt that ended like this is followed by another, and the seconds before the first of them."""

    times: Literal["retries", "once", "never"]
    wait: float = 0.0


_NEVER = Rule("never")

#: Reasons of status ``error``; one that is not here is never tried again. An image and an asset have retries of their
#: own, where what the registry or server said is known.
RULES: Mapping[Reason, Rule] = {
    Reason.ENGINE_UNAVAILABLE: Rule("retries", 2.0),
    Reason.SANDBOX_START_FAILED: Rule("retries", 1.0),
    Reason.SANDBOX_REMOVED: Rule("retries", 0.5),
    Reason.AGENT_SETUP_FAILED: Rule("retries", 1.0),
    Reason.MODEL_UNAVAILABLE: Rule("retries", 5.0),
    Reason.MODEL_FAILED: Rule("once", 5.0),
    Reason.VERIFIER_FAILED: Rule("once"),
    Reason.NOT_REMOVED: Rule("once"),
    Reason.DEADLINE: Rule("once"),
    Reason.SANDBOX_LOST: Rule("once", 0.5),
    Reason.OUT_OF_MEMORY: Rule("once"),
    Reason.DISK_FULL: Rule("once", 1.0),
    Reason.SUITE_DID_NOT_RUN: Rule("once"),
    Reason.LOG_UNPARSEABLE: Rule("once"),
    Reason.TEST_PATCH_FAILED: Rule("once"),
    Reason.NETWORK_NEEDED: Rule("once"),
}


def seconds_before_next(done: Sequence[Verdict], retries: int) -> float | None:
    """How long to wait before one more attempt after those in ``done``; None when there is to be none."""
    rule = _rule(done[-1])
    alike = sum(_rule(verdict).times == rule.times for verdict in done)
    if rule.times == "never" or alike > (1 if rule.times == "once" else retries):
        return None
    wait: float = rule.wait * 2 ** (alike - 1)
    return wait


def control_decides(last: Verdict) -> bool:
    """Whether the candidate may have brought this about, so that the control is to say whose fault it is."""
    return _rule(last).times == "once"


def _rule(verdict: Verdict) -> Rule:
    if verdict.status != "error" or verdict.reason is None:
        return _NEVER
    return RULES.get(verdict.reason, _NEVER)
