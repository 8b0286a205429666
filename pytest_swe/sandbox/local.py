"""The provider ``local``: candidates run on this host, in a private copy of the tree, without an engine.

Without bubblewrap there is no isolation: a candidate has the rights of the user, so what is not marked trusted is
refused. With bubblewrap (found and tried when the provider is made) a command sees only its sandbox and the system's
programs, the network can be off, and nothing outlives its command.

Without bubblewrap, processes left in the background live until `close`; ``host/supervisor.py`` says how they are kept
track of. When the owner dies they die; the directory goes with the next sweep.
"""

from __future__ import annotations

import platform
import posixpath
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_swe.errors import DiskFull, EngineUnavailable, SandboxStartFailed, Unsupported
from pytest_swe.model import Network, SandboxSpec, Tree
from pytest_swe.sandbox.base import Capabilities
from pytest_swe.sandbox.host import bubblewrap, cgroups
from pytest_swe.sandbox.host.failures import as_sandbox_errors
from pytest_swe.sandbox.host.places import state_directory
from pytest_swe.sandbox.host.plain import Plain
from pytest_swe.sandbox.host.processes import kill_marked
from pytest_swe.sandbox.host.records import Records
from pytest_swe.sandbox.host.sandbox import Enclosure, HostSandbox, refuse_text, refuse_user
from pytest_swe.sandbox.host.trees import prepared
from pytest_swe.sandbox.owner import deadline_passed, owner_is_dead, owner_labels, prefixed

_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_DOCKER = "use --swe-provider docker"


