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
#: Debian with git, patch and python3; ``make images`` builds it.
TEST_IMAGE = os.environ.get("PYTEST_SWE_TEST_IMAGE") or "pytest-swe/test-base:1"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-engine",
        action="store_true",
        help="fail, do not deselect, when no Docker engine answers (CI)",
    )


@functools.cache
def why_no_docker() -> str:
    """What the Docker tests lack here; empty when they can run."""
    try:
        if subprocess.run(["docker", "info"], capture_output=True, timeout=30).returncode:
            return "no Docker engine answers"
        if subprocess.run(["docker", "image", "inspect", TEST_IMAGE], capture_output=True, timeout=30).returncode:
            return f"the engine has no image {TEST_IMAGE} (`make images` builds it)"
    except (OSError, subprocess.TimeoutExpired):
        return "no Docker engine answers"
    return ""


def why_no_data() -> str:
    return "" if DATA.is_dir() else f"no data at {DATA} (PYTEST_SWE_DATA names another place)"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect, with one line, what cannot run here; in CI that is an error instead."""
    strict = bool(os.environ.get("CI")) or config.getoption("--require-engine")
    gone: list[pytest.Item] = []
    for marker, why_not in (("docker", why_no_docker), ("shared_data", why_no_data)):
        marked = [item for item in items if item.get_closest_marker(marker)]
        if not marked or not (why := why_not()):
            continue
        if strict:
            raise pytest.UsageError(f"{len(marked)} tests cannot run: {why}")
        config.stash.setdefault(NOTES, []).append(f"{len(marked)} tests deselected: {why}")
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


@pytest.fixture(scope="session")
def test_image() -> str:
    """Name of an image with git, patch and python3; mark the test ``docker``."""
    return TEST_IMAGE
