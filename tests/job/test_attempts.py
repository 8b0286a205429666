"""A Job without pytest: attempts, the control, retries, and whose fault it is in the end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_swe.errors import EngineUnavailable, SandboxStartFailed
from pytest_swe.model import SandboxSpec
from pytest_swe.policy import Policy

from .bench import Bench, Judge, both, by_run, by_thread


@both
@pytest.mark.parametrize(
    ("plays", "verdict", "evaluated"),
    [
        (("resolved",), ("resolved", ""), ["resolved"]),
        (("unresolved",), ("unresolved", "tests_failed"), ["unresolved"]),
        (("lost", "resolved"), ("resolved", ""), ["lost", "resolved"]),
        (("lost",), ("unresolved", "sandbox_lost"), ["lost", "lost", "control"]),
        (("removed",), ("error", "sandbox_removed"), ["removed"] * 3),
        (("removed", "removed", "resolved"), ("resolved", ""), ["removed", "removed", "resolved"]),
        (("not_run",), ("unresolved", "suite_did_not_run"), ["not_run", "not_run", "control"]),
        (("bug",), ("error", "internal"), ["bug"]),
        (("times out",), ("unresolved", "tests_timed_out"), ["times out", "control"]),
    ],
)
def test_attempts_then_the_control(
    judged: Judge, plays: tuple[str, ...], verdict: tuple[str, str], evaluated: list[str]
) -> None:
    bench = Bench(plays)
    assert judged(bench.job()) == verdict
    assert bench.evaluated == evaluated
    assert bench.closes == [1] * len(evaluated)  # a fresh sandbox each, and each closed once


def test_earlier_attempts_are_told() -> None:
    outcome = Bench(("lost", "resolved")).job().run()
    assert [attempt.reason for attempt in outcome.reward.attempts] == ["sandbox_lost"]


def test_a_control_is_measured_once_for_all_jobs_of_a_policy() -> None:
    bench, policy = Bench(("lost",)), Policy(pace=0)
    for _ in range(2):
        bench.job(policy=policy).run()
    assert bench.evaluated.count("control") == 1


def test_rows_of_one_id_have_controls_of_their_own() -> None:
    bench = Bench(("lost",))
    policy = Policy(pace=0)
    for image in ("i", "other"):
        job = bench.job(policy=policy)
        job.instance = replace(job.instance, spec=SandboxSpec(image=image))
        job.run()
    assert bench.evaluated.count("control") == 2


def test_a_control_that_does_not_start_leaves_an_error() -> None:
    bench = Bench(("lost",), starts=(None, None, SandboxStartFailed("no")))
    assert by_run(bench.job()) == ("error", "sandbox_lost")
    assert bench.closes == [1, 1]


@both
def test_an_empty_patch_needs_no_sandbox(judged: Judge) -> None:
    bench = Bench()
    assert judged(bench.job(b" \n")) == ("unresolved", "empty_patch")
    assert bench.made == []


def test_what_keeps_a_sandbox_from_standing_is_raised_in_setup() -> None:
    job = Bench(starts=(EngineUnavailable("no engine"),)).job()
    job.start()
    with pytest.raises(EngineUnavailable, match="no engine"):
        job.wait_standing()
    assert job.go().reward.reason == "engine_unavailable"


@pytest.mark.parametrize("play", ["exit", "interrupt"])
def test_a_harness_cannot_end_the_thread_without_a_verdict(play: str) -> None:
    bench = Bench((play,))
    assert by_thread(bench.job()) == ("error", "internal")
    assert bench.closes == [1]


def test_an_interrupt_in_the_callers_thread_goes_to_the_caller() -> None:
    bench = Bench(("interrupt",))
    with pytest.raises(KeyboardInterrupt):
        bench.job().run()
    assert bench.closes == [1]


@pytest.mark.parametrize(
    ("second", "verdict", "flags"),
    [
        ("times out", ("unresolved", "tests_timed_out"), ("slow_environment",)),
        ("unresolved", ("unresolved", "tests_failed"), ("slow_environment",)),
        ("resolved", ("unresolved", "tests_timed_out"), ("slow_environment", "flaky")),
    ],
)
def test_a_time_out_where_the_control_is_slow_too_is_tried_again_and_never_mended(
    second: str, verdict: tuple[str, str], flags: tuple[str, ...]
) -> None:
    bench = Bench(("times out", "control", second), control_seconds=0.55)
    outcome = bench.job().run()
    assert (outcome.reward.status, outcome.reward.reason) == verdict
    assert outcome.reward.flags == flags
    assert len(outcome.reward.attempts) == 1
    assert bench.evaluated == ["times out", "control", second]


@both
def test_an_environment_in_trouble_gets_the_retries_and_tells_them(judged: Judge) -> None:
    starts = (SandboxStartFailed("no"), EngineUnavailable("gone"), None)
    bench = Bench(starts=starts)
    assert judged(bench.job()) == ("resolved", "")
    bench = Bench(starts=starts)
    outcome = bench.job().run()
    assert [attempt.reason for attempt in outcome.reward.attempts] == ["sandbox_start_failed", "engine_unavailable"]


def test_a_provider_that_waited_in_vain_is_not_asked_again() -> None:
    """Hundreds of items may follow: none of them must cost the pauses between attempts."""
    gone = EngineUnavailable("gone for good")
    gone.retryable = False
    bench = Bench(starts=(gone, None))
    assert by_run(bench.job()) == ("error", "engine_unavailable")
    assert bench.asked == 1


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_retries_are_as_many_as_the_policy_says(retries: int) -> None:
    bench = Bench(starts=(SandboxStartFailed("no"),))
    outcome = bench.job(policy=Policy(pace=0, retries=retries)).run()
    assert (outcome.reward.status, outcome.reward.reason) == ("error", "sandbox_start_failed")
    assert len(outcome.reward.attempts) == retries
    assert bench.asked == retries + 1
