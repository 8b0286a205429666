"""What a sandbox must be, in the words of the Docker engine's API."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

from pytest_swe.errors import Unsupported
from pytest_swe.model import JSON, SandboxSpec
from pytest_swe.sandbox.container import CAPABILITIES as CAPABILITIES
from pytest_swe.sandbox.container import HOSTNAME, IDLE, KERNEL_CAPABILITIES

#: Processes and threads of a sandbox whose row names no limit: no suite needs as many, and a fork bomb leaves its host
#: half of the kernel's usual 32768.
PIDS = 16384


class Limits(Protocol):
    """What an engine can limit."""

    @property
    def cpus(self) -> bool: ...
    @property
    def memory(self) -> bool: ...
    @property
    def pids(self) -> bool: ...


def container_config(spec: SandboxSpec, labels: Mapping[str, str]) -> dict[str, JSON]:
    """The body of ``POST /containers/create``, of a spec that was not refused.

    Source: https://docs.docker.com/reference/api/engine/version/v1.41/#tag/Container/operation/ContainerCreate
    """
    capabilities = {*CAPABILITIES, *(name.upper().removeprefix("CAP_") for name in spec.capabilities)}
    host: dict[str, JSON] = {
        "NetworkMode": "bridge" if spec.network == "full" else "none",
        "CapDrop": ["ALL"],
        "CapAdd": [*sorted(capabilities)],
        "SecurityOpt": ["no-new-privileges"],
        # The engine's own defaults may be an init, which ends by a ``kill -9 -1`` inside, and a log without end.
        "Init": False,
        "PidsLimit": PIDS if spec.pids is None else spec.pids,
        "LogConfig": {"Type": "json-file", "Config": {"max-size": "64k", "max-file": "1"}},
    }
    if spec.network == "none":
        host["ExtraHosts"] = [f"{HOSTNAME}:127.0.0.1"]
    if spec.cpus is not None:
        host["NanoCpus"] = int(spec.cpus * 1e9)
    if spec.memory_mb is not None:
        # Swap counts as memory here: the same number for both means none.
        host["Memory"] = host["MemorySwap"] = spec.memory_mb * 1024 * 1024
    return {
        "Image": spec.image,
        **_first_process(spec),
        "WorkingDir": spec.workdir,
        "Env": [f"{name}={value}" for name, value in spec.env.items()],
        "Hostname": HOSTNAME,
        "Labels": dict(labels),
        "Healthcheck": {"Test": ["NONE"]},
        # The first process ignores SIGTERM, and an engine that goes down would wait ten seconds for it.
        "StopSignal": "SIGKILL",
        "HostConfig": host,
    }


def idle(seconds: float) -> list[str]:
    """The command that waits in a sandbox, for at most ``seconds``."""
    return ["/bin/sh", "-c", 'eval "$1"', "idle", IDLE, str(math.ceil(seconds))]


def _first_process(spec: SandboxSpec) -> dict[str, JSON]:
    """Always as root: in a container of another user's, commands of root have none of root's rights, not even to kill.

    An image's own entrypoint is given the command.
    """
    if spec.keep_entrypoint:
        return {"Cmd": [*idle(spec.seconds)], "User": "0"}
    return {"Entrypoint": [*idle(spec.seconds)], "Cmd": [], "User": "0"}


def checked_text(*values: str) -> None:
    """Raise Unsupported for what the API would change in silence: it takes UTF-8 text, and C strings end at NUL."""
    for value in values:
        if "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
            raise Unsupported(f"{value!r}: the Docker API takes UTF-8 text without NUL")


def checked_env(env: Mapping[str, str]) -> None:
    """Raise Unsupported for variables that the API cannot carry."""
    checked_text(*env, *env.values())
    for name in env:
        if not name or "=" in name:
            raise Unsupported(f"env: {name!r} is no name of a variable")


def refuse_unsupported(spec: SandboxSpec, able: Limits | None = None) -> None:
    """Raise Unsupported, naming the field that no Docker engine can honour, or that this one cannot limit."""
    checked_text(spec.image, spec.workdir, spec.user)
    checked_env(spec.env)
    if spec.disk_mb is not None:
        raise Unsupported(f"disk_mb={spec.disk_mb}: the Docker provider cannot limit disk space")
    for name, value in (("cpus", spec.cpus), ("memory_mb", spec.memory_mb), ("pids", spec.pids)):
        if value is not None and able is not None and not getattr(able, name.removesuffix("_mb")):
            raise Unsupported(
                f"{name}={value}: this engine cannot limit it", hint="rootless needs cgroup v2 and delegation"
            )
    if spec.network not in ("none", "full"):
        raise Unsupported(f"network={spec.network!r}: the Docker provider knows 'none' and 'full'")
    if not spec.workdir.startswith("/") and not (spec.keep_entrypoint and not spec.workdir):
        raise Unsupported(f"workdir={spec.workdir!r}: it must be an absolute path")
    for name in spec.capabilities:
        if name.upper() == "ALL":
            raise Unsupported("capabilities: 'ALL' would be no sandbox; name those that are needed")
        if name.upper().removeprefix("CAP_") not in KERNEL_CAPABILITIES:
            raise Unsupported(f"capabilities: the kernel has no {name}")
