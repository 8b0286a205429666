"""One agent at work on a copy of a tree, and what is taken of it."""

from __future__ import annotations

from pathlib import Path

from pytest_swe.agent.baseline import record
from pytest_swe.agent.extraction import Extracted, extract

from . import trees


class Case:
    """One agent in a copy of the tree, and a clean copy for its patch."""

    def __init__(self, origin: Path, folder: Path) -> None:
        self.origin, self.folder = origin, folder
        self.sandbox, self.tree = trees.copy_of(origin, folder / "agent")
        self.baseline = record(self.sandbox, "/testbed")

    def extract(self, *exclude: str, timeout: float = 60) -> Extracted:
        return extract(self.sandbox, self.baseline, exclude=exclude, timeout=timeout)

    def applied(self, found: Extracted) -> dict[str, tuple[str, bytes]]:
        """The files of a clean tree with the patch."""
        assert not found.problem
        _, clean = trees.copy_of(self.origin, self.folder / "clean")
        if found.patch:
            log = trees.apply_by_ladder(found.patch, clean, self.folder / "driver")
            assert (log.outcome, log.whole) == ("applied", True), (log, found.patch)
        return trees.files_of(clean)
