"""Sandboxes of an OpenSandbox server, through its SDK. https://github.com/alibaba/OpenSandbox"""

from __future__ import annotations

import hashlib
import math
import os
import platform
import re
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from pytest_swe.errors import DiskFull, ImageUnavailable, SandboxStartFailed, SweError, Unsupported
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import Capabilities, Sandbox
from pytest_swe.sandbox.opensandbox_client import Refused, Service, Silent
from pytest_swe.sandbox.opensandbox_sandbox import OpenSandboxSandbox, checked_env, checked_text
from pytest_swe.sandbox.owner import PID, deadline_passed, owner_is_dead, owner_labels, prefixed

#: Seconds in which a sandbox that was started must answer.
READY_SECONDS = 60.0

#: Seconds that a sandbox lives on by itself: it must first get ready, and its owner ends it in time. The server's own
#: clock takes no less than its minimum, and is the last net.
SPARE_SECONDS = 15
LEAST_SECONDS = 60

#: Removals at once in a sweep.
SWEEPERS = 8

_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class OpenSandboxProvider:
    """See `pytest_swe.sandbox.base.SandboxProvider`.

    ``domain``: ``host:port`` of the server, by default OPEN_SANDBOX_DOMAIN. Its key comes from OPEN_SANDBOX_API_KEY
    alone: an option can be read by everybody.
    ``use_server_proxy``: reach sandboxes through the server, where they cannot be reached themselves.
    ``platform`` is what the server's sandboxes are. Nothing is connected before the first call.
    """

    name = "opensandbox"

    def __init__(
        self,
        *,
        domain: str | None = None,
        protocol: str = "http",
        use_server_proxy: bool = False,
        platform: str | None = None,
    ) -> None:
        self._domain = domain
        self._protocol = protocol
        self._use_server_proxy = use_server_proxy
        address = domain or os.environ.get("OPEN_SANDBOX_DOMAIN") or "localhost:8080"
        self._lock = threading.Lock()
        self._service: Service | None = None
        self.capabilities = Capabilities(
            # A policy that denies all needs the server's egress side-car, which by default filters names, not
            # addresses; and nobody can ask the server how it is set up.
            networks=frozenset({"full"}),
            # The number of processes is one setting of the server for all sandboxes.
            pids=False,
            platform=platform or _platform_here(),
            shares_host=address.rpartition("/")[2].rpartition(":")[0] in _LOCAL,
        )

    def check(self) -> str:
        service = self._connected()
        service.state("pytest-swe-check")
        return f"OpenSandbox at {service.domain}"

    def acquire(self, spec: SandboxSpec, *, labels: Mapping[str, str]) -> Sandbox:
        """Create a sandbox and wait until it answers; the server pulls its image. For errors see the contract."""
        self._refuse_unsupported(spec)
        service = self._connected()
        carried = owner_labels(labels, seconds=spec.seconds)
        life = math.ceil(spec.seconds) + SPARE_SECONDS
        try:
            made = service.create(
                spec.image,
                ["sleep", str(life)],
                metadata={key: encoded(value) for key, value in carried.items()},
                resources=_resources(spec),
                platform=spec.platform,
                seconds=max(LEAST_SECONDS, life + SPARE_SECONDS),
            )
        except Refused as refusal:
            raise _not_created(refusal, spec) from refusal
        try:
            machine = service.machine(made, READY_SECONDS)
            sandbox = OpenSandboxSandbox(service, made, machine, spec, attach=self._attach(service.domain, made))
            sandbox.prepare()
        except Silent as silence:
            state = service.state(made)
            service.kill(made)
            hint = "an image needs /bin/sh, sleep, and what the server's execd needs"
            raise SandboxStartFailed(f"{spec.image} does not get ready ({state}): {silence}", hint=hint) from silence
        except BaseException:
            service.kill(made)
            raise
        return sandbox

    def sweep(self, labels: Mapping[str, str] | None = None) -> int:
        """See the contract. Raises ValueError for empty ``labels``: that would be everybody's sandboxes."""
        if labels is not None and not labels:
            raise ValueError("sweep needs labels, or None for what dead owners left")
        service = self._connected()
        found = service.find({key: encoded(value) for key, value in prefixed(labels or {}).items()})
        if labels is None:
            found = [(sandbox, metadata) for sandbox, metadata in found if _is_left(metadata)]
        with ThreadPoolExecutor(SWEEPERS) as pool:
            return sum(pool.map(service.kill, [sandbox for sandbox, _ in found]))

    def close(self) -> None:
        with self._lock:
            service, self._service = self._service, None
        if service is not None:
            service.close()

    def _attach(self, domain: str, sandbox: str) -> tuple[str, ...]:
        """On this host the server's own engine opens a shell; from afar there are only single commands to add."""
        if self.capabilities.shares_host:
            return ("docker", "exec", "-it", f"sandbox-{sandbox}", "bash")
        return ("osb", "--domain", domain, "command", "run", sandbox, "-o", "raw", "--")

    def _connected(self) -> Service:
        with self._lock:
            if self._service is None:
                self._service = Service(self._domain, protocol=self._protocol, use_server_proxy=self._use_server_proxy)
            return self._service

    def _refuse_unsupported(self, spec: SandboxSpec) -> None:
        """Raise Unsupported, naming the field that the service does not offer."""
        checked_text(spec.image, spec.workdir, spec.user)
        checked_env(spec.env)
        if spec.network not in self.capabilities.networks:
            hint = "run with --swe-network full, or use --swe-provider docker"
            raise Unsupported(f"network={spec.network!r}: OpenSandbox does not take the network away", hint=hint)
        if spec.pids is not None:
            raise Unsupported(f"pids={spec.pids}: OpenSandbox limits processes by its server's own setting")
        if spec.disk_mb is not None:
            raise Unsupported(f"disk_mb={spec.disk_mb}: OpenSandbox cannot limit disk space")
        if spec.keep_entrypoint:
            raise Unsupported("keep_entrypoint: OpenSandbox replaces the image's entrypoint")
        if spec.capabilities:
            raise Unsupported(f"capabilities={','.join(spec.capabilities)}: OpenSandbox gives no more rights")
        if not spec.workdir.startswith("/"):
            raise Unsupported(f"workdir={spec.workdir!r}: it must be an absolute path")
        if not spec.image:
            raise ImageUnavailable("no image is named")


