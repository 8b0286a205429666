"""Sandboxes as instances of Apptainer (or SingularityCE): without a daemon, for root and for ordinary users.

Each is an image, an overlay of its own on disk, and namespaces for everything; see ``docs/providers/apptainer.md``.
"""

from __future__ import annotations

import platform
import posixpath
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pytest_swe.errors import ImageUnavailable, SandboxStartFailed, Unsupported, UsageError
from pytest_swe.model import Network, SandboxSpec
from pytest_swe.sandbox import apptainer_instance as instances
from pytest_swe.sandbox.apptainer_images import ApptainerImages
from pytest_swe.sandbox.apptainer_program import Program, find, rights_of, write_parts
from pytest_swe.sandbox.apptainer_sandbox import ApptainerSandbox
from pytest_swe.sandbox.apptainer_script import refuse_env, refuse_text
from pytest_swe.sandbox.apptainer_store import Store
from pytest_swe.sandbox.base import Capabilities, ImageFacts
from pytest_swe.sandbox.host.failures import as_sandbox_errors
from pytest_swe.sandbox.host.places import state_directory
from pytest_swe.sandbox.host.records import Records
from pytest_swe.sandbox.images.pull import Puller, PullPolicy
from pytest_swe.sandbox.owner import deadline_passed, owner_is_dead, owner_labels, prefixed

BUILDS = ("auto", "sif", "directory")

_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


