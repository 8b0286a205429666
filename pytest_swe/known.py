"""Verdicts that are known already: of an earlier part of this run (``--swe-resume``), or of any run (``--swe-cache``).

Known by fingerprint: a changed patch, row, limit or version is another question; so is an image that is another now.
Errors are never known.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_swe.reward import Reward
from pytest_swe.whole import write_whole

#: Words that say that a verdict may have been otherwise: not kept for others.
_UNSURE = frozenset({"flaky", "slow_environment", "not_isolated"})


def lines_in(path: Path) -> Iterator[dict[str, Any]]:
    """The whole reward lines of a file; a torn one, which a killed run leaves, is left out. Raises OSError."""
    with open(path, "rb") as file:
        for raw in file:
            if not raw.endswith(b"\n"):
                return
            try:
                line = json.loads(raw)
                Reward.model_validate(line)
            except (ValueError, ValidationError):
                continue
            yield line


def is_answer(line: Mapping[str, Any]) -> bool:
    """Whether a line answers its question: it was measured, and says by what it is known."""
    return line["status"] in ("resolved", "unresolved") and bool(line.get("fingerprint"))


def answers_in(path: Path) -> dict[str, Reward]:
    """Fingerprint -> the line that answers; empty when there is no such file."""
    with contextlib.suppress(OSError):
        return {line["fingerprint"]: Reward.model_validate(line) for line in lines_in(path) if is_answer(line)}
    return {}


def of_other_images(answers: Iterable[Reward], held: Callable[[str], frozenset[str]]) -> frozenset[str]:
    """Fingerprints of answers whose image is another now: ``held`` tells the digests that are there under a name.

    A fingerprint knows an image by its name, since one that is not there yet has no digest. An image that is not
    there now cannot be compared, and its answers stand.
    """
    now = functools.cache(held)
    return frozenset(
        answer.fingerprint
        for answer in answers
        if answer.fingerprint and answer.image_digest and _is_another(answer.image_digest, now(answer.image))
    )


def _is_another(digest: str, held: frozenset[str]) -> bool:
    return bool(held) and digest not in held


class Cache:
    """Answers of all runs: one file each in ``directory``, written whole. Safe from several processes."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, fingerprint: str) -> Reward | None:
        """The answer, flagged ``cached``; None when there is none that can be read."""
        try:
            line = json.loads(self._path(fingerprint).read_bytes())
            found = Reward.model_validate(line)
        except (OSError, ValueError):
            return None
        if found.fingerprint != fingerprint:
            return None
        return found.model_copy(update={"flags": (*found.flags, "cached"), "logs": ""})

    def put(self, line: Mapping[str, Any]) -> None:
        """Keep a line, if it is an answer that anybody would get. Raises OSError."""
        flags = set(line["flags"])
        if not is_answer(line) or line.get("agent") or flags & (_UNSURE | {"cached"}):
            return  # an agent may do otherwise the next time
        path = self._path(line["fingerprint"])
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(line))

    def _path(self, fingerprint: str) -> Path:
        return self._directory / fingerprint[:2] / f"{fingerprint}.json"