def encoded(value: str) -> str:
    """``value`` as the server takes it: 63 letters, digits, ``-``, ``_`` and ``.``, the first and last no sign.

    What is too long is told apart, but cannot be read back.
    """
    plain = re.sub(r"[^A-Za-z0-9.-]", lambda found: "".join(f"_{byte:02x}" for byte in found[0].encode()), value)
    if len(plain) > 61:
        return f"h{hashlib.sha256(value.encode()).hexdigest()[:61]}h"
    return f"v{plain}v"


def decoded(text: str) -> str:
    """The value of what `encoded` made; empty where that cannot be read back."""
    if not (text.startswith("v") and text.endswith("v")):
        return ""
    escaped = re.sub(rb"_([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()), text[1:-1].encode())
    return escaped.decode("utf-8", "replace")


def _is_left(metadata: Mapping[str, str]) -> bool:
    labels = {key: decoded(value) for key, value in metadata.items()}
    return PID in labels and (owner_is_dead(labels) or deadline_passed(labels))


def _resources(spec: SandboxSpec) -> dict[str, str]:
    resources: dict[str, str] = {}
    if spec.cpus is not None:
        resources["cpu"] = f"{max(1, round(spec.cpus * 1000))}m"
    if spec.memory_mb is not None:
        resources["memory"] = f"{spec.memory_mb}Mi"
    return resources


def _not_created(refusal: Refused, spec: SandboxSpec) -> SweError:
    """The server's code says what; of a full disk only its engine's words tell."""
    message = str(refusal)
    if "no space left" in message:
        return DiskFull(f"no space left to create a sandbox of {spec.image}")
    if "IMAGE" in refusal.code:
        return ImageUnavailable(f"no image {spec.image}: {message}")
    if 400 <= refusal.status < 500:
        return Unsupported(f"the OpenSandbox server cannot honour this sandbox: {message}")
    return SandboxStartFailed(f"the OpenSandbox server did not create a sandbox of {spec.image}: {message}")


def _platform_here() -> str:
    machine = platform.machine()
    return f"linux/{_ARCHITECTURES.get(machine, machine)}"
