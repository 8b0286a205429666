"""What a sandbox must be, in the words of the Kubernetes API: a pod, and the policy that takes its network away."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping

from pytest_swe.errors import Unsupported
from pytest_swe.model import JSON, SandboxSpec
from pytest_swe.sandbox.container import CAPABILITIES, HOSTNAME, IDLE
from pytest_swe.sandbox.kubernetes_options import Options

#: Name of the one container of a pod.
CONTAINER = "sandbox"

#: All labels as they are, as JSON: what the API takes as labels is short and plain.
ANNOTATION = "pytest-swe.labels"

#: Pods with this label have no network, where the cluster enforces policies.
NETWORK_LABEL = "pytest-swe.network"
POLICY = "pytest-swe-no-network"

#: https://man7.org/linux/man-pages/man7/capabilities.7.html; the API takes any word, and the container then fails.
KNOWN_CAPABILITIES = frozenset(
    "AUDIT_CONTROL AUDIT_READ AUDIT_WRITE BLOCK_SUSPEND BPF CHECKPOINT_RESTORE CHOWN DAC_OVERRIDE DAC_READ_SEARCH "
    "FOWNER FSETID IPC_LOCK IPC_OWNER KILL LEASE LINUX_IMMUTABLE MAC_ADMIN MAC_OVERRIDE MKNOD NET_ADMIN "
    "NET_BIND_SERVICE NET_BROADCAST NET_RAW PERFMON SETFCAP SETGID SETPCAP SETUID SYSLOG SYS_ADMIN SYS_BOOT "
    "SYS_CHROOT SYS_MODULE SYS_NICE SYS_PACCT SYS_PTRACE SYS_RAWIO SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG "
    "WAKE_ALARM".split()
)

# https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


def pod(
    spec: SandboxSpec, labels: Mapping[str, str], options: Options, *, name: str, owner: Mapping[str, JSON] | None
) -> dict[str, JSON]:
    """The body of a new pod, of a spec that was not refused. ``labels`` carry their prefix.

    Source: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/
    """
    metadata: dict[str, JSON] = {
        "name": name,
        "labels": {**label_words(labels), NETWORK_LABEL: spec.network},
        "annotations": {ANNOTATION: json.dumps(dict(labels), sort_keys=True)},
    }
    if owner is not None:
        metadata["ownerReferences"] = [dict(owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _pod_spec(spec, options)}


def _pod_spec(spec: SandboxSpec, options: Options) -> dict[str, JSON]:
    seconds = math.ceil(spec.seconds)
    made: dict[str, JSON] = {
        "restartPolicy": "Never",
        # The first process ends by itself in time; this ends a pod whose node lost it, and counts from before the pull.
        "activeDeadlineSeconds": seconds + math.ceil(options.start_seconds) + 60,
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "hostname": HOSTNAME,
        "nodeSelector": dict(options.selector()),
        "tolerations": [dict(one) for one in options.tolerated()],
        "imagePullSecrets": [{"name": secret} for secret in options.secrets()],
        "containers": [_container(spec, options, seconds)],
    }
    if spec.network == "none":
        # A resolver that refuses at once: with a policy alone each look-up waits for its time-out.
        made["dnsPolicy"] = "None"
        made["dnsConfig"] = {"nameservers": ["127.0.0.1"]}
    if options.runtime_class:
        made["runtimeClassName"] = options.runtime_class
    if options.priority_class:
        made["priorityClassName"] = options.priority_class
    return made


def _container(spec: SandboxSpec, options: Options, seconds: int) -> dict[str, JSON]:
    capabilities = {*CAPABILITIES, *(name.upper().removeprefix("CAP_") for name in spec.capabilities)}
    return {
        "name": CONTAINER,
        "image": spec.image,
        "imagePullPolicy": options.image_pull_policy,
        # The API expands $(NAME) in words of a command, and $$ is how it writes $.
        "command": [word.replace("$", "$$") for word in ("/bin/sh", "-c", 'eval "$1"', "idle", IDLE, str(seconds))],
        "workingDir": spec.workdir.replace("$", "$$"),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "resources": _resources(spec, options),
        "securityContext": {
            "runAsUser": 0,
            "runAsGroup": 0,
            "privileged": False,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"], "add": [*sorted(capabilities)]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def _resources(spec: SandboxSpec, options: Options) -> dict[str, JSON]:
    """Requests below limits: test suites rarely need all they may have, and a request is room that nobody else gets."""
    requests: dict[str, JSON] = {"cpu": options.cpu_request, "memory": options.memory_request}
    limits: dict[str, JSON] = {}
    if spec.cpus is not None:
        limits["cpu"] = f"{max(1, round(spec.cpus * 1000))}m"
        requests["cpu"] = f"{max(1, int(spec.cpus * 1000 * options.cpu_share))}m"
    if spec.memory_mb is not None:
        limits["memory"] = f"{spec.memory_mb}Mi"
        requests["memory"] = f"{max(1, int(spec.memory_mb * options.memory_share))}Mi"
    if spec.disk_mb is not None:
        limits["ephemeral-storage"] = f"{spec.disk_mb}Mi"
        requests["ephemeral-storage"] = f"{spec.disk_mb}Mi"
    return {"requests": requests, "limits": limits}


def network_policy() -> dict[str, JSON]:
    """Nothing in, nothing out, for the pods that say so: no rule is a rule that lets nothing through."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": POLICY},
        "spec": {"podSelector": {"matchLabels": {NETWORK_LABEL: "none"}}, "policyTypes": ["Ingress", "Egress"]},
    }