class ApptainerProvider:
    """See `pytest_swe.sandbox.base.SandboxProvider`; Linux only.

    ``program``: the apptainer to use, else that of PATH. ``images``: the folder of ready images and archives.
    ``state``: where sandboxes and built images stand, by default `state_directory`. ``build``: what images are built
    as, ``sif`` (one file) or ``directory``; ``auto`` takes directories where no SIF file can be mounted (a user without
    /dev/fuse). ``policy``: how missing images are fetched. Raises EngineUnavailable without an apptainer that runs,
    UsageError for an option it cannot use.
    """

    name = "apptainer"

    def __init__(
        self,
        *,
        program: str | None = None,
        images: Path | str | None = None,
        state: Path | str | None = None,
        build: str = "auto",
        policy: PullPolicy | None = None,
    ) -> None:
        if build not in BUILDS:
            raise UsageError(f"provider apptainer: build={build}: expected {', '.join(BUILDS)}")
        self._program = find(program)
        base = (Path(state).absolute() if state else state_directory()) / "apptainer"
        if set(str(base)) & set(":,"):
            raise UsageError(f"provider apptainer: state={base}: apptainer takes no path with a colon or comma")
        unpacked = build == "directory" or (build == "auto" and not self._program.fuse)
        self._store = Store(base / "images", sandboxes=base / "sandboxes", unpacked=unpacked)
        self._images = ApptainerImages(self._program, self._store, images=Path(images).absolute() if images else None)
        self._puller = Puller(self._images, policy or PullPolicy())
        self._known: dict[str, tuple[Path, str]] = {}
        self._parts = base / "parts"
        self._records = Records(base / "sandboxes", kind="apptainer", end=instances.end)
        self._lock = threading.Lock()
        self.capabilities = _capabilities(self._program)

    def check(self) -> str:
        """One line: the version, and how it works here."""
        who = "root" if self._program.is_root else "an ordinary user"
        limits = "limits by cgroup" if self._program.cgroups else "memory watched, no other limits"
        return f"apptainer {self._program.version} as {who}, {limits}"

    def acquire(self, spec: SandboxSpec, *, labels: Mapping[str, str]) -> ApptainerSandbox:
        """As the contract says; an image that is not there as a file is built first."""
        self._refuse(spec)
        with as_sandbox_errors("cannot make a sandbox"):
            with self._lock:
                write_parts(self._parts)
            sandbox_id, folder = self._records.add(owner_labels(labels, seconds=spec.seconds))
            try:
                image, facts = self._taken(spec.image, folder)
                started = instances.start(self._program, spec, image, name=sandbox_id, folder=folder, parts=self._parts)
                return ApptainerSandbox(started, image=facts, records=self._records)
            except ProcessLookupError as gone:
                self._records.remove(sandbox_id)
                raise SandboxStartFailed(f"{spec.image} ended as soon as it had started") from gone
            except BaseException:
                self._records.remove(sandbox_id)
                raise

    def sweep(self, labels: Mapping[str, str] | None = None) -> int:
        """See the contract. Raises ValueError for empty ``labels``: that would be everybody's sandboxes."""
        if labels is not None and not labels:
            raise ValueError("sweep needs labels, or None for what dead owners left")
        wanted = None if labels is None else prefixed(labels)
        return sum(self._records.remove(found) for found, carried in self._records.all() if _matches(carried, wanted))

    def close(self) -> None:
        """Nothing to release."""

    def images(self) -> Mapping[str, Callable[[], Puller]]:
        """See `pytest_swe.sandbox.images.pull.HasImages`."""
        return {"apptainer": lambda: self._puller}

    def free_disk_mb(self) -> int | None:
        """MiB free where sandboxes and built images stand."""
        return self._images.free_mb()

    def _taken(self, image: str, folder: Path) -> tuple[Path, ImageFacts]:
        """The file or directory of ``image``, made if it is not there, and noted as used by the sandbox in ``folder``.

        Raises ImageUnavailable, DiskFull.
        """
        begun = time.monotonic()
        for _ in range(3):  # before it is noted another run may remove it for its budget
            path, digest = self._found(image)
            if self._store.use(path, folder):
                self._puller.host.used(image)
                return path, ImageFacts(digest=digest, seconds=time.monotonic() - begun)
            self._known.pop(image, None)
        raise ImageUnavailable(f"{image} is removed as fast as it is made", hint="allow a larger --swe-image-budget")

    def _found(self, image: str) -> tuple[Path, str]:
        """Its place and digest; asked once by a process, because the Docker engine is asked too."""
        known = self._known.get(image)
        if known is None:
            name = self._puller.ready(image).name
            path, held = self._images.path(name), self._images.find(name)
            if path is None or held is None:
                raise ImageUnavailable(f"no image {image}: it was removed just now")
            digest = next((each.rpartition("@")[2] for each in held.digests), f"local:{held.id}" if held.id else "")
            known = self._known[image] = path, digest
        return known

    def _refuse(self, spec: SandboxSpec) -> None:
        refuse_text(spec.image, spec.workdir, spec.user)
        refuse_env(spec.env)
        rights_of(spec)
        for problem in self._problems(spec):
            raise Unsupported(f"provider apptainer cannot honour {problem}", hint=self.check())

    def _problems(self, spec: SandboxSpec) -> Iterator[str]:
        able = self.capabilities
        limits = {"cpus": able.cpus, "memory_mb": able.memory, "pids": able.pids, "disk_mb": able.disk}
        for field, honoured in limits.items():
            if getattr(spec, field) is not None and not honoured:
                yield f"{field}={getattr(spec, field)}"
        if spec.disk_mb is not None and spec.disk_mb < instances.SMALLEST_DISK_MB:
            yield f"disk_mb={spec.disk_mb}, fewer than {instances.SMALLEST_DISK_MB}"
        if spec.network not in able.networks:
            yield f"network={spec.network}"
        if spec.platform not in (None, able.platform):
            yield f"platform={spec.platform} on {able.platform}"
        if spec.keep_entrypoint:
            yield "keep_entrypoint"
        if not able.users and spec.user not in ("", "root", "0"):
            yield f"user={spec.user}: only root has users"
        if not spec.workdir.startswith("/") or posixpath.normpath(spec.workdir) != spec.workdir:
            yield f"workdir={spec.workdir!r}"


def _capabilities(program: Program) -> Capabilities:
    return Capabilities(
        networks=frozenset[Network]({"none", "full"}),
        cpus=program.cgroups,
        memory=True,
        pids=program.cgroups,
        disk=program.is_root or (program.fuse and shutil.which("fuse2fs") is not None),
        users=program.is_root,
        platform=f"linux/{_MACHINES.get(platform.machine(), platform.machine())}",
    )


def _matches(labels: Mapping[str, str], wanted: Mapping[str, str] | None) -> bool:
    if wanted is None:
        return owner_is_dead(labels) or deadline_passed(labels)
    return wanted.items() <= labels.items()
