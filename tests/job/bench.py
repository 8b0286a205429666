"""A provider and a harness in one, that count what a Job does with them; and the two ways to run a Job."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest

from pytest_swe.errors import SandboxError, SandboxLost, SandboxRemoved
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
