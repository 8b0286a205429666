"""From the steps of a trial to its verdict. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_swe.harbor.steps import Rewards, main_reward
from pytest_swe.model import Reason
from pytest_swe.reward import Verdict
from pytest_swe.trial.setting import StepDone

#: From this on a task counts as solved.
FULL = 1.0

#: What Harbor calls failures before an agent worked: nobody's work was measured. A step after another one may have been
#: spoilt by the agent of that; then it is as with a verifier that fails.
_BEFORE: Mapping[str, Reason] = {
    "HealthcheckError": Reason.SANDBOX_START_FAILED,
    "RuntimeError": Reason.SANDBOX_START_FAILED,
    "FileNotFoundError": Reason.ROW_INVALID,
}


def verdict_of(steps: Sequence[StepDone], rewards: Rewards | None) -> Verdict:
    """What the steps say. A trial of which any step could not be judged has no verdict; it is never a 0."""
    broken = next((step for step in steps if step.rewards is None), None)
    if broken is not None:
        name, text = broken.exception
        where = f"step {broken.name}: " if broken.name else ""
        reason = Reason.VERIFIER_FAILED if broken.spoilt else _BEFORE.get(name, Reason.VERIFIER_FAILED)
        said = f"; {broken.note}" if broken.note else ""
        return Verdict("error", reason, f"{where}{name}: {text}{said}")
    gate = next((step for step in steps if step.gate), None)
    value = number_of(rewards or {})
    if value is None:
        return Verdict("error", Reason.VERIFIER_FAILED, "the verifier gave no number: the rewards are empty")
    if gate is None and value >= FULL:
        return Verdict("resolved")
    if any(step.agent is not None and step.agent.timed_out for step in steps):
        return Verdict("unresolved", Reason.AGENT_TIMED_OUT, _below(value))
    said = f"step {gate.name}: {gate.gate}" if gate else _below(value)
    return Verdict("unresolved", Reason.REWARD_BELOW, said)


def number_of(rewards: Rewards) -> float | None:
    """The number that stands for all: ``reward``, else the least of them."""
    found = main_reward(rewards)
    return found if found is not None else min((float(value) for value in rewards.values()), default=None)


def _below(value: float) -> str:
    return f"reward {value:g}, and {FULL:g} is a solution"
