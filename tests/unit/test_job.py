"""A Job without pytest: attempts, the control, being cancelled at every point, and one close per sandbox."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest

from pytest_swe.errors import (
    Cancelled,
    EngineUnavailable,
    SandboxError,
    SandboxLost,
    SandboxRemoved,
    SandboxStartFailed,
)
from pytest_swe.job import Job
from pytest_swe.model import (
    ApplyLog,
    Bucket,
    Candidate,
    EvalLog,
    Instance,
    Reason,
    Report,
    RunLog,
    SandboxSpec,
    Step,
    StepLog,
)
from pytest_swe.policy import Policy
from pytest_swe.sandbox.base import Capabilities

LONG = 10  # seconds that nothing here takes: a test that waits for them fails


class CountedSandbox:
    """Knows how often it was closed; ``gone`` is set when it is."""

    attach = ("enter",)

    def __init__(self, id: str, closing: Callable[[], None]) -> None:
        self.id = id
        self.closes = 0
        self.gone = threading.Event()
        self._closing = closing

    def close(self) -> None:
        self.closes += 1
        self.gone.set()
        self._closing()


@dataclass
class Bench:
    """A provider and a harness in one. ``plays``: what happens in each evaluation, the last one again and again."""

    plays: tuple[str, ...] = ("resolved",)
    starts: tuple[SandboxError | None, ...] = (None,)
    name: str = "bench"
    capabilities: ClassVar[Capabilities] = Capabilities()
    made: list[CountedSandbox] = field(default_factory=list)
    evaluated: list[str] = field(default_factory=list)
    reached: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)
    hold_acquire: bool = False
    judges: bool = False
    asked: int = 0
    control_seconds: float = 0.0
    closing: Callable[[], None] = lambda: None

    def acquire(self, spec: SandboxSpec, *, labels: Mapping[str, str]) -> CountedSandbox:
        if self.hold_acquire:
            self.reached.set()
            assert self.let_go.wait(LONG)
        error = self.starts[min(self.asked, len(self.starts) - 1)]
        self.asked += 1
        if error is not None:
            raise error
        self.made.append(CountedSandbox(str(len(self.made)), self.closing))
        return self.made[-1]

    def evaluate(self, instance: Instance, candidate: Candidate, sandbox: CountedSandbox) -> EvalLog:
        play = "control" if candidate.is_control else self.plays[min(len(self.evaluated), len(self.plays) - 1)]
        self.evaluated.append(play)
        if play == "lost":
            raise SandboxLost("it is gone")
        if play == "removed":
            raise SandboxRemoved("somebody took it")
        if play == "hang":
            self.reached.set()
            assert sandbox.gone.wait(LONG)
            raise SandboxLost("closed under it")
        if play == "bug":
            raise ZeroDivisionError
        if play == "control" and self.control_seconds:
            time.sleep(self.control_seconds)
        if play == "exit":
            raise SystemExit(3)
        if play == "interrupt":
            raise KeyboardInterrupt
        return EvalLog(steps=(StepLog(name="tests", apply=ApplyLog(outcome="applied"), run=RunLog(output=b"")),))

    def judging(self, instance: Instance) -> SandboxSpec | None:
        return SandboxSpec(image="judge") if self.judges else None

    def judge(self, instance: Instance, log: EvalLog, sandbox: CountedSandbox) -> EvalLog:
        assert sandbox is not self.made[0]
        if self.evaluated[-1] == "judge hangs":
            self.reached.set()
            assert sandbox.gone.wait(LONG)
            raise SandboxLost("closed under it")
        return replace(log, steps=(replace(log.steps[0], files={"judged": b"yes"}),))

    def grade(self, instance: Instance, log: EvalLog) -> Report:
        if self.judges:
            assert log.steps[0].files == {"judged": b"yes"}
        good = self.evaluated[-1] in ("resolved", "control")
        measured = self.evaluated[-1] != "not_run"
        if self.evaluated[-1] == "times out":
            return Report(instance_id="i", resolved=False, reason=Reason.TESTS_TIMED_OUT)
        return Report(
            instance_id="i",
            resolved=good,
            measured=measured,
            reason=None if good else Reason.TESTS_FAILED if measured else Reason.SUITE_DID_NOT_RUN,
            fail_to_pass=Bucket(("t",), ()) if good else Bucket((), ("t",)),
        )

    def job(self, patch: bytes | None = b"p\n", policy: Policy | None = None) -> Job:
        steps = (Step(timeout=1.0),)
        instance = Instance(id="i", family="bench", spec=SandboxSpec(image="i"), payload=None, steps=steps)
        policy = policy or Policy(pace=0)
        return Job(instance, Candidate(model="m", patch=patch), harness=self, provider=self, policy=policy)  # type: ignore[arg-type]

    @property
    def closes(self) -> list[int]:
        return [sandbox.closes for sandbox in self.made]


def by_run(job: Job) -> tuple[str, str]:
    outcome = job.run()
    return outcome.reward.status, outcome.reward.reason


def by_thread(job: Job) -> tuple[str, str]:
    job.start()
    job.wait_standing()
    outcome = job.go()
    job.join(LONG)
    assert job.ended
    return outcome.reward.status, outcome.reward.reason


both = pytest.mark.parametrize("judged", [by_run, by_thread])
Judge = Callable[[Job], tuple[str, str]]


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


# -- cancel ------------------------------------------------------------------------------------------------------------


def test_cancel_while_acquiring() -> None:
    bench = Bench(hold_acquire=True)
    job = bench.job()
    job.start()
    assert bench.reached.wait(LONG)
    job.cancel()
    bench.let_go.set()
    with pytest.raises(Cancelled):
        job.wait_standing()
    job.join(LONG)
    assert (bench.closes, bench.evaluated) == ([1], [])


def test_cancel_before_go() -> None:
    bench = Bench()
    job = bench.job()
    job.start()
    job.wait_standing()
    job.cancel()
    with pytest.raises(Cancelled):
        job.go()
    job.join(LONG)
    assert (bench.closes, bench.evaluated) == ([1], [])


@pytest.mark.parametrize("plays", [("hang",), ("lost", "hang")], ids=" ".join)
def test_cancel_while_evaluating_makes_no_further_attempt(plays: tuple[str, ...]) -> None:
    bench = Bench(plays)
    job = bench.job()
    job.start()
    job.wait_standing()
    raised: list[BaseException] = []
    waiting = threading.Thread(target=lambda: raised.append(_raised(job.go)))
    waiting.start()
    assert bench.reached.wait(LONG)
    job.cancel()
    job.cancel()
    waiting.join(LONG)
    assert isinstance(raised[0], Cancelled)
    assert bench.evaluated == list(plays)
    assert bench.closes == [1] * len(plays)


def test_cancel_after_the_verdict_changes_nothing_that_was_closed() -> None:
    bench = Bench()
    job = bench.job()
    assert by_thread(job) == ("resolved", "")
    job.cancel()
    assert bench.closes == [1]


def test_cancel_inside_a_close_does_not_wait_for_itself() -> None:
    """As a signal handler does that runs in the middle of a cancel."""
    bench = Bench(("hang",))
    job = bench.job()
    bench.closing = job.cancel
    job.start()
    job.wait_standing()
    job.cancel()
    job.join(LONG)
    assert job.ended
    assert bench.closes == [1]


# -- keeping and closing -----------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(("play", "closes"), [("unresolved", 0), ("resolved", 1)])
def test_keep_is_asked_with_the_verdict(judged: Judge, play: str, closes: int) -> None:
    bench = Bench((play,))
    job = bench.job(policy=Policy(pace=0, keep=lambda candidate, verdict: verdict.status == "unresolved"))
    judged(job)
    job.cancel()
    assert bench.closes == [closes]


def test_only_the_last_sandbox_is_kept() -> None:
    bench = Bench(("lost", "unresolved"))
    outcome = bench.job(policy=Policy(pace=0, keep=lambda candidate, verdict: True)).run()
    assert bench.closes == [1, 0]
    assert outcome.kept == ("enter",)


@both
@pytest.mark.parametrize("plays", [("resolved",), ("lost", "resolved")], ids=" ".join)
def test_a_close_that_raises_costs_no_verdict(
    judged: Judge, plays: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise RuntimeError("close broke")

    bench = Bench(plays, closing=broken)
    assert judged(bench.job()) == ("resolved", "")
    assert caplog.text.count("closing sandbox") == len(plays)


def test_cancel_with_a_close_that_raises() -> None:
    def broken() -> None:
        raise RuntimeError("close broke")

    bench = Bench(("hang",), closing=broken)
    job = bench.job()
    job.start()
    job.wait_standing()
    job.cancel()
    job.join(LONG)
    assert bench.closes == [1]


def _raised(call: Callable[[], object]) -> BaseException:
    with pytest.raises(Cancelled) as raised:
        call()
    return raised.value


def test_a_close_that_hangs_does_not_hold_who_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_swe.working.CLOSING", 0.01)
    bench = Bench(("hang",))
    bench.closing = lambda: None if bench.let_go.wait(LONG) else pytest.fail("cancel waited for the close")
    job = bench.job()
    job.start()
    job.wait_standing()
    job.cancel()
    bench.let_go.set()
    job.join(LONG)
    assert bench.closes == [1]


@both
@pytest.mark.parametrize("play", ["resolved", "unresolved"])
def test_a_judge_has_a_sandbox_of_its_own_that_is_closed(judged: Judge, play: str) -> None:
    bench = Bench((play,), judges=True)
    assert judged(bench.job())[0] == play
    assert bench.closes == [1, 1]


def test_a_job_that_is_cancelled_while_it_is_judged_leaves_nothing() -> None:
    bench = Bench(("judge hangs",), judges=True)
    job = bench.job()
    job.start()
    job.wait_standing()

    def cancel_when_judging() -> None:
        assert bench.reached.wait(LONG)
        job.cancel()

    threading.Thread(target=cancel_when_judging, daemon=True).start()
    with pytest.raises(Cancelled):
        job.go()
    job.join(LONG)
    assert bench.closes == [1, 1]


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
