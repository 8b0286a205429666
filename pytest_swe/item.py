"""A row and a candidate as a pytest item.

Made with ``callobj``, so it has fixtures by pytest's public interface. `SweItem.runtest` is our own: with the
default one ``-p no:python``, or a plugin that swallows ``pytest_pyfunc_call``, makes every item pass unevaluated.
"""

from __future__ import annotations

import reprlib
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from pytest_swe.dataset_plan import DatasetPlan
from pytest_swe.errors import SweError
from pytest_swe.extract import extracted
from pytest_swe.harbor.task import HarborTask
from pytest_swe.harness.base import Harness
from pytest_swe.host_paths import host_paths
from pytest_swe.model import Candidate, Instance, Reason, SandboxSpec, Status
from pytest_swe.planning import Planned, Source
from pytest_swe.reward import Outcome, Reward, Verdict, fault_of, value_of
from pytest_swe.run import RUN, Run
from pytest_swe.user_code import user_code
from pytest_swe.working import Working

OUTCOME = pytest.StashKey[Outcome]()


class Unresolved(AssertionError):
    """A valid measurement that is not a pass; a test failure. Carries the outcome."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.reward.reason)
        self.outcome = outcome


class NotMeasured(Exception):
    """Nothing was measured: an error of the environment, the row or the plugin. Carries the outcome."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.reward.detail or outcome.reward.reason)
        self.outcome = outcome


def evaluate(swe_job: Working) -> None:
    """Evaluate in a sandbox. The work is in `SweItem.runtest`; this names the fixtures."""


def evaluate_nothing() -> None:
    """There is nothing to run: no prediction, an empty patch, a bad row. Needs no sandbox."""


