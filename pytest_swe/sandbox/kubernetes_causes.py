"""Why a pod does not start, or is over: read from its status, its events where the status is gone. Pure.

Reasons are words of the API for machines; what its messages say in English is only passed on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, cast

from pytest_swe.errors import (
    DiskFull,
    ImageUnavailable,
    OutOfMemory,
    SandboxError,
    SandboxLost,
    SandboxRemoved,
    SandboxStartFailed,
)
from pytest_swe.model import JSON

Pod = Mapping[str, JSON]
Phase = Literal["waits for room", "starts", "pull fails", "runs", "over"]

#: Waiting reasons of a container: https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/images/types.go
PULL_FAILS = (
    "ErrImagePull",
    "ImagePullBackOff",
    "RegistryUnavailable",
    "ImageInspectError",
    "SignatureValidationFailed",
)
NO_PULL = ("ErrImageNeverPull", "InvalidImageName")
#: https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/container/sync_result.go
NO_START = (
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "PreCreateHookError",
    "StartError",
)

#: Reasons of events, and of the condition DisruptionTarget, with which a cluster takes a pod away.
TAKEN = {
    "Preempted": "a pod of higher priority took its place",
    "PreemptionByScheduler": "a pod of higher priority took its place",
    "TaintManagerEviction": "its node was tainted or did not answer any more",
    "DeletionByTaintManager": "its node was tainted or did not answer any more",
    "DeletionByPodGC": "its node is gone",
    "NodeNotReady": "its node did not answer any more",
    "NodeLost": "its node did not answer any more",
    "NodeShutdown": "its node was shut down",
    "Terminated": "its node was shut down",
    "Shutdown": "its node was shut down",
    "EvictionByEvictionAPI": "it was evicted through the API",
    "TerminationByKubelet": "its node ended it",
    "Preempting": "its node needed its place for a system pod",
}

#: Those of them that nothing in the pod can have brought about.
TAKEN_BY_OTHERS = frozenset({"Preempted", "PreemptionByScheduler", "EvictionByEvictionAPI"})

#: In an eviction's message; only there the resource is named, other than by an annotation of its event.
_DISK = re.compile(r"ephemeral|nodefs|imagefs|inodes", re.I)
_NEVER = re.compile(r"unauthorized|denied|manifest unknown|no matching manifest|not found|invalid reference", re.I)

#: The exit status of a process that SIGKILL ended.
KILLED = 137


def phase(pod: Pod) -> tuple[Phase, str]:
    """How far a pod is, and the cluster's words on it."""
    if (
        not pod
        or _path(pod, "metadata", "deletionTimestamp")
        or _text(pod, "status", "phase") in ("Failed", "Succeeded")
    ):
        return "over", _text(pod, "status", "message")
    state = _state(pod)
    if "running" in state:
        return "runs", ""
    if "terminated" in state:
        return "over", ""
    waiting, words = _text(state, "waiting", "reason"), _text(state, "waiting", "message")
    if waiting in (*PULL_FAILS, *NO_PULL):
        return "pull fails", words or waiting
    if waiting in NO_START:
        return "over", words or waiting
    scheduled = _condition(pod, "PodScheduled")
    if scheduled.get("status") != "True":
        return "waits for room", str(scheduled.get("message") or "")
    return "starts", waiting


def is_over(pod: Pod | None) -> bool:
    """Whether a pod that ran runs no more, or is about to."""
    return pod is None or phase(pod)[0] == "over"


def ended_in_time(pod: Pod) -> bool:
    """Whether its first process has come to the end of its seconds."""
    ended = _state(pod).get("terminated")
    return isinstance(ended, dict) and ended.get("exitCode") == 0


def needs_events(pod: Pod | None) -> bool:
    """Whether the status does not tell: of a pod that is gone, or was taken away."""
    return (
        pod is None or bool(_path(pod, "metadata", "deletionTimestamp")) or _text(pod, "status", "reason") == "Evicted"
    )


def never_pulls(pod: Pod, words: str) -> bool:
    """Whether to try a failed pull again is no use."""
    return _text(_state(pod), "waiting", "reason") in NO_PULL or bool(_NEVER.search(words))


