"""The program apptainer: where it is, what it can do here, and how it is called.

Nothing that only root may have is asked of an ordinary user; both get the same sandbox as far as the kernel lets them.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_swe.errors import EngineUnavailable, Unsupported
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.container import CAPABILITIES, HOSTNAME

#: Rights that a spec may ask for by name beside `CAPABILITIES`. Of the others each would be root of the host's, because
#: root's sandboxes have no user namespace: MKNOD too, without a cgroup of devices.
ON_REQUEST = ("IPC_LOCK", "NET_RAW", "SYS_NICE", "SYS_PTRACE")
REFUSED = ("MKNOD",)

#: What a sandbox never needs and a kernel's bugs are found in; what Docker's own profile denies, and modules.
#: https://docs.docker.com/engine/security/seccomp/#significant-syscalls-blocked-by-the-default-profile
DENIED = (
    "acct add_key bpf clock_settime delete_module finit_module init_module ioperm iopl kexec_file_load kexec_load "
    "keyctl mount name_to_handle_at open_by_handle_at perf_event_open pivot_root quotactl reboot request_key setns "
    "settimeofday swapoff swapon umount2 unshare userfaultfd"
).split()

#: apptainer's own first process ends on any signal once its start script is gone, so a candidate could end its sandbox
#: by ``kill -9 -1; kill 1``. From inside, process 1 gets no signals.
SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")

#: Of /proc only root of the host may write these, and root of a sandbox is that root.
PROC_READ_ONLY = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi")

#: Tasks that apptainer itself has in a sandbox's cgroup: 12 threads of its process 1, up to 16 of a command while it
#: starts. A limit is for what a candidate starts, so they are added.
OWN_TASKS = 28

#: Seconds for a call that says who it is; apptainer needs 20 ms.
SOON = 60.0

#: The files that every sandbox mounts, by name: see `write_parts`.
START, HOSTS, NOTHING, SECCOMP = "start", "hosts", "nothing", "seccomp.json"


@dataclass(frozen=True, slots=True)
class Program:
    """One apptainer, as this user may use it."""

    path: str
    version: str
    is_root: bool
    cgroups: bool
    fuse: bool

    def run(
        self, arguments: Sequence[str], *, home: Path, timeout: float | None = None, folder: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Call it to its end, output merged. ``home`` is where it keeps its own records; raises OSError."""
        return subprocess.run(
            [self.path, *arguments],
            env=self.environment(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
            cwd=folder,
        )

    def environment(self, home: Path) -> dict[str, str]:
        """All that the program sees of the outside; commands in a sandbox see none of it."""
        path = os.environ.get("PATH", os.defpath)
        return {"PATH": path, "HOME": str(home), "LC_ALL": "C", "APPTAINER_CONFIGDIR": str(home)}

    def start_arguments(
        self, spec: SandboxSpec, image: Path, *, name: str, folder: Path, parts: Path, overlay: Path
    ) -> list[str]:
        """How an instance is started. ``folder`` gets its pid file; ``parts`` is where `write_parts` wrote."""
        binds = [
            f"{parts / START}:/.singularity.d/startscript:ro",
            f"{parts / HOSTS}:/etc/hosts:ro",
            "/sys:/sys:ro",
            # Writable there, also below a read-only /sys: a candidate could move itself out of its limits.
            f"{parts / NOTHING}:/sys/fs/cgroup:ro",
            *(f"/proc/{name}:/proc/{name}:ro" for name in PROC_READ_ONLY if os.path.exists(f"/proc/{name}")),
        ]
        return [
            *("--silent", "instance", "start", *self._enclosed(spec, parts)),
            # /tmp and home are the image's own, on the overlay: a tmpfs of apptainer's holds 64 MiB.
            *("--no-home", "--no-umask", "--no-mount", "tmp,home,sys,bind-paths"),
            *(("--net", "--network", "none") if spec.network == "none" else ()),
            *(() if self.is_root else ("--fakeroot", "--ignore-fakeroot-command")),
            *("--hostname", HOSTNAME, "--overlay", str(overlay), "--pid-file", str(folder / "pid")),
            *self._limits(spec),
            *(word for bind in binds for word in ("--bind", bind)),
            *(str(image), name),
        ]

    def exec_arguments(self, spec: SandboxSpec, *, name: str, parts: Path, words: Sequence[str]) -> list[str]:
        """How a command is run in an instance; a user namespace is joined without being asked for."""
        return ["--silent", "exec", *self._enclosed(spec, parts), "--pwd", "/", f"instance://{name}", *words]

    def _enclosed(self, spec: SandboxSpec, parts: Path) -> list[str]:
        rights = ",".join(f"CAP_{right}" for right in sorted(rights_of(spec)))
        root = ["--no-privs", "--add-caps", rights] if self.is_root else []
        return ["--containall", "--no-eval", *root, "--security", f"seccomp:{parts / SECCOMP}"]

    def _limits(self, spec: SandboxSpec) -> list[str]:
        words = []
        if spec.memory_mb is not None and self.cgroups:
            words += ["--memory", f"{spec.memory_mb}M", "--memory-swap", f"{spec.memory_mb}M"]
        if spec.pids is not None:
            words += ["--pids-limit", str(spec.pids + OWN_TASKS)]
        if spec.cpus is not None:
            words += ["--cpus", f"{spec.cpus:g}"]
        return words


def rights_of(spec: SandboxSpec) -> set[str]:
    """Capabilities of root in a sandbox. Raises Unsupported for one that would reach the host, or that nobody knows."""
    asked = {name.upper().removeprefix("CAP_") for name in spec.capabilities}
    given = set(CAPABILITIES) - set(REFUSED)
    for name in sorted(asked - given - set(ON_REQUEST)):
        raise Unsupported(f"capabilities: {name} is not for sandboxes of provider apptainer")
    return given | asked


def write_parts(parts: Path) -> None:
    """The files that all sandboxes mount read-only, the same for all."""
    parts.mkdir(mode=0o700, parents=True, exist_ok=True)
    (parts / NOTHING).mkdir(mode=0o755, exist_ok=True)
    profile = {
        "defaultAction": "SCMP_ACT_ALLOW",
        "archMap": [
            {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X86", "SCMP_ARCH_X32"]},
            {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": ["SCMP_ARCH_ARM"]},
        ],
        "syscalls": [
            {
                "names": list(SIGNALS),
                "action": "SCMP_ACT_ERRNO",
                "args": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}],
            },
            {"names": list(DENIED), "action": "SCMP_ACT_ERRNO"},
        ],
    }
    # The start script lives: of one that ends at once a signal may find no process, and then the start fails (146).
    _write(parts / START, "#!/bin/sh\nexec sleep 1000000000\n", 0o755)
    _write(parts / HOSTS, f"127.0.0.1\tlocalhost {HOSTNAME}\n::1\tlocalhost ip6-localhost\n", 0o644)
    _write(parts / SECCOMP, json.dumps(profile), 0o644)


def find(path: str | None = None) -> Program:
    """The apptainer at ``path``, or of PATH. Raises EngineUnavailable when there is none, or it does not run."""
    found = shutil.which(path or "apptainer") or (shutil.which("singularity") if path is None else None)
    if found is None:
        raise EngineUnavailable("apptainer is not installed", hint="https://apptainer.org/docs/admin/latest/")
    env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    try:
        done = subprocess.run([found, "version"], env=env, capture_output=True, text=True, timeout=SOON)
        built = subprocess.run([found, "buildcfg"], env=env, capture_output=True, text=True, timeout=SOON)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineUnavailable(f"{found} does not run: {error}") from error
    if done.returncode or built.returncode:
        raise EngineUnavailable(f"{found} does not run: {(done.stderr or built.stderr).strip()[-300:]}")
    config = dict(line.split("=", 1) for line in built.stdout.splitlines() if "=" in line)
    is_root = os.geteuid() == 0
    return Program(
        path=found,
        version=done.stdout.strip(),
        is_root=is_root,
        cgroups=is_root and _has_cgroups(Path(config.get("APPTAINER_CONF_FILE", "/etc/apptainer/apptainer.conf"))),
        fuse=is_root or os.access("/dev/fuse", os.R_OK | os.W_OK),
    )


def _has_cgroups(conf: Path) -> bool:
    """Whether apptainer can limit: through systemd where its configuration says so, and else by itself."""
    try:
        lines = [line.partition("=") for line in conf.read_text().splitlines()]
    except OSError:
        return False
    settings: Mapping[str, str] = {name.strip(): value.strip() for name, _, value in lines}
    systemd = settings.get("systemd cgroups", "yes") == "yes"
    mounted = any(Path("/sys/fs/cgroup", name).exists() for name in ("cgroup.controllers", "memory"))
    return mounted and (not systemd or Path("/run/systemd/system").is_dir())


def _write(path: Path, text: str, mode: int) -> None:
    """Whole or not at all, and not at all when it is there already: others may be mounting it."""
    if path.exists() and path.read_text() == text:
        return
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    unfinished.write_text(text)
    unfinished.chmod(mode)
    unfinished.replace(path)
