"""Limits: the base, the maximum, and each multiplied exactly once, whether a step's own or inherited."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_swe.harbor.limits import UNLIMITED_SECONDS, LimitOptions, limits_of
from pytest_swe.harbor.schema import TaskConfig

seconds = st.none() | st.floats(0.5, 10_000)


def config(task: dict[str, object], steps: list[dict[str, object]] | None = None) -> TaskConfig:
    return TaskConfig.model_validate({**task, "steps": steps or []})


def given_seconds(value: float | None) -> dict[str, float]:
    return {} if value is None else {"timeout_sec": value}


@settings(deadline=None)
@given(
    task=st.tuples(seconds, seconds),
    steps=st.lists(st.tuples(seconds, seconds), max_size=4),
    build=st.floats(0.5, 10_000),
)
def test_a_multiplier_of_two_doubles_every_limit_once(
    task: tuple[float | None, float | None], steps: list[tuple[float | None, float | None]], build: float
) -> None:
    """Explicit, inherited and mixed: step, else task, else Harbor's default; then times two."""
    found = config(
        {
            "agent": given_seconds(task[0]),
            "verifier": given_seconds(task[1]),
            "environment": {"build_timeout_sec": build},
        },
        [
            {"name": f"s{number}", "agent": given_seconds(agent), "verifier": given_seconds(verifier)}
            for number, (agent, verifier) in enumerate(steps)
        ],
    )
    limits = limits_of(found, LimitOptions(multiplier=2))
    assert limits.build == build * 2
    assert limits.agent_setup == 720
    for step, (agent, verifier) in zip(limits.steps, steps or [(None, None)], strict=True):
        written = agent if agent is not None else task[0]
        assert step.agent == (None if written is None else written * 2)
        assert step.verifier == 2 * next(s for s in (verifier, task[1], 600.0) if s is not None)


@pytest.mark.parametrize(
    ("options", "agent", "verifier"),
    [
        (LimitOptions(), 100, 50),
        (LimitOptions(multiplier=3), 300, 150),
        (LimitOptions(multiplier=3, multipliers={"verifier": 0.5}), 300, 25),
        (LimitOptions(maxima={"agent": 40}, multiplier=2), 80, 100),
        (LimitOptions(bases={"agent": 7, "verifier": 8}), 7, 8),
        (LimitOptions(bases={"agent": 7}, maxima={"agent": 5}, multiplier=2), 10, 100),
    ],
)
def test_what_the_user_says(options: LimitOptions, agent: float, verifier: float) -> None:
    limits = limits_of(config({"agent": given_seconds(100), "verifier": given_seconds(50)}), options)
    assert (limits.steps[0].agent, limits.steps[0].verifier) == (agent, verifier)


def test_an_agent_without_a_limit_has_none_unless_there_is_a_maximum() -> None:
    assert limits_of(config({})).steps[0].agent is None
    assert limits_of(config({}), LimitOptions(maxima={"agent": 10}, multiplier=2)).steps[0].agent == 20


def test_limits_that_are_no_whole_seconds_stay_so() -> None:
    limits = limits_of(config({"agent": given_seconds(3)}), LimitOptions(multiplier=0.5))
    assert limits.steps[0].agent == 1.5


def test_the_deadline_is_the_sum_of_all_that_may_be_waited_for() -> None:
    check = {"command": "true", "start_period_sec": 1, "interval_sec": 2, "timeout_sec": 3, "retries": 4}
    found = config(
        {
            "agent": given_seconds(100),
            "verifier": {**given_seconds(10), "collect": [{"command": "x", "timeout_sec": 5}]},
            "environment": {"build_timeout_sec": 1000, "healthcheck": check},
        },
        [{"name": "a"}, {"name": "b", "healthcheck": check, "verifier": {"environment_mode": "separate"}}],
    )
    limits = limits_of(found)
    each = 100 + 10 + 5 + 360 + 1000
    assert limits.readiness == 21
    assert limits.seconds == 1000 + 21 + 2 * each + 21
    assert limits_of(config({})).seconds == 600 + UNLIMITED_SECONDS + 600 + 360
