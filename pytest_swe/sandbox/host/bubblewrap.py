"""Isolation by bubblewrap: a root of its own in which only the sandbox and the system's programs are seen.

The root is the sandbox's own directory; ``/usr`` and its kin, a few files of ``/etc`` and the running interpreter are
mounted into it, read-only. Homes, other data and other processes of the host are not there.
https://github.com/containers/bubblewrap
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_swe.model import Network
from pytest_swe.sandbox.host.processes import Command
from pytest_swe.sandbox.output import BoundedOutput

#: What programs need. Homes, ``/opt``, ``/var``, ``/srv``, ``/mnt`` stay outside.
SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix")

#: Of ``/etc`` only what holds no secret: who is who, how to load libraries, certificates, names, time.
ETC = (
    "passwd group nsswitch.conf hosts host.conf resolv.conf protocols services ld.so.cache ld.so.conf ld.so.conf.d "
    "alternatives ssl ca-certificates ca-certificates.conf pki localtime timezone mime.types os-release debian_version"
).split()

#: Settings of the kernel, which the host's root can write without any capability. bubblewrap 0.8 means to cover some of
#: them, but looks whether the directory can be written, which it never can; what is in it can.
PROC_READ_ONLY = ("sys", "sysrq-trigger", "irq", "bus", "fs")

#: Seconds that the trial run may take.
TRIAL_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Commands in a root of their own; see the module."""

    program: str
    background = False

    def command(
        self, argv: Sequence[str], *, root: Path, cwd: str, network: Network, terminal: bool = False
    ) -> tuple[str, ...]:
        """``argv`` inside, where ``root`` is ``/``.

        ``terminal``: keep the terminal, for a person's shell; otherwise a command could type into it.
        """
        return (
            self.program,
            *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
            *(("--unshare-net",) if network == "none" else ()),
            *("--die-with-parent", "--cap-drop", "ALL", "--hostname", "sandbox"),
            *(() if terminal else ("--new-session",)),
            *("--bind", str(root), "/"),
            *_host(),
            *("--chdir", cwd, "--"),
            # bubblewrap exits with 1 for a program that is not there; env with 127 or 126, as shells and engines do.
            *("/usr/bin/env", "--", *argv),
        )

    def place(self, root: Path, path: str) -> str:
        return path

    def start(self, root: Path, cwd: str) -> str:
        return "/"

    def reserved(self, path: str) -> bool:
        """Whether an absolute path belongs to the host inside, so that a sandbox has nothing there."""
        return _top(path) in _reserved()


def find() -> tuple[Bubblewrap | None, str]:
    """A bubblewrap that works here, and its version; or None, and why not."""
    program = shutil.which("bwrap")
    if program is None:
        return None, "is not installed"
    if "tmp" in map(_top, interpreter()):
        # Its mount points would stand in a directory that candidates write.
        return None, f"is not used: the interpreter {sys.executable} stands below /tmp"
    shown = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    found = Bubblewrap(program)
    problem = _try(found)
    if problem:
        return None, f"does not work here: {problem}"
    return found, shown.stdout.strip().removeprefix("bubblewrap ")


def _try(found: Bubblewrap) -> str:
    """Start the interpreter inside, with all that a sandbox may ask for; what went wrong, or nothing."""
    with tempfile.TemporaryDirectory() as root, BoundedOutput() as out, BoundedOutput() as err:
        argv = found.command([sys.executable, "-I", "-c", "pass"], root=Path(root), cwd="/", network="none")
        trial = Command(argv, env={}, cwd="/", life=TRIAL_SECONDS)
        end = trial.communicate(b"", TRIAL_SECONDS, out, err)
        trial.kill()
        if end.exit_code == 0:
            return ""
        return (err.value().decode(errors="replace").strip().splitlines() or ["no answer"])[-1]


def interpreter() -> tuple[str, ...]:
    """Directories that the running interpreter needs and that are not the system's, outermost only."""
    program = os.path.dirname(sys.executable)
    wanted = {sys.prefix, sys.base_prefix, sys.exec_prefix, program, os.path.dirname(os.path.realpath(sys.executable))}
    wanted |= {os.path.realpath(path) for path in wanted}
    outer: list[str] = []
    for path in sorted(wanted):
        if _top(path) not in SYSTEM and not any(path.startswith(f"{other}/") for other in outer):
            outer.append(path)
    return tuple(outer)


def _host() -> Iterator[str]:
    """What of the host is seen. Every name at the top is a mount of its own: no command can put a link in its place,
    over which the next one's mounts would go astray."""
    for name in SYSTEM:
        if os.path.isdir(f"/{name}"):
            yield from ("--ro-bind", os.path.realpath(f"/{name}"), f"/{name}")
    yield from ("--tmpfs", "/etc")
    for name in ETC:
        # The file itself, where a link leads out of what is seen: /etc/resolv.conf is often one into /run.
        if os.path.exists(f"/etc/{name}"):
            yield from ("--ro-bind", os.path.realpath(f"/etc/{name}"), f"/etc/{name}")
    yield from ("--remount-ro", "/etc")
    for name in sorted({_top(path) for path in interpreter()}):
        yield from ("--tmpfs", f"/{name}")
    for path in interpreter():
        yield from ("--ro-bind", path, path)
    yield from ("--proc", "/proc", "--dev", "/dev")
    for name in PROC_READ_ONLY:
        if os.path.exists(f"/proc/{name}"):
            yield from ("--ro-bind", f"/proc/{name}", f"/proc/{name}")


def _reserved() -> frozenset[str]:
    return frozenset({*SYSTEM, "etc", "proc", "dev", *map(_top, interpreter())})


def _top(path: str) -> str:
    return os.path.normpath(path).lstrip("/").split("/", 1)[0]
