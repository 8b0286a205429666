"""What a harness asked of a sandbox, as something to compare and to show."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_swe.sandbox.virtual_files import VirtualFiles


class CallMismatch(AssertionError):
    """What was asked is not what was expected; the message ends with a diff."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One command as it was asked for. ``files`` are the sandbox's files by path; a handler may change them.

    As a mapping they are its regular files; directories, links and whole trees go by ``unpack`` and ``pack``.
    """

    argv: tuple[str, ...]
    cwd: str | None
    env: Mapping[str, str]
    user: str | None
    stdin: bytes
    timeout: float
    files: VirtualFiles


def shown_command(argv: Sequence[str], **facts: object) -> list[str]:
    """A command as lines: as a shell would take it, then what else is said about it."""
    return [f"$ {line}" for line in shlex.join(argv).split("\n")] + [
        f"    {name}: {value}" for name, value in facts.items() if value
    ]


def mismatch(headline: str, expected: Iterable[str], got: Iterable[str]) -> CallMismatch:
    """The error for ``got`` where ``expected`` was to come; both as lines."""
    diff = difflib.unified_diff(list(expected), list(got), "expected", "got", lineterm="")
    return CallMismatch("\n".join([headline, *diff]))