class LocalProvider:
    """Sandboxes that are directories of this host (Linux).

    ``trust``: run rows that are not marked trusted too (``--swe-trust-local``). ``state``: where sandboxes and
    prepared trees stand, by default `state_directory`. ``isolate``: None uses bubblewrap when it works, False never,
    True insists on it (EngineUnavailable). ``limit``: limits by cgroups where they work; without, they are refused.
    """

    name = "local"

    def __init__(
        self,
        *,
        trust: bool = False,
        state: Path | str | None = None,
        isolate: bool | None = None,
        limit: bool = True,
    ) -> None:
        if not sys.platform.startswith("linux"):
            raise EngineUnavailable(f"provider local needs Linux, this is {sys.platform}", hint=_DOCKER)
        self._trust = trust
        base = Path(state).absolute() if state else state_directory()
        self._records = Records(base / "local", end=_end)
        self._groups = cgroups.find() if limit else cgroups.Cgroups({})
        self._trees = base / "trees"
        found, self._about = (None, "switched off") if isolate is False else bubblewrap.find()
        if isolate and found is None:
            raise EngineUnavailable(f"no isolation: bubblewrap {self._about}", hint="apt-get install bubblewrap")
        self._enclosure: Enclosure = found or Plain()
        self.capabilities = Capabilities(
            networks=frozenset[Network]({"none", "full"} if found else {"full"}),
            cpus="cpu" in self._groups.parents,
            memory="memory" in self._groups.parents,
            pids="pids" in self._groups.parents,
            disk=False,
            users=False,
            platform=f"linux/{_MACHINES.get(platform.machine(), platform.machine())}",
            isolated=found is not None,
            fixed_paths=found is not None,
        )

    def check(self) -> str:
        """One line: git, and bubblewrap or why not. Raises EngineUnavailable without git."""
        try:
            git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.split()[2]
        except (OSError, subprocess.CalledProcessError, IndexError) as error:
            raise EngineUnavailable("git does not run", hint="the local provider needs git on PATH") from error
        how = "bubblewrap" if self.capabilities.isolated else "no isolation, network not switched off: bubblewrap"
        limits = f"limits {', '.join(self._groups.parents)}" if self._groups.parents else "no limits"
        return f"local: git {git}, {limits}, {how} {self._about}"

    def acquire(self, spec: SandboxSpec, *, labels: Mapping[str, str]) -> HostSandbox:
        """As the contract says; the tree is a copy of ``spec.tree``.

        ``spec.network`` none is not enforced without bubblewrap: a trusted row runs all the same, `check` says so.
        """
        tree = self._accepted(spec)
        with as_sandbox_errors("cannot make a sandbox"):
            source = prepared(tree, self._trees)
            sandbox_id, folder = self._records.add(owner_labels(labels, seconds=spec.seconds))
            try:
                _copy(source, Path(f"{folder}/root{spec.workdir}"))
                _groups_file(folder).write_text("\n".join(map(str, self._groups.places(sandbox_id))))
                groups = self._groups.make(sandbox_id, spec)
                return HostSandbox(
                    sandbox_id, folder, spec, enclosure=self._enclosure, records=self._records, groups=groups
                )
            except BaseException:
                self._records.remove(sandbox_id)
                raise

    def sweep(self, labels: Mapping[str, str] | None = None) -> int:
        """As the contract says: processes are killed, directories and records removed."""
        wanted = None if labels is None else prefixed(labels)
        return sum(self._records.remove(found) for found, carried in self._records.all() if _matches(carried, wanted))

    def close(self) -> None:
        """Nothing to release."""

    def _accepted(self, spec: SandboxSpec) -> Tree:
        if not (spec.trusted or self._trust):
            raise Unsupported(
                "provider local runs candidates with your rights, and this data set is not marked trusted",
                hint=f"{_DOCKER}, or trust it with --swe-trust-local",
            )
        refuse_user(spec.user)
        refuse_text((), spec.env)
        for problem in self._problems(spec):
            raise Unsupported(f"provider local cannot honour {problem}", hint=_DOCKER)
        if spec.tree is None:
            raise Unsupported("provider local has no images, and this row brings no tree", hint=_DOCKER)
        return spec.tree

    def _problems(self, spec: SandboxSpec) -> Iterator[str]:
        can = self.capabilities
        able = {"cpus": can.cpus, "memory_mb": can.memory, "pids": can.pids, "disk_mb": can.disk}
        for field, honoured in able.items():
            if getattr(spec, field) is not None and not honoured:
                yield f"{field}={getattr(spec, field)}"
        if spec.keep_entrypoint:
            yield "keep_entrypoint: it has no images"
        if spec.capabilities:
            yield f"capabilities={','.join(spec.capabilities)}"
        if spec.network not in ("none", "full"):
            yield f"network={spec.network}"
        if spec.platform not in (None, self.capabilities.platform):
            yield f"platform={spec.platform} on {self.capabilities.platform}"
        workdir = spec.workdir
        if posixpath.normpath(workdir) != workdir or not workdir.startswith("/") or workdir.count("/") == len(workdir):
            yield f"workdir={workdir!r}"
        elif self._enclosure.reserved(workdir):
            yield f"workdir={workdir}, where the host's own files stand"


def _groups_file(folder: Path) -> Path:
    """Where a sandbox's groups are written down, so that a sweep of another process finds them."""
    return folder / "groups"


def _end(sandbox_id: str, folder: Path) -> None:
    kill_marked(f"{sandbox_id}.")
    try:
        groups = _groups_file(folder).read_text().splitlines()
    except OSError:
        return
    cgroups.end(map(Path, groups), sandbox_id)


def _matches(labels: Mapping[str, str], wanted: Mapping[str, str] | None) -> bool:
    if wanted is None:
        return owner_is_dead(labels) or deadline_passed(labels)
    return wanted.items() <= labels.items()


def _copy(source: Path, target: Path) -> None:
    """Copy a tree with its times and links; blocks are shared where the file system can."""
    target.parent.mkdir(parents=True)
    command = ["cp", "-a", "--reflink=auto", "--", str(source), str(target)]
    done = subprocess.run(command, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["cp failed"])[-1]
        if "No space left" in done.stderr or "quota" in done.stderr:
            raise DiskFull(last, hint=f"free space at {target}")
        raise SandboxStartFailed(f"cannot copy the tree: {last}")