def label_words(labels: Mapping[str, str]) -> dict[str, str]:
    """``labels`` as the API takes them: a key or value that is too long or has other signs becomes its digest."""
    return {_word(key): _word(value) if value else "" for key, value in labels.items()}


def selector(labels: Mapping[str, str]) -> str:
    """Finds the pods that may carry ``labels``; `labels_of` then tells whether they do."""
    return ",".join(f"{key}={value}" for key, value in label_words(labels).items())


def labels_of(found: Mapping[str, JSON]) -> dict[str, str]:
    """The labels of a pod as they were given; empty when it is none of ours."""
    metadata = found.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    text = annotations.get(ANNOTATION) if isinstance(annotations, dict) else None
    try:
        labels = json.loads(str(text))
    except ValueError:
        return {}
    return {str(key): str(value) for key, value in labels.items()} if isinstance(labels, dict) else {}


def refuse_unsupported(spec: SandboxSpec, options: Options) -> None:
    """Raise Unsupported, naming the field that this cluster cannot honour."""
    if spec.network not in ("none", "full"):
        raise Unsupported(f"network={spec.network!r}: the Kubernetes provider knows 'none' and 'full'")
    if spec.network == "none" and options.network_policy != "enforced":
        raise Unsupported(
            "network='none': whether this cluster enforces NetworkPolicy is not known",
            hint="if it does, say --swe-provider-option network_policy=enforced; else --swe-network full",
        )
    if spec.pids is not None and options.pids_limit != "enforced":
        raise Unsupported(
            f"pids={spec.pids}: a pod cannot ask for a limit of processes",
            hint="where kubelets set podPidsLimit, say --swe-provider-option pids_limit=enforced",
        )
    if spec.platform not in (None, options.platform):
        raise Unsupported(f"platform={spec.platform}: pods go to nodes of {options.platform} (option platform)")
    if spec.keep_entrypoint:
        raise Unsupported("keep_entrypoint: a pod's first process is not the image's own")
    if not spec.workdir.startswith("/"):
        raise Unsupported(f"workdir={spec.workdir!r}: it must be an absolute path")
    unknown = sorted({name.upper().removeprefix("CAP_") for name in spec.capabilities} - KNOWN_CAPABILITIES)
    if unknown:
        raise Unsupported(f"capabilities: {', '.join(unknown)}: no capability of Linux to be given by name")
    if spec.seconds <= 0:
        raise Unsupported(f"seconds={spec.seconds}: a sandbox lives longer than that")


def _word(text: str) -> str:
    return text if _LABEL.fullmatch(text) else f"sha256.{hashlib.sha256(text.encode()).hexdigest()[:40]}"
