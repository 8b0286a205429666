"""Which kind of work an item is: a patch to judge, or an agent that makes one first."""

from __future__ import annotations

from pytest_swe.agent.instruction import instruction_of
from pytest_swe.agent_job import AgentJob
from pytest_swe.agents import agent_setting
from pytest_swe.item import SweItem
from pytest_swe.job import Job
from pytest_swe.model import Candidate, Instance
from pytest_swe.run import labels_of
from pytest_swe.sandbox.base import SandboxProvider
from pytest_swe.working import Working


def job_of(item: SweItem, instance: Instance, candidate: Candidate, provider: SandboxProvider) -> Working:
    """The work of ``item``. Raises RowInvalid, UsageError."""
    run, labels = item.run, labels_of(item.run, item.planned)
    if not candidate.agent:
        return Job(instance, candidate, harness=item.harness, provider=provider, policy=run.policy, labels=labels)
    return AgentJob(
        instance,
        candidate,
        setting=agent_setting(item.source, run.settings),
        instruction=instruction_of(item.plan.dataset.load(item.planned.ref)),
        harness=item.harness,
        provider=provider,
        network=run.settings.agent_network or "none",
        place=run.logs_of(item.plan, item.planned) / "agent",
        policy=run.policy,
        labels=labels,
    )
