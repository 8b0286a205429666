"""A Job whose candidate is an agent: it works in one sandbox, and what it leaves is judged in a fresh one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from pytest_swe.agent_work import AgentMade, AgentSetting, AgentWork, told
from pytest_swe.control import ControlRun
from pytest_swe.errors import SweError
from pytest_swe.harness.base import Harness, Preparing
from pytest_swe.job import Job
from pytest_swe.model import Candidate, Instance, Network, Reason
from pytest_swe.outcome import Attempted
from pytest_swe.policy import Policy
from pytest_swe.report.keeping import Keeping
from pytest_swe.reward import Outcome, Verdict, verdict_of_error
from pytest_swe.sandbox.base import Sandbox, SandboxProvider


class AgentJob(Job):
    """Let an agent make the candidate, then judge that.

    ``network`` is what the agent's own sandbox has; the grading one has what the row says. ``place``: the item's
    directory, in which ``agent/`` is written; that of an earlier attempt is set aside.
    """

    def __init__(
        self,
        instance: Instance,
        candidate: Candidate,
        *,
        setting: AgentSetting,
        instruction: str,
        base_commit: str = "",
        harness: Harness,
        provider: SandboxProvider,
        network: Network = "none",
        place: Path | None = None,
        policy: Policy | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(instance, candidate, harness=harness, provider=provider, policy=policy, labels=labels)
        self._setting = setting
        self._instruction = instruction
        self._base_commit = base_commit
        self._keeping = Keeping(place)
        self._grading = instance
        seconds = max(instance.spec.seconds, 2 * setting.seconds)
        self._working = replace(instance, spec=replace(instance.spec, network=network, seconds=seconds))
        self._made: AgentMade | None = None
        self._agents_work: AgentWork | None = None

    def _judge(self) -> Outcome:
        self._gather()
        self._admit()
        self.instance = self._working
        attempts = self._attempts(self._agent_attempt)
        if not self._standing.is_set():
            self._acquire_error = attempts[-1].error
        if self._made is None or self.candidate.is_empty:
            return self._ended(attempts)
        earlier = attempts[:-1]  # those in which no patch was made
        # Nothing that the agent could write reaches the grading sandbox, except the patch.
        self._close_sandbox()
        self.instance = replace(self._grading, staged=self.instance.staged)
        return self._ended([*earlier, *self._attempts(self._attempt)])

    def _agent_attempt(self) -> Attempted:
        attempt = Attempted(Verdict("error", Reason.INTERNAL))
        try:
            sandbox = self._acquire()
            self._wait_for_go()
            self._keeping.set_aside()
            keeping = self._keeping.below("agent")
            arguments = (self._setting, self.instance, self._instruction, self._base_commit, keeping)
            self._agents_work = AgentWork(*arguments, begin=self._begin, phase=self._phase)
            made = self._agents_work.made_in(sandbox)
        except SweError as error:
            attempt.verdict, attempt.error = verdict_of_error(error), error
        else:
            self._made = made
            self.candidate = replace(self.candidate, patch=made.extracted.patch, agent=False)
            attempt.verdict = Verdict("unresolved", Reason.EMPTY_PATCH, _why_empty(made))
        self._check_cancelled()
        return attempt

    def _begin(self, sandbox: Sandbox) -> str:
        if isinstance(self._harness, Preparing):
            return self._harness.begin(self.instance, sandbox)
        return self.instance.spec.workdir

    def _control(self) -> ControlRun:
        self.instance = self._grading  # the tree is judged, not the agent: with the row's own network
        return super()._control()

    def _outcome_of(self, attempts: list[Attempted]) -> Outcome:
        outcome = super()._outcome_of(attempts)
        if self._made is None:
            none: dict[str, object] = {"agent": {"name": self._setting.name, "model": self._setting.model}}
            if self._agents_work is not None:
                none["usage"] = asdict(self._agents_work.usage)
            return replace(outcome, reward=outcome.reward.model_copy(update=none))
        update = {
            "agent": told(self._made, self._setting),
            "usage": asdict(self._made.usage),
            "flags": (*outcome.reward.flags, *self._made.flags),
        }
        return replace(outcome, reward=outcome.reward.model_copy(update=update))


def _why_empty(made: AgentMade) -> str:
    if made.extracted.problem:
        return made.extracted.problem
    ended = "ran out of time" if made.run.timed_out else f"ended with status {made.run.exit_code}"
    return f"the agent {ended} and changed nothing"
