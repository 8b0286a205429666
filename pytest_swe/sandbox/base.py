"""The sandbox contract: what a provider promises, what is a result and what is an exception.

A non-zero exit, or a time-out of the command, is an `ExecResult`. A dead sandbox, a lost engine, a missing
image is an exception of the `pytest_swe.errors.SandboxError` tree. `pytest_swe.testing.conformance` holds this
contract as tests; every provider passes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, runtime_checkable

from pytest_swe.model import ExecResult, Network, SandboxSpec

#: The user of our own commands: by number, which needs no ``/etc/passwd`` that a candidate may have emptied or changed.
ROOT = "0"

#: Bytes of one command's output that are kept: the first and the last of it. What is between is counted.
OUTPUT_HEAD = 32 * 1024 * 1024
OUTPUT_TAIL = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a provider can honour; a spec that asks for more is refused by name, never ignored.

    ``isolated`` is False where a candidate runs with the rights of the user (provider ``local`` without bubblewrap).
    ``shares_host``: its sandboxes take processors, memory and disk of the host that runs pytest.
    ``fixed_paths``: the tree really stands at ``spec.workdir`` inside; False where it only does for API calls.
    """

    networks: frozenset[Network] = frozenset({"none", "full"})
    cpus: bool = True
    memory: bool = True
    pids: bool = True
    disk: bool = False
    users: bool = True
    groups: bool = False
    platform: str = "linux/amd64"
    isolated: bool = True
    fixed_paths: bool = True
    shares_host: bool = True


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What a sandbox was made of: the digest of its image, and the seconds that were spent to have the image there.

    ``digest`` is the registry's (``sha256:...``), or, where no registry has it, the engine's (``local:sha256:...``).
    """

    digest: str = ""
    seconds: float = 0.0


def image_of(sandbox: Sandbox) -> ImageFacts:
    """What a provider with images left on ``sandbox`` as its ``image``; nothing for any other."""
    found = getattr(sandbox, "image", None)
    return found if isinstance(found, ImageFacts) else ImageFacts()


def held_digests(provider: SandboxProvider, image: str) -> frozenset[str]:
    """Digests, as `ImageFacts` has them, of what the provider has under this name now, if it tells (``held_digests``).

    Empty where it has no such image yet, or does not know.
    """
    tell = getattr(provider, "held_digests", None)
    return frozenset(map(str, tell(image))) if callable(tell) else frozenset()


def free_disk_mb(provider: SandboxProvider) -> int | None:
    """MiB free where the sandboxes of a provider stand, if it tells (``free_disk_mb``), and that is on this host."""
    tell = getattr(provider, "free_disk_mb", None)
    found = tell() if callable(tell) else None
    return found if isinstance(found, int) else None


@runtime_checkable
class BuildsImages(Protocol):
    """A provider that makes images of directories with a Dockerfile, and keeps them by their content."""

    def build_image(
        self,
        directory: Path,
        *,
        seconds: float = 600.0,
        force: bool = False,
        stopped: Callable[[], bool] = lambda: False,
    ) -> str:
        """The image's name. ``stopped`` says that nobody waits for it any more.

        Raises RowInvalid, ImageUnavailable with the builder's last lines, DiskFull, Cancelled.
        """
        ...

    def remove_built_images(self) -> int:
        """Remove those that no sandbox is made of; returns how many. Raises EngineUnavailable."""
        ...


@dataclass(frozen=True, slots=True)
class Change:
    """A path that is not as in the image."""

    path: str
    kind: Literal["modified", "added", "removed"]


@runtime_checkable
class TellsTraces(Protocol):
    """A sandbox whose engine says what became of it, whatever the programs inside say."""

    def changed(self) -> Sequence[Change] | None:
        """Every path that is not as in the image, directories too; None where they are too many to be told."""
        ...

    def first_process(self) -> str:
        """The name of the program that the first process runs; empty where the engine does not know."""
        ...


@runtime_checkable
class Sandbox(Protocol):
    """One isolated machine with the repository in it. Paths are absolute paths inside; bytes end to end.

    ``id`` names it to its engine. ``attach`` is the command that opens a shell in it (for people), as an argv.
    """

    id: str
    attach: tuple[str, ...]

    def exec(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        stdin: bytes = b"",
        timeout: float,
    ) -> ExecResult:
        """Run a command to its end, or to ``timeout`` seconds.

        ``user`` is a name or a number of the image, or one of `ROOT` and ``root``, which every sandbox takes.

        At the time-out the whole process tree is killed, also what forked, daemonised or traps signals; the result
        has ``timed_out`` and what was printed so far, and the sandbox still answers. stdout and stderr arrive apart;
        a caller who needs one ordered stream merges inside (``2>&1``). Output is bounded, see ``ExecResult.dropped``.

        Raises TypeError when ``argv`` is a string, SandboxLost when the sandbox is gone, EngineUnavailable when the
        engine stopped answering, OutOfMemory when the kernel killed the sandbox itself for memory.
        """
        ...

    def read_file(self, path: str) -> bytes:
        """The bytes of one regular file. Raises SandboxFileError when missing, a directory or not readable."""
        ...

    def write_file(self, path: str, data: bytes) -> None:
        """Write one file, parents made as needed. Raises SandboxFileError, DiskFull."""
        ...

    def upload(self, tar: BinaryIO, path: str) -> None:
        """Unpack an uncompressed tar below the directory ``path`` (made if missing); modes and symlinks kept.

        Nothing is written outside ``path``. Raises SandboxFileError, DiskFull.
        """
        ...

    def download(self, path: str) -> bytes:
        """A file or directory as an uncompressed tar whose members start with its base name."""
        ...

    def close(self) -> None:
        """Remove the sandbox with all that runs in it. Idempotent, safe from several threads, fast, never raises."""
        ...


class SandboxProvider(Protocol):
    """Makes sandboxes. ``acquire`` may be called from many threads at once."""

    name: str

    @property
    def capabilities(self) -> Capabilities:
        """What it can honour; a plain attribute will do."""
        ...

    def check(self) -> str:
        """Preflight: one line about the engine (name and version). Raises EngineUnavailable with a hint."""
        ...

    def acquire(self, spec: SandboxSpec, *, labels: Mapping[str, str]) -> Sandbox:
        """A fresh sandbox that carries ``labels`` and ends by itself after ``spec.seconds``.

        Raises Unsupported for what the provider cannot honour, ImageUnavailable, SandboxStartFailed,
        EngineUnavailable, DiskFull.
        """
        ...

    def sweep(self, labels: Mapping[str, str] | None = None) -> int:
        """Remove every sandbox with all of ``labels``; with None, those whose owner is dead or deadline has passed.

        Returns how many were removed. Removes only what this tool made.
        """
        ...

    def close(self) -> None:
        """Release connections; sandboxes are closed by their owners. Idempotent, never raises."""
        ...


def checked_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """``argv`` as a tuple; a plain string is a TypeError that shows the right call."""
    if isinstance(argv, (str, bytes)):
        raise TypeError(f"commands are argument lists: write exec(['bash', '-c', {argv!r}], timeout=...)")
    if not argv:
        raise TypeError("an empty command")
    return tuple(argv)
