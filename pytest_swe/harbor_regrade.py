"""Trials of a finished run judged again, with separate verifiers, from their kept artifacts. Needs an engine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_swe import registry
from pytest_swe.agent.oracle import Nop
from pytest_swe.dataset.harbor_tasks import FAMILY
from pytest_swe.dataset.source import Dataset, open_dataset
from pytest_swe.errors import SweError, UsageError
from pytest_swe.harness.harbor import HarborHarness, task_of
from pytest_swe.known import lines_in
from pytest_swe.model import Candidate, Reason
from pytest_swe.policy import Policy
from pytest_swe.regrading import Regraded
from pytest_swe.reward import Verdict, verdict_of_error
from pytest_swe.sandbox.base import SandboxProvider
from pytest_swe.trial.regrading import Regrading
from pytest_swe.trial.setting import TrialSetting

#: What verifiers bring about. Everything else came from the trial around them, of which nothing is repeated.
_OF_VERIFIERS = frozenset({Reason.REWARD_BELOW, Reason.AGENT_TIMED_OUT, Reason.VERIFIER_FAILED})


def has_trials(directory: Path) -> bool:
    """Whether a run's directory holds lines of Harbor tasks."""
    rewards = directory / "rewards.jsonl"
    return rewards.is_file() and any(line["family"] == FAMILY for line in lines_in(rewards))


def regrade_trials(directory: Path, dataset: str | None = None) -> Iterator[Regraded]:
    """Every trial of a run. ``dataset`` overrides the one that run.json names. Raises UsageError.

    The tasks are taken as they are now: to see what a mended verifier says is what this is for.
    """
    try:
        run: Mapping[str, Any] = json.loads((directory / "run.json").read_bytes())
        sources = [dataset] if dataset else [str(entry["path"]) for entry in run["datasets"]]
        name, options = str(run["provider"]), run["options"]
        given = {each: value for each in options["envs"] if (value := os.environ.get(each)) is not None}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{directory}: no readable run.json ({error})", hint="name a run's directory") from None
    datasets = [open_dataset(source) for source in dict.fromkeys(sources)]
    provider = registry.provider(name, options.get("provider_options") or ())
    try:
        for line in lines_in(directory / "rewards.jsonl"):
            if line["family"] == FAMILY and line["logs"]:
                yield _regraded(line, directory / line["logs"], datasets, provider, given)
    finally:
        provider.close()


def _regraded(
    line: Mapping[str, Any],
    place: Path,
    datasets: list[Dataset],
    provider: SandboxProvider,
    given: Mapping[str, str],
) -> Regraded:
    before = Verdict(line["status"], Reason(line["reason"]) if line["reason"] else None)
    kept, impossible, after = "", "", before
    if before.reason is not None and before.reason not in _OF_VERIFIERS:
        kept = f"{before.reason} is nothing that a verifier said"
    else:
        try:
            after = _verdict(line, place, datasets, provider, given)
        except SweError as error:
            after = verdict_of_error(error)
        if after.status == "error" and after.reason != Reason.VERIFIER_FAILED:
            impossible = after.detail or str(after.reason)
        elif before.status == "unresolved" and after.status == "error" and after.reason == before.reason:
            kept = "the control decided, and it is not run again"
        elif before.status == after.status == "unresolved":
            after = before  # why it is none is also the agent's story, which is not told again
    after = before if kept or impossible else after
    return Regraded(line["instance_id"], line["model"], before, after, None, place, kept=kept, impossible=impossible)


def _verdict(
    line: Mapping[str, Any],
    place: Path,
    datasets: list[Dataset],
    provider: SandboxProvider,
    given: Mapping[str, str],
) -> Verdict:
    dataset = next((found for found in datasets if found.name == line["dataset"]), datasets[0])
    instance_id = line["instance_id"]
    instance = HarborHarness().instance(dataset.row(instance_id), dataset.origin(dataset.ref(instance_id)))
    trial = Regrading(
        instance,
        Candidate(model=line["model"], source="gold"),  # no control: it would need an agent's container
        task=task_of(instance),
        setting=TrialSetting(agent=Nop(), given=given),
        provider=provider,
        policy=Policy(retries=1),
        labels={"regrade": line["run_id"], "instance": instance_id},
    )
    trial.kept = place
    reward = trial.run().reward
    return Verdict(reward.status, Reason(reward.reason) if reward.reason else None, reward.detail)
