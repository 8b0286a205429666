"""Every test of data sets has a cache of its own making, never the user's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The cache of this test process. Fresh files are not waited out (50 ms each) where no test needs it."""
    directory = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_SWE_CACHE_DIR", str(directory))
        patch.setattr("pytest_swe.dataset.cache._TICK", 0.0)
        yield directory


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for one test, and the real waiting."""
    directory = tmp_path / "own-cache"
    monkeypatch.setenv("PYTEST_SWE_CACHE_DIR", str(directory))
    monkeypatch.setattr("pytest_swe.dataset.cache._TICK", 0.05)
    return directory