class SweItem(pytest.Function):
    """One planned item. Its node id is for people; everything is keyed by `planned`."""

    plan: DatasetPlan
    planned: Planned
    harness: Harness
    known: Reward | None

    @classmethod
    def of(cls, parent: pytest.Collector, plan: DatasetPlan, planned: Planned) -> SweItem:
        """The item of ``planned``, with the markers that its candidate asks for."""
        known = parent.config.stash[RUN].known(planned)
        runs = planned.work == "evaluate" and known is None
        work: Callable[..., None] = evaluate if runs else evaluate_nothing
        item: SweItem = cls.from_parent(parent, name=planned.name, callobj=work)
        item.plan, item.planned, item.known = plan, planned, known
        item.add_marker(pytest.mark.swe)
        reason = item.run.quarantine.instances.get(planned.instance_id)
        # raises=: without it an error of the environment would count as the expected failure.
        if reason is not None:
            item.add_marker(pytest.mark.xfail(raises=Unresolved, reason=f"in quarantine: {reason}"))
        elif planned.source == "base" and planned.work == "evaluate":
            item.add_marker(
                pytest.mark.xfail(strict=True, raises=Unresolved, reason="the unpatched tree must not resolve")
            )
        return item

    @property
    def run(self) -> Run:
        return self.config.stash[RUN]

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, max(self.planned.ref.line - 1, 0), self.name

    def setup(self) -> None:
        if OUTCOME in self.stash:  # a rerun
            del self.stash[OUTCOME]
        if self.run.stopping:
            pytest.skip("stopped")
        super().setup()

    def runtest(self) -> None:
        outcome = self._outcome()
        self.stash[OUTCOME] = outcome
        if outcome.reward.status == "unresolved":
            raise Unresolved(outcome)
        if outcome.reward.status == "error":
            if outcome.reward.reason == Reason.UNSUPPORTED and self.run.settings.unsupported == "skip":
                self.skipped(Verdict("skipped", Reason.UNSUPPORTED, outcome.reward.detail))
            raise NotMeasured(outcome)

    def skipped(self, verdict: Verdict) -> None:
        """Leave a skipped reward and skip."""
        reward = self.reward(verdict)
        self.stash[OUTCOME] = Outcome(reward=reward)
        pytest.skip(reward.detail or str(verdict.reason))

    def keep_outcome(self, job: Working) -> None:
        """The outcome of a Job that never had a sandbox, for the report on this setup."""
        outcome = job.go()
        unsupported = outcome.reward.reason == Reason.UNSUPPORTED and self.run.settings.unsupported == "skip"
        if not unsupported:
            self.stash[OUTCOME] = replace(outcome, reward=self.identified(outcome.reward))

    def _outcome(self) -> Outcome:
        if self.known is not None:
            resumed = "cached" not in self.known.flags
            return Outcome(reward=self.known if resumed else self.identified(self.known))
        outcome = self._evaluate() if self.planned.work == "evaluate" else self._without_sandbox()
        return replace(outcome, reward=self.identified(outcome.reward))

    def _evaluate(self) -> Outcome:
        job = self.funcargs["swe_job"]
        assert isinstance(job, Working)
        return job.go()

    def _without_sandbox(self) -> Outcome:
        planned, missing = self.planned, self.run.settings.missing
        if planned.work == "empty":
            return Outcome(reward=self.reward(Verdict("unresolved", Reason.EMPTY_PATCH, "the patch is empty")))
        if planned.work == "bad":
            return Outcome(reward=self.reward(self._why_bad()))
        text = f"no prediction of {planned.model} for this instance" if planned.model else "no prediction"
        if missing == "skip":
            self.skipped(Verdict("skipped", Reason.MISSING_PREDICTION, text))
        status: Status = "unresolved" if missing == "fail" else "error"
        return Outcome(reward=self.reward(Verdict(status, Reason.MISSING_PREDICTION, text)))

    def _why_bad(self) -> Verdict:
        if not self.planned.ref.problem:
            return Verdict("error", Reason.PREDICTION_INVALID, self.planned.problem)
        return Verdict("error", Reason.ROW_INVALID, self.plan.problem_of(self.planned))

    # -- what fixtures ask for -------------------------------------------------------------------------------------

    def load_instance(self) -> Instance:
        """The row, normalised by its family, with the limits that the options and hooks ask for."""
        self.harness, instance = loaded(self.run, self.plan, self.planned)
        return instance

    def load_candidate(self, instance: Instance) -> Candidate:
        """The patch of this item, or the unpatched tree."""
        planned = self.planned
        if planned.source == "base":
            return Candidate(model="base", source="base")
        if planned.source == "gold" and isinstance(instance.payload, HarborTask):
            return Candidate(model="gold", source="gold")  # its solution is a program, run in a trial
        if planned.source == "gold":
            return Candidate(model="gold", patch=self.harness.gold(instance), source="gold")
        source = self.source
        if source.agent:
            return Candidate(model=planned.model, source=planned.source, agent=True)
        assert planned.prediction is not None
        assert source.predictions is not None
        text = source.predictions.patch(planned.prediction)
        patch = extracted(text) if self.run.settings.extract_diff else text
        return Candidate(model=planned.model, patch=patch, source=planned.source, extracted=patch != text)

    @property
    def source(self) -> Source:
        """Where this item's candidate comes from."""
        planned = self.planned
        return next(
            source
            for source in self.run.sources()
            if source.name == planned.source and (not source.agent or planned.model in source.models)
        )

    # -- rewards ---------------------------------------------------------------------------------------------------

    def reward(self, verdict: Verdict) -> Reward:
        """A reward line for what never reached a sandbox."""
        return self.identified(
            Reward(
                instance_id=self.planned.instance_id,
                model=self.planned.model,
                status=verdict.status,
                reward=value_of(verdict.status),
                mask=value_of(verdict.status) is None,
                reason=verdict.reason or "",
                detail=verdict.detail,
                fault=fault_of(verdict),
                repo=self.planned.ref.repo,
                provider=self.run.settings.provider,
                started_at=time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
            )
        )

    def identified(self, reward: Reward) -> Reward:
        """The same line with what identifies this item: run, data set, line, repeat, worker; no path of this host."""
        identity: Mapping[str, object] = {
            "run_id": self.run.run_id,
            "dataset": self.plan.dataset.name,
            "line": self.planned.ref.line,
            "repeat": self.planned.repeat,
            "worker": self.run.worker,
            "model": self.planned.model,
            "fingerprint": self.run.fingerprint(self.planned),
        }
        quarantine, known = self.run.quarantine, self.planned.instance_id
        held = ["quarantined"] if known in quarantine.instances else []
        held += ["quarantined_tests"] if known in quarantine.tests else []
        update = {**identity, "flags": (*reward.flags, *held), **self._told(reward)}
        return reward.model_copy(update=update)

    def _told(self, reward: Reward) -> Mapping[str, object]:
        """What errors said, as it may be handed on: every line comes by here, whoever made it."""
        dataset, config = self.plan.dataset, self.config
        places = (dataset.root or dataset.path.parent, config.invocation_params.dir, config.rootpath)
        paths = host_paths(*map(str, places), str(self.run.settings.results))
        attempts = (each.model_copy(update={"detail": paths.shown(each.detail)}) for each in reward.attempts)
        return {
            "detail": paths.shown(reward.detail),
            "attempts": tuple(attempts),
            "steps": reward.steps and tuple(cast("list[dict[str, object]]", paths.shown_in(reward.steps))),
        }


def loaded(run: Run, plan: DatasetPlan, planned: Planned) -> tuple[Harness, Instance]:
    """The family of an item's row, and the row with the limits that the options and hooks ask for."""
    dataset, settings = plan.dataset, run.settings
    row = run.quarantine.applied(dataset.load(planned.ref), planned.instance_id)
    if settings.repairs == "off":
        row = {**row, "repairs": False}
    harness = run.harness_of(row, dataset)
    instance = harness.instance(row, dataset.origin(planned.ref))
    spec = instance.spec
    if settings.timeout is not None:
        instance = replace(instance, steps=tuple(replace(s, timeout=settings.timeout) for s in instance.steps))
    spec = replace(
        spec,
        network=settings.network or spec.network,
        cpus=settings.cpus if settings.cpus is not None else spec.cpus,
        memory_mb=settings.memory_mb if settings.memory_mb is not None else spec.memory_mb,
        pids=settings.pids if settings.pids is not None else spec.pids,
        seconds=max(spec.seconds, 2 * sum(step.timeout for step in instance.steps) + 600),
    )
    with user_code("pytest_swe_sandbox_spec"):
        changed = run.config.hook.pytest_swe_sandbox_spec(config=run.config, instance=instance, spec=spec)
    if not isinstance(changed, SandboxSpec | None):
        raise SweError(f"pytest_swe_sandbox_spec returned {reprlib.repr(changed)}: expected a SandboxSpec")
    return harness, replace(instance, spec=changed or spec)
