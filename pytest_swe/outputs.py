"""Where a run writes: a place that cannot be written is found out before anything runs, not after hours of it."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from pytest_swe.dataset.harbor_tasks import FAMILY
from pytest_swe.errors import UsageError
from pytest_swe.run import Run

#: Said in the summary where there is no task whose results could be written in that layout.
NO_TASKS = "--swe-harbor-results has no effect: there are no Harbor tasks in this run"


def has_tasks(run: Run) -> bool:
    """Whether there are Harbor tasks among the items."""
    return any(item.ref.family == FAMILY for plan in run.plans.values() for item in plan.items)


def refuse_unwritable(run: Run) -> None:
    """Raises UsageError naming the first option whose place cannot be written. Leaves nothing there."""
    settings = run.settings
    _try("--swe-results", settings.results)
    if settings.rewards is not None:
        _try("--swe-rewards", settings.rewards, is_file=True)
    if settings.cache is not None:
        _try("--swe-cache", settings.cache)
    if settings.harbor_results is not None and has_tasks(run):
        _try("--swe-harbor-results", settings.harbor_results)


def _try(option: str, path: Path, *, is_file: bool = False) -> None:
    try:
        if is_file and path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        place = path.parent if is_file else path
        # Asked by doing: permissions say nothing of what root may do, or of a file system that takes nothing.
        with tempfile.TemporaryDirectory(prefix=".pytest-swe-", dir=_nearest(place)):
            pass
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(f"{option} {path} cannot be written: {why}", hint="name a place that can be written") from None


def _nearest(place: Path) -> Path:
    """The directory itself, or the one in which it would be made."""
    while not (place.exists() or place.is_symlink()):
        place = place.parent
    return place
