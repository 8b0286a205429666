"""What the tests need from outside: a Docker engine, and the real public data. CI must have both."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent
DATA = Path(os.environ.get("PYTEST_SWE_DATA") or ROOT.parent / "shared" / "data")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-engine",
        action="store_true",
        help="fail, do not deselect, when no Docker engine answers (CI)",
    )


@functools.cache
def engine_answers() -> bool:
    try:
        return subprocess.run(["docker", "info"], capture_output=True, timeout=30).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect, with one line, what cannot run here; in CI that is an error instead."""
    strict = bool(os.environ.get("CI")) or config.getoption("--require-engine")
    gone: list[pytest.Item] = []
    for marker, present, what in (
        ("docker", engine_answers, "no Docker engine answers"),
        ("shared_data", DATA.is_dir, f"no data at {DATA} (PYTEST_SWE_DATA names another place)"),
    ):
        marked = [item for item in items if item.get_closest_marker(marker)]
        if not marked or present():
            continue
        if strict:
            raise pytest.UsageError(f"{len(marked)} tests cannot run: {what}")
        config.stash.setdefault(NOTES, []).append(f"{len(marked)} tests deselected: {what}")
        gone += marked
    if gone:
        config.hook.pytest_deselected(items=gone)
        items[:] = [item for item in items if item not in set(gone)]


NOTES = pytest.StashKey[list[str]]()


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    return config.stash.get(NOTES, [])


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real public data; mark the test ``shared_data``."""
    return DATA
