"""Why pods do not start or are over, from statuses as clusters write them, those too that no test cluster gives."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_swe.errors import (
    DiskFull,
    ImageUnavailable,
    OutOfMemory,
    SandboxError,
    SandboxLost,
    SandboxRemoved,
    SandboxStartFailed,
)
from pytest_swe.sandbox import kubernetes_causes as causes


def pod(state: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    """A scheduled pod whose container is in ``state``."""
    statuses = [{"name": "sandbox", "state": state}] if state else []
    scheduled = [{"type": "PodScheduled", "status": "True"}]
    usual = {"phase": "Pending", "conditions": scheduled, "containerStatuses": statuses}
    return {"metadata": {}, "status": usual | status}


RUNNING = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}


def terminated(code: int, reason: str) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason}}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message}}


@pytest.mark.parametrize(
    ("found", "phase"),
    [
        (pod(conditions=[]), "waits for room"),
        (pod(conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]), "waits for room"),
        (pod(), "starts"),
        (pod(waiting("ContainerCreating")), "starts"),
        (pod(waiting("PodInitializing")), "starts"),
        (pod(waiting("ErrImagePull")), "pull fails"),
        (pod(waiting("ImagePullBackOff")), "pull fails"),
        (pod(waiting("CreateContainerConfigError")), "over"),
        (pod(waiting("RunContainerError")), "over"),
        (pod(RUNNING, phase="Running"), "runs"),
        (pod(terminated(0, "Completed"), phase="Succeeded"), "over"),
        (pod(terminated(137, "Error"), phase="Running"), "over"),
        ({**pod(RUNNING, phase="Running"), "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, "over"),
        (pod(phase="Failed", reason="NodeAffinity"), "over"),
        ({}, "over"),
    ],
)
def test_how_far_a_pod_is(found: dict[str, Any], phase: str) -> None:
    assert causes.phase(found)[0] == phase


DISRUPTED = {"type": "DisruptionTarget", "status": "True"}
EVICTED = "The node was low on resource: {}. Container sandbox was using 1Gi."


@pytest.mark.parametrize(
    ("found", "events", "kind", "words"),
    [
        (None, [], SandboxLost, "removed"),
        (None, [{"reason": "Preempted"}], SandboxRemoved, "higher priority"),
        (None, [{"reason": "Killing"}, {"reason": "TaintManagerEviction"}], SandboxLost, "did not answer"),
        (pod(RUNNING, reason="NodeLost"), [], SandboxLost, "did not answer"),
        (pod(RUNNING, conditions=[DISRUPTED | {"reason": "PreemptionByScheduler"}]), [], SandboxRemoved, "priority"),
        (pod(RUNNING, conditions=[DISRUPTED | {"reason": "DeletionByPodGC"}]), [], SandboxLost, "node is gone"),
        (pod(phase="Failed", reason="Shutdown"), [], SandboxLost, "shut down"),
        (pod(phase="Failed", reason="DeadlineExceeded"), [], SandboxLost, "deadline"),
        (pod(phase="Failed", reason="Evicted", message=EVICTED.format("memory")), [], SandboxLost, "evicted"),
        (pod(phase="Failed", reason="Evicted", message=EVICTED.format("ephemeral-storage")), [], DiskFull, "disk"),
        (
            pod(phase="Failed", reason="Evicted"),
            [{"reason": "Evicted", "metadata": {"annotations": {"starved_resource": "ephemeral-storage"}}}],
            DiskFull,
            "disk",
        ),
        (pod(terminated(0, "Completed"), phase="Succeeded"), [], SandboxLost, "deadline"),
        (pod(terminated(137, "OOMKilled"), phase="Failed"), [], OutOfMemory, "memory"),
        (pod(terminated(0, "OOMKilled"), phase="Succeeded"), [], SandboxLost, "deadline"),
        (pod(terminated(137, "Error"), phase="Failed"), [], SandboxLost, "killed"),
        (pod(terminated(127, "Error"), phase="Failed"), [], SandboxStartFailed, "status 127"),
        (pod(terminated(1, "Error"), phase="Failed"), [], SandboxStartFailed, "status 1"),
    ],
)
def test_what_became_of_a_sandbox(
    found: dict[str, Any] | None, events: list[dict[str, Any]], kind: type[SandboxError], words: str
) -> None:
    error = causes.over(found, events)
    assert type(error) is kind
    assert words in str(error)
    assert "\n" not in str(error)


def test_a_pull_that_is_no_use_to_try_again() -> None:
    assert causes.never_pulls(pod(waiting("ErrImageNeverPull")), "")
    assert causes.never_pulls(pod(waiting("ErrImagePull")), "manifest unknown: manifest unknown")
    assert not causes.never_pulls(pod(waiting("ErrImagePull")), "toomanyrequests: Rate exceeded")
    assert isinstance(causes.pull_failed("i", "x\ny"), ImageUnavailable)
    assert "\n" not in str(causes.pull_failed("i", "x\ny"))


def test_a_pod_that_never_ran() -> None:
    message = 'exec: "/bin/sh": stat /bin/sh: no such file\nor directory'
    error = causes.not_started(pod(waiting("RunContainerError", message)), "i")
    assert isinstance(error, SandboxStartFailed)
    assert "RunContainerError" in str(error)
    assert "\n" not in str(error)
    assert isinstance(causes.not_started(pod(phase="Failed", reason="Evicted"), "i"), SandboxLost)
    assert isinstance(causes.not_started(None, "i"), SandboxStartFailed)
