"""What a trial does itself inside a container: as root, with the system's own programs first."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Container, Iterator, Mapping, Sequence

from pytest_swe.errors import HarnessError, SandboxFileError
from pytest_swe.model import ExecResult, Reason
from pytest_swe.sandbox.base import ROOT, Sandbox
from pytest_swe.sandbox.processes import SAFE_PATH

SOON = 60.0

AGENT_LOGS = "/logs/agent"
VERIFIER_LOGS = "/logs/verifier"
ARTIFACTS = "/logs/artifacts"
TESTS = "/tests"
SOLUTION = "/solution"

_EMPTY = """
umask 022
for d in "$@"; do rm -rf "$d" && mkdir -p "$d" && chmod 777 "$d" || exit 1; done
"""


def as_root(sandbox: Sandbox, argv: Sequence[str], *, cwd: str = "/", timeout: float = SOON) -> ExecResult:
    """A command of ours."""
    return sandbox.exec(argv, cwd=cwd, user=ROOT, env={"PATH": SAFE_PATH}, timeout=timeout)


def must(sandbox: Sandbox, script: str, *words: str, timeout: float = SOON) -> bytes:
    """A line of shell of ours, with ``words`` as its arguments; what it prints.

    Raises HarnessError when it fails: whoever worked in the container before may have brought that about.
    """
    done = as_root(sandbox, ["/bin/sh", "-c", script, "swe", *words], timeout=timeout)
    if done.timed_out or done.exit_code != 0:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-500:]
        ended = "it took too long" if done.timed_out else f"status {done.exit_code}"
        raise HarnessError(f"the task's container cannot be prepared: {ended}: {said}", reason=Reason.VERIFIER_FAILED)
    return done.stdout


def fresh(sandbox: Sandbox, *directories: str) -> None:
    """Empty directories that everybody may write, whatever stood at their place. Raises HarnessError."""
    must(sandbox, _EMPTY, *directories)


def left_at(sandbox: Sandbox, path: str) -> list[str]:
    """What stands at ``path`` and below it, as the engine sees it: no program in the container can hide any of it.

    A directory's own name is empty; nothing at all is an empty list. What is too large to be looked at is there.
    """
    try:
        return list(_names(sandbox.download(path)))
    except SandboxFileError as error:
        return [] if "no such file" in str(error) else [str(error)]


def _names(packed: bytes) -> Iterator[str]:
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        for member in tar:
            yield member.name.partition("/")[2]


def tar_of(files: Mapping[str, bytes], executable: Container[str] = ()) -> io.BytesIO:
    """Files by their relative path as a tar, with their directories; ``executable`` are the paths that are."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name in sorted({above for path in files for above in _above(path)}):
            directory = tarfile.TarInfo(name)
            directory.type, directory.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(directory)
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), 0o755 if path in executable else 0o644
            tar.addfile(member, io.BytesIO(content))
    packed.seek(0)
    return packed


def _above(path: str) -> Iterator[str]:
    parts = path.split("/")[:-1]
    for count in range(1, len(parts) + 1):
        yield "/".join(parts[:count])
