"""Starting an instance of apptainer, and ending it, also one that another process left."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pytest_swe.errors import DiskFull, SandboxStartFailed
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.apptainer_program import Program
from pytest_swe.sandbox.apptainer_store import IN_USE
from pytest_swe.sandbox.host import namespace
from pytest_swe.sandbox.host.namespace import Namespace, has_ended, parent_of

#: apptainer makes no smaller file system for an overlay.
SMALLEST_DISK_MB = 64

#: Seconds for one start: 0.3 idle, 3 with sixteen at once.
START_SECONDS = 300.0

#: Seconds in which apptainer clears up after the last process of an instance; it takes 0.1.
CLEAN_SECONDS = 10.0

#: The file that a keeper leaves when memory ran out.
OUT_OF_MEMORY = "out-of-memory"


@dataclass(frozen=True, slots=True)
class Instance:
    """A standing instance and what is needed to use and to end it. ``keeper`` ends it at its deadline."""

    name: str
    spec: SandboxSpec
    program: Program
    folder: Path
    parts: Path
    processes: Namespace
    keeper: subprocess.Popen[bytes]
    ends: float

    @property
    def home(self) -> Path:
        """Where apptainer keeps its record of this instance and of no other."""
        return self.folder / "home"

    @property
    def watched_mb(self) -> int:
        """MiB that the keeper lets all processes take; 0 where nobody needs to watch."""
        return _watched_mb(self.program, self.spec)

    @property
    def data_mb(self) -> int | None:
        """MiB that a single process may ask for: where memory is only watched, one look may come too late for it.

        Twice the limit, because what is asked for (threads' stacks) is not all used.
        """
        return 2 * self.watched_mb or None

    @property
    def out_of_memory(self) -> bool:
        """Whether its keeper ended it because its processes took more than ``spec.memory_mb``."""
        return (self.folder / OUT_OF_MEMORY).exists()


def start(program: Program, spec: SandboxSpec, image: Path, *, name: str, folder: Path, parts: Path) -> Instance:
    """A new instance in the private directory ``folder``, which has a link to its image (`IN_USE`).

    Raises SandboxStartFailed, DiskFull, OSError; ProcessLookupError when it ended at once.
    """
    home = folder / "home"
    home.mkdir()
    overlay = _overlay(program, spec, folder, home)
    arguments = program.start_arguments(spec, folder / IN_USE, name=name, folder=folder, parts=parts, overlay=overlay)
    # Not into a pipe: the instance keeps what it was started with.
    with (folder / "start.log").open("w+b") as log:
        try:
            done = subprocess.run(
                [program.path, *arguments],
                env=program.environment(home),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                timeout=START_SECONDS,
            )
        except subprocess.TimeoutExpired as slow:
            raise SandboxStartFailed(f"{image} did not start in {START_SECONDS:g} s") from slow
        log.seek(0)
        said = log.read().decode(errors="replace")
    if done.returncode:
        raise _failure(image, said, folder)
    pid = int((folder / "pid").read_text())
    processes, keeper = Namespace(pid), _keeper(program, spec, pid, folder)
    return Instance(name, spec, program, folder, parts, processes, keeper, time.monotonic() + spec.seconds)


def end(name: str, folder: Path) -> None:
    """End the instance ``name``, if it stands, whoever started it, and wait until apptainer has cleared up."""
    try:
        pid = int((folder / "pid").read_text())
        # The number may be another's by now; the environment of an instance's first process has its name.
        ours = name.encode() in Path(f"/proc/{pid}/environ").read_bytes()
        first = Namespace(pid) if ours else None
        master = os.pidfd_open(parent_of(pid)) if ours else -1
    except (OSError, ValueError):
        return
    if first is None:
        return
    try:
        first.end()
        # It holds the overlay's mount until it has cleared up.
        has_ended(master, CLEAN_SECONDS)
    finally:
        os.close(master)


def _overlay(program: Program, spec: SandboxSpec, folder: Path, home: Path) -> Path:
    """Where what a sandbox writes goes: a directory, or a file system of limited size in a sparse file."""
    if spec.disk_mb is None:
        made = folder / "overlay"
        made.mkdir()
        return made
    made = folder / "overlay.img"
    done = program.run(
        ["--silent", "overlay", "create", "--sparse", "--size", str(spec.disk_mb), str(made)],
        home=home,
        timeout=START_SECONDS,
    )
    if done.returncode:
        raise _failure(made, done.stdout, folder)
    return made


def _failure(image: Path, said: str, folder: Path) -> SandboxStartFailed | DiskFull:
    if shutil.disk_usage(folder).free < 1024 * 1024:
        return DiskFull(f"no space left to start {image}", hint=f"free space at {folder.parent}")
    with contextlib.suppress(OSError):
        logs = sorted(folder.glob("home/instances/logs/*/*/*.err"))
        said += "".join(path.read_text(errors="replace") for path in logs)
    lines = [line for line in said.splitlines() if line.strip()]
    first = next((line for line in lines if "FATAL" in line or "ERROR" in line), lines[0] if lines else "no word why")
    return SandboxStartFailed(f"{image} does not start: {first.strip()[:500]}", hint="an image needs /bin/sh and sleep")


def _watched_mb(program: Program, spec: SandboxSpec) -> int:
    return 0 if spec.memory_mb is None or program.cgroups else spec.memory_mb


def _keeper(program: Program, spec: SandboxSpec, pid: int, folder: Path) -> subprocess.Popen[bytes]:
    """A process that outlives this one: it ends the instance at its deadline, and when it takes too much memory."""
    watched = _watched_mb(program, spec)
    script = [sys.executable, "-I", "-S", str(namespace.__file__)]
    return subprocess.Popen(
        [*script, str(pid), str(spec.seconds), str(watched), str(folder / OUT_OF_MEMORY)],
        env={"LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )
