"""From the steps of a trial to a verdict."""

from __future__ import annotations

import pytest

from pytest_swe.agent.base import AgentRun
from pytest_swe.trial.setting import StepDone
from pytest_swe.trial.verdict import number_of, verdict_of


def step(rewards: dict[str, float] | None, **more: object) -> StepDone:
    return StepDone(name="s", rewards=rewards, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rewards", "status", "reason"),
    [
        ({"reward": 1.0}, "resolved", ""),
        ({"reward": 2}, "resolved", ""),
        ({"reward": 0.99}, "unresolved", "reward_below"),
        ({"reward": -3.0}, "unresolved", "reward_below"),
        ({"a": 1.0, "b": 0.5}, "unresolved", "reward_below"),
        ({"a": 1.0, "b": 1.0}, "resolved", ""),
        ({}, "error", "verifier_failed"),
    ],
)
def test_what_rewards_are_worth(rewards: dict[str, float], status: str, reason: str) -> None:
    verdict = verdict_of([step(rewards)], rewards)
    assert (verdict.status, verdict.reason or "") == (status, reason)


def test_a_step_without_a_reward_is_never_a_zero() -> None:
    done = [step({"reward": 1.0}), step(None, exception=("RewardFileNotFoundError", "nothing was written"))]
    verdict = verdict_of(done, {"reward": 1.0})
    assert (verdict.status, verdict.reason) == ("error", "verifier_failed")
    assert "RewardFileNotFoundError" in verdict.detail


def test_a_container_that_is_not_healthy_is_the_environments() -> None:
    verdict = verdict_of([step(None, exception=("HealthcheckError", "no"))], None)
    assert (verdict.status, verdict.reason) == ("error", "sandbox_start_failed")


def test_a_gate_that_was_not_reached_is_no_solution_whatever_the_number() -> None:
    verdict = verdict_of([step({"reward": 1.0}, gate="min_reward asks for 2", ends=True)], {"reward": 1.0})
    assert (verdict.status, verdict.reason) == ("unresolved", "reward_below")


def test_an_agent_out_of_time_is_told_when_it_did_not_solve_the_task() -> None:
    run = AgentRun(exit_code=None, timed_out=True)
    assert verdict_of([step({"reward": 0.0}, agent=run)], {"reward": 0.0}).reason == "agent_timed_out"
    assert verdict_of([step({"reward": 1.0}, agent=run)], {"reward": 1.0}).status == "resolved"


def test_the_number_of_several_is_reward_or_the_least() -> None:
    assert number_of({"a": 3.0, "reward": 0.5}) == 0.5
    assert number_of({"a": 3.0, "b": 0.25}) == 0.25
    assert number_of({}) is None
