"""What can be said about a patch by reading it: whether it is one, and which files it touches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Literal

from pytest_swe.patch import PatchFacts, describe

Remark = tuple[Literal["error", "warning", "info"], str]

_STARTS = (b"diff --git ", b"--- ", b"Index: ", b"diff -", b"From ", b"commit ")
_TEST_DIRECTORIES = frozenset({"test", "tests", "testing", "__tests__", "spec", "specs"})
_TEST_NAME = re.compile(r"(test_.*|.*_tests?|.*\.(test|spec))\.\w+|conftest\.py")


def paths_of(patch: bytes) -> frozenset[str]:
    """Every path that a patch names."""
    return frozenset(describe(patch).paths)


def remarks_on(patch: bytes, tested: frozenset[str]) -> Iterator[Remark]:
    """Level and message of what is worth knowing about ``patch``; ``tested`` are the paths of the row's test patch."""
    facts = describe(patch)
    if not facts.files:
        yield "error", f"no diff in it: it starts with {patch.lstrip()[:60]!r}"
        return
    yield from _remarks_on_form(patch, facts)
    yield "info", f"touches {_listed(facts.paths)}"
    also = sorted(tested.intersection(facts.paths))
    if also:
        yield "warning", f"touches files that the test patch replaces: {_listed(also)}"
    tests = [path for path in facts.paths if path not in tested and is_test_file(path)]
    if tests:
        yield "info", f"touches tests: {_listed(tests)}"


def is_test_file(path: str) -> bool:
    """Whether a path looks like a test, by the habits of the usual runners."""
    pure = PurePosixPath(path)
    return bool(_TEST_DIRECTORIES.intersection(pure.parts[:-1]) or _TEST_NAME.fullmatch(pure.name))


def _remarks_on_form(patch: bytes, facts: PatchFacts) -> Iterator[Remark]:
    for problem in facts.problems[:3]:
        yield "warning", problem
    first = patch.lstrip(b"\r\n").partition(b"\n")[0]
    if b"```" in first or re.search(rb"^```", patch, re.MULTILINE):
        yield "warning", "code fences around the diff"
    elif not first.startswith(_STARTS):
        yield "warning", f"text before the diff: {first[:60]!r}"
    if not re.search(rb"^diff --git ", patch, re.MULTILINE):
        yield "info", "no 'diff --git' lines"
    if not patch.endswith(b"\n"):
        yield "info", "no final newline: one is added"
    crlf = patch.count(b"\r\n")
    if crlf:
        yield "info", f"{crlf} lines end in CRLF"


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(paths[:10]) + (f" and {len(paths) - 10} more" if len(paths) > 10 else "")
