"""One path to a verdict: the Job, one candidate's way from patch to reward.

A Job owns its attempts (a fresh sandbox each), its phases, and its sandboxes; `pytest_swe.working` is how it is run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from pytest_swe.attempting import Attempting
from pytest_swe.control import ControlRun
from pytest_swe.errors import SweError
from pytest_swe.extract import hint
from pytest_swe.harness.base import Harness
from pytest_swe.model import Candidate, EvalLog, Instance, Look, Reason, Report, SandboxSpec
from pytest_swe.outcome import Attempted
from pytest_swe.policy import Policy
from pytest_swe.reward import Outcome, Verdict, verdict_of_error, verdict_of_report
from pytest_swe.sandbox.base import ImageFacts, Sandbox, SandboxProvider, image_of
from pytest_swe.second_look import second_look

#: Part of the time limit from which on the control counts as slow.
SLOW = 0.5


class Job(Attempting):
    """Judge one candidate on one instance. ``labels`` go onto every sandbox."""

    def __init__(
        self,
        instance: Instance,
        candidate: Candidate,
        *,
        harness: Harness,
        provider: SandboxProvider,
        policy: Policy | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(instance, candidate, provider=provider, policy=policy, labels=labels)
        self._harness = harness

    # -- the work ----------------------------------------------------------------------------------------------------

    def _judge(self) -> Outcome:
        if self.candidate.is_empty:
            return self._outcome_of([Attempted(Verdict("unresolved", Reason.EMPTY_PATCH))])
        self._gather()
        self._admit()
        attempts = self._attempts(self._attempt)
        if not self._standing.is_set():
            self._acquire_error = attempts[-1].error
        return self._ended(attempts)

    def _gather(self) -> None:
        """What the row's tests need and the row does not hold."""
        if self.instance.assets:
            with self._phase("assets"):
                self.instance = replace(self.instance, staged=self._policy.assets.contents(self.instance.assets))

    def _acquire(self) -> Sandbox:
        self._check_cancelled()
        with self._phase("acquire"):
            sandbox = self._provider.acquire(self.instance.spec, labels=self._labels)
        self._image_digest = self._image_apart(sandbox, "acquire").digest
        self._hold(sandbox)
        self.sandbox = sandbox
        self._stands()
        return sandbox

    def _close_sandbox(self) -> None:
        sandbox, self.sandbox = self.sandbox, None
        if sandbox is not None:
            self._release(sandbox)

    def _attempt(self) -> Attempted:
        attempt = Attempted(Verdict("error", Reason.INTERNAL))
        try:
            sandbox = self._acquire()
            self._wait_for_go()
            with self._phase("evaluate"):
                attempt.log = self._harness.evaluate(self.instance, self.candidate, sandbox)
            attempt.log = self._judged(attempt.log)
            with self._phase("grade"):
                attempt.report = self._harness.grade(self.instance, attempt.log).under(self._policy.rules)
            attempt.report = self._looked_at_again(_with_hint(attempt.report, self.candidate))
            attempt.verdict = verdict_of_report(attempt.report)
        except SweError as error:
            attempt.verdict, attempt.error = verdict_of_error(error), error
        self._check_cancelled()
        return attempt

    def _judged(self, log: EvalLog) -> EvalLog:
        """``log`` with what the row's own program says of it, where there is one: in a sandbox of its own."""
        spec = self._harness.judging(self.instance)
        if spec is None or log.steps[0].run is None:
            return log
        with self._phase("judge"), self._second_sandbox(spec, "judge") as sandbox:
            return self._harness.judge(self.instance, log, sandbox)

    def _looked_at_again(self, report: Report) -> Report:
        """``report``, after a second look where it resolved."""
        patch, when = self.candidate.patch, self._policy.second_look
        # The row's own fix is what a look is compared with.
        if patch is None or not report.resolved or when == "off" or self.candidate.source == "gold":
            return report
        if not self._policy.keep(self.candidate, Verdict("unresolved")):
            self._close_sandbox()
        with self._phase("second_look"):
            return second_look(report, patch, self._look, always=when == "always").under(self._policy.rules)

    def _look(self, look: Look, gold: bool) -> Report:
        if not gold:
            return self._measured_apart(self.candidate, look).report or _nothing(self.instance)
        known = f"{look}\n{_key(self.instance)}"
        fix = Candidate(model="gold", patch=self._harness.gold(self.instance), source="gold")
        run = self._policy.controls.run(known, lambda: self._measured_apart(fix, look))
        return run.report or _nothing(self.instance)

    def _measured_apart(self, candidate: Candidate, look: Look = "") -> ControlRun:
        """Another evaluation, in a sandbox of its own."""
        instance = replace(self.instance, look=look)
        with self._second_sandbox(instance.spec, "second_look" if look else "control") as sandbox:
            begin = time.monotonic()
            log = self._harness.evaluate(instance, candidate, sandbox)
        seconds = time.monotonic() - begin
        report = self._harness.grade(instance, self._judged(log)).under(self._policy.rules)
        return ControlRun(measured=report.measured, seconds=seconds, report=report)

    def _control(self) -> ControlRun:
        if not self._policy.keep(self.candidate, Verdict("unresolved")):
            self._close_sandbox()
        with self._phase("control"):
            return self._policy.controls.run(
                _key(self.instance), lambda: self._measured_apart(Candidate(model="base", source="control"))
            )

    def _is_slow_here(self) -> bool:
        """Whether the unpatched tree, too, needs most of the time that there is: then the host may be to blame."""
        limit = sum(step.timeout for step in self.instance.steps)
        return self._control().seconds > SLOW * limit

    @contextmanager
    def _second_sandbox(self, spec: SandboxSpec, phase: str) -> Iterator[Sandbox]:
        """A sandbox beside the candidate's, closed at once; `cancel` closes it too."""
        self._check_cancelled()
        sandbox = self._provider.acquire(spec, labels=self._labels)
        self._image_apart(sandbox, phase)
        self._hold(sandbox)
        try:
            self._check_cancelled()
            yield sandbox
        finally:
            self._release(sandbox)

    def _image_apart(self, sandbox: Sandbox, phase: str) -> ImageFacts:
        """What ``sandbox`` was made of. To have the image there is a phase of its own, no part of ``phase``."""
        found = image_of(sandbox)
        if found.seconds:
            for name, sign in (("pull", 1), (phase, -1)):
                self._phases[name] = round(self._phases.get(name, 0.0) + sign * found.seconds * 1000, 1)
        return found


def _key(instance: Instance) -> str:
    """What a control is known by: two data sets may have rows of one id, and other limits are another control."""
    return "\n".join((instance.family, instance.id, str(instance.spec), str(instance.steps)))


def _with_hint(report: Report, candidate: Candidate) -> Report:
    said = hint(candidate.patch) if report.reason == Reason.PATCH_APPLY_FAILED and candidate.patch else ""
    return replace(report, detail="; ".join(filter(None, (report.detail, said)))) if said else report


def _nothing(instance: Instance) -> Report:
    return Report(instance_id=instance.id, resolved=False, measured=False)
