"""The tree that agents begin in, made once, and a copy of it for one test."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import trees
from .case import Case


@pytest.fixture(scope="session")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trees.make(tmp_path_factory.mktemp("origin"))


@pytest.fixture
def case(origin: Path, tmp_path: Path) -> Case:
    return Case(origin, tmp_path)