def pull_failed(image: str, words: str) -> ImageUnavailable:
    hint = "is the name right, the registry reachable from the nodes, and image_pull_secrets set?"
    return ImageUnavailable(f"no image {image}: {_one_line(words)}", hint=hint)


def not_started(pod: Pod | None, image: str) -> SandboxError:
    """Why a pod that never ran is over."""
    words = _words(pod) or "it was removed"
    if pod and _text(pod, "status", "reason") == "Evicted":
        return over(pod, [])
    if pod and _text(_state(pod), "terminated", "reason") == "OOMKilled":
        return OutOfMemory(f"the kernel killed the sandbox's first process for memory: {words}")
    return SandboxStartFailed(f"{image} does not start: {words}", hint="an image needs /bin/sh and sleep")


def over(pod: Pod | None, events: Sequence[Mapping[str, JSON]]) -> SandboxError:
    """What became of a pod that ran."""
    status_reason = _text(pod or {}, "status", "reason")
    reasons = [status_reason, _text(_condition(pod or {}, "DisruptionTarget"), "reason")]
    reasons += [_text(event, "reason") for event in events]
    if "Evicted" in reasons:
        return _evicted(pod or {}, events)
    taken = next((reason for reason in reasons if reason in TAKEN), "")
    if taken:
        kind = SandboxRemoved if taken in TAKEN_BY_OTHERS else SandboxLost
        return kind(f"the sandbox is gone: {TAKEN[taken]}")
    if status_reason == "DeadlineExceeded":
        return SandboxLost("the sandbox is over: its deadline has passed")
    if pod is None or _path(pod, "metadata", "deletionTimestamp"):
        return SandboxLost("the sandbox is gone: its pod was removed")
    return _ended(pod)


def _ended(pod: Pod) -> SandboxError:
    ended = cast("Mapping[str, JSON]", _state(pod).get("terminated") or {})
    code = ended.get("exitCode")
    if code == 0:
        return SandboxLost("the sandbox is over: its deadline has passed")
    if ended.get("reason") == "OOMKilled":
        return OutOfMemory("the kernel killed the sandbox for memory")
    if code in (KILLED, None):
        return SandboxLost(f"the sandbox is gone: it was killed {_words(pod)}".strip())
    hint = "an image needs /bin/sh, sleep, and the architecture of its node"
    return SandboxStartFailed(f"the sandbox's first process ended with status {code}: {_words(pod)}", hint=hint)


def _evicted(pod: Pod, events: Sequence[Mapping[str, JSON]]) -> SandboxError:
    """https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/eviction/helpers.go: ``starved_resource``."""
    told = [event for event in events if _text(event, "reason") == "Evicted"]
    starved = [_text(event, "metadata", "annotations", "starved_resource") for event in told]
    words = _text(pod, "status", "message") or next((_text(event, "message") for event in told), "")
    if any(_DISK.search(text) for text in (*starved, words)):
        return DiskFull(f"the node evicted the sandbox for disk space: {_one_line(words)}")
    return SandboxLost(f"the node evicted the sandbox: {_one_line(words)}")


def _words(pod: Pod | None) -> str:
    """What the cluster and the first process said last."""
    if not pod:
        return ""
    state = _state(pod)
    found = [
        _text(pod, "status", "reason"),
        _text(pod, "status", "message"),
        *(_text(state, kind, key) for kind in ("waiting", "terminated") for key in ("reason", "message")),
    ]
    return _one_line(": ".join(dict.fromkeys(word.strip() for word in found if word.strip())))


def _state(pod: Pod) -> Mapping[str, JSON]:
    """The state of the one container."""
    statuses = _path(pod, "status", "containerStatuses")
    first = statuses[0] if isinstance(statuses, list) and statuses else {}
    state = first.get("state") if isinstance(first, dict) else None
    return state if isinstance(state, dict) else {}


def _condition(pod: Pod, kind: str) -> Mapping[str, JSON]:
    conditions = _path(pod, "status", "conditions")
    for one in conditions if isinstance(conditions, list) else []:
        if isinstance(one, dict) and one.get("type") == kind:
            return one
    return {}


def _path(value: Mapping[str, JSON], *keys: str) -> JSON:
    found: JSON = dict(value)
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _text(value: Mapping[str, JSON], *keys: str) -> str:
    found = _path(value, *keys)
    return found if isinstance(found, str) else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())[:400]
