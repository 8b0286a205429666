"""Work that judges a candidate in attempts, each with fresh sandboxes, until there is a verdict or no hope of one."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from pytest_swe.control import ControlRun
from pytest_swe.errors import SandboxError
from pytest_swe.model import Candidate, Instance, Reason
from pytest_swe.outcome import Attempted, decided_again, outcome_of
from pytest_swe.policy import Policy
from pytest_swe.retries import control_decides, seconds_before_next
from pytest_swe.reward import Outcome, verdict_of_error
from pytest_swe.sandbox.admission import Need
from pytest_swe.sandbox.base import SandboxProvider, free_disk_mb
from pytest_swe.working import Working


class Attempting(Working):
    """Judge ``candidate`` on ``instance``. ``labels`` go onto every sandbox. A subclass says what an attempt is."""

    def __init__(
        self,
        instance: Instance,
        candidate: Candidate,
        *,
        provider: SandboxProvider,
        policy: Policy | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(instance.id)
        self.instance = instance
        self.candidate = candidate
        self._provider = provider
        self._policy = policy or Policy()
        self._labels = dict(labels or {})
        self._image_digest = ""

    @abc.abstractmethod
    def _control(self) -> ControlRun:
        """What comes of the instance without a candidate."""

    def _is_slow_here(self) -> bool:
        """Whether a time-out may be the host's fault."""
        return False

    def _admit(self) -> None:
        """Wait until this host has room for the sandbox."""
        admission = self._policy.admission
        if admission is not None and self._provider.capabilities.shares_host:
            with self._phase("queue"):
                self._at_end.enter_context(
                    admission.admitted(
                        Need.of(self.instance.spec),
                        stopped=self._cancelled.is_set,
                        free_disk_mb=partial(free_disk_mb, self._provider),
                    )
                )

    def _attempts(self, attempt: Callable[[], Attempted]) -> list[Attempted]:
        """As many as `pytest_swe.retries` asks for, each in a fresh sandbox; the last one counts."""
        done = [attempt()]
        while (wait := self._wait_before_next(done)) is not None:
            self._close_all()
            self._cancelled.wait(wait * self._policy.pace)
            done.append(attempt())
        last = done[-1]
        if self.candidate.is_control:
            return done
        if control_decides(last.verdict) and self._control().measured:
            last.verdict = replace(last.verdict, status="unresolved")
        elif last.verdict.reason == Reason.TESTS_TIMED_OUT and self._is_slow_here():
            self._close_all()
            done = decided_again(done, attempt())
        return done

    def _wait_before_next(self, done: list[Attempted]) -> float | None:
        """Seconds before one more attempt; None when there is to be none."""
        error = done[-1].error
        if isinstance(error, SandboxError) and not error.retryable:
            return None  # the provider has waited in vain already
        return seconds_before_next([each.verdict for each in done], self._policy.retries)

    # -- the result --------------------------------------------------------------------------------------------------

    def _ended(self, attempts: list[Attempted]) -> Outcome:
        if self._policy.keep(self.candidate, attempts[-1].verdict):
            self._kept = self.sandbox
        return self._outcome_of(attempts)

    def _failed(self, error: BaseException) -> Outcome:
        return self._outcome_of([Attempted(verdict_of_error(error))])

    def _outcome_of(self, attempts: list[Attempted]) -> Outcome:
        return outcome_of(
            self.instance,
            self.candidate,
            self._provider,
            attempts,
            kept=self.sandbox.attach if self._kept is not None and self.sandbox is not None else (),
            image_digest=self._image_digest,
            times=self._times(),
        )
