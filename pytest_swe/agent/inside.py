"""Scripts that run inside a sandbox around an agent: laid in a directory of an unguessable name, run, and read.

What they print may be the agent's: it had the sandbox, perhaps as root. It is bounded, and read strictly.
"""

from __future__ import annotations

import importlib.resources
import io
import re
import secrets
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pytest_swe.model import ExecResult
from pytest_swe.sandbox.base import ROOT, Sandbox

#: Below this directory every provider has a place of ours.
_ABOVE = "/pytest-swe"
_SHARED = "neutral.sh"
_PART = re.compile(rb"swe-part (\w{1,20}) (\d{1,12})\n")
_END = b"swe-end\n"


class Unreadable(Exception):
    """A script did not do its work; the message says why, in words for a report."""


@dataclass(frozen=True, slots=True)
class Kit:
    """A script and its files in a sandbox. ``run`` as root; absolute paths among the arguments are paths inside."""

    sandbox: Sandbox
    directory: str
    script: str

    def lay(self, files: Mapping[str, bytes]) -> None:
        """Put ``files`` beside the script. Raises SandboxError."""
        self.sandbox.upload(_packed(files), self.directory)

    def run(self, *arguments: str, timeout: float) -> dict[str, bytes]:
        """The parts that the script tells, by name. Raises SandboxError, and Unreadable when it tells a problem."""
        argv = ("bash", f"{self.directory}/{self.script}", *arguments)
        return _parts(self.sandbox.exec(argv, cwd="/", user=ROOT, timeout=timeout), timeout)

    def fetch(self, name: str) -> bytes:
        """A file that the script left beside itself. Raises SandboxError."""
        return self.sandbox.read_file(f"{self.directory}/{name}")


@contextmanager
def kit(sandbox: Sandbox, script: str, files: Mapping[str, bytes] | None = None) -> Iterator[Kit]:
    """``script`` of this package laid in ``sandbox`` with ``files`` beside it, and removed at the end.

    Raises SandboxError.
    """
    made = Kit(sandbox, f"{_ABOVE}/{secrets.token_hex(16)}", script)
    made.lay({**{name: _source(name) for name in (_SHARED, script)}, **(files or {})})
    try:
        yield made
    finally:
        sandbox.exec(("rm", "-rf", "--", made.directory), cwd="/", user=ROOT, timeout=120)


def listed(part: bytes) -> list[bytes]:
    """The names of a NUL-terminated list, without a ``./`` before them."""
    return [name.removeprefix(b"./") for name in part.split(b"\0") if name]


def shown(path: bytes) -> str:
    """A path for people; bytes that are no UTF-8 are escaped."""
    return path.decode("utf-8", "backslashreplace")


def _parts(result: ExecResult, timeout: float) -> dict[str, bytes]:
    if result.timed_out:
        raise Unreadable(f"it was stopped after {timeout:g} seconds")
    if result.dropped:
        raise Unreadable("there is more to tell than can be read")
    found: dict[str, bytes] = {}
    rest = memoryview(result.stdout)
    while part := _PART.match(rest):
        end = part.end() + int(part[2])
        if end > len(rest):
            break
        found[part[1].decode()] = bytes(rest[part.end() : end])
        rest = rest[end:]
    if bytes(rest) != _END:
        said = (result.stderr or result.stdout)[-300:].decode("utf-8", "replace").strip()
        raise Unreadable(f"its script ended with status {result.exit_code}: {said}")
    if "problem" in found:
        raise Unreadable(found["problem"][:600].decode("utf-8", "replace").strip())
    return found


def _source(name: str) -> bytes:
    return importlib.resources.files("pytest_swe.agent").joinpath(name).read_bytes()


def _packed(files: Mapping[str, bytes]) -> io.BytesIO:
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    tar.seek(0)
    return tar
