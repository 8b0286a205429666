"""Which kind of work an item is: a patch to judge, an agent that makes one first, or a task in which an agent works."""

from __future__ import annotations

from pytest_swe.agent.instruction import instruction_of
from pytest_swe.agent_job import AgentJob
from pytest_swe.agents import agent_setting, trial_setting
from pytest_swe.errors import Unsupported
from pytest_swe.harbor.task import HarborTask
from pytest_swe.item import SweItem
from pytest_swe.job import Job
from pytest_swe.model import Candidate, Instance
from pytest_swe.run import labels_of
from pytest_swe.sandbox.base import SandboxProvider
from pytest_swe.trial.trial import Trial
from pytest_swe.working import Working


def job_of(item: SweItem, instance: Instance, candidate: Candidate, provider: SandboxProvider) -> Working:
    """The work of ``item``. Raises RowInvalid, UsageError, Unsupported."""
    if isinstance(instance.payload, HarborTask):
        return _trial(item, instance, instance.payload, candidate, provider)
    if candidate.agent:
        return _agent_job(item, instance, candidate, provider)
    return Job(
        instance,
        candidate,
        harness=item.harness,
        provider=provider,
        policy=item.run.policy,
        labels=labels_of(item.run, item.planned),
    )


def _agent_job(item: SweItem, instance: Instance, candidate: Candidate, provider: SandboxProvider) -> AgentJob:
    if not provider.capabilities.isolated:
        raise Unsupported(
            f"provider {provider.name} has no isolation here, and an agent does as it likes",
            hint="apt-get install bubblewrap, or --swe-provider docker",
        )
    run, row = item.run, item.plan.dataset.load(item.planned.ref)
    return AgentJob(
        instance,
        candidate,
        setting=agent_setting(item.source, run.settings),
        instruction=instruction_of(row),
        base_commit=str(row.get("base_commit") or ""),
        harness=item.harness,
        provider=provider,
        network=run.settings.agent_network or "none",
        place=run.logs_of(item.plan, item.planned),
        policy=run.policy,
        labels=labels_of(run, item.planned),
    )


def _trial(
    item: SweItem, instance: Instance, task: HarborTask, candidate: Candidate, provider: SandboxProvider
) -> Trial:
    if candidate.patch is not None:
        raise Unsupported("a Harbor task is not judged by a patch", hint="--swe-agent NAME, or --swe-preds gold")
    run = item.run
    return Trial(
        instance,
        candidate,
        task=task,
        setting=trial_setting(item.source, run.settings),
        provider=provider,
        place=run.logs_of(item.plan, item.planned),
        policy=run.policy,
        labels=labels_of(run, item.planned),
    )
