"""No isolation: commands run as the user, in directories of their own. For trusted rows only."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_swe.model import Network


@dataclass(frozen=True, slots=True)
class Plain:
    """Paths inside are paths below ``root`` on the host; nothing but the API knows the short ones.

    In an argument list, an element that is nothing but an absolute path, and whose first name stands at the top of
    ``root`` (``/testbed/...``, ``/tmp/...``), is replaced by the real path. All else stays: a path in a script or
    within an option is the script's business, which has ``TESTBED`` and ``SWE_ROOT`` for it.
    """

    background = True

    def command(
        self, argv: Sequence[str], *, root: Path, cwd: str, network: Network, terminal: bool = False
    ) -> tuple[str, ...]:
        own = frozenset(os.listdir(root))
        return tuple(self.place(root, word) if _first_name(word) in own else word for word in argv)

    def place(self, root: Path, path: str) -> str:
        return f"{root}{posixpath.normpath(path)}"

    def start(self, root: Path, cwd: str) -> str:
        return self.place(root, cwd)

    def reserved(self, path: str) -> bool:
        return False


def _first_name(word: str) -> str | None:
    return posixpath.normpath(word).split("/")[1] if word.startswith("/") and not word.startswith("//") else None
