"""Our own implementations of our hooks: last in line, so that one in a conftest.py wins without special cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_swe import registry
from pytest_swe.collection import TASK_FILE
from pytest_swe.dataset.source import Dataset, open_dataset
from pytest_swe.errors import Unsupported
from pytest_swe.families import harness_for
from pytest_swe.harness.base import Harness
from pytest_swe.model import Row
from pytest_swe.run import RUN
from pytest_swe.sandbox.base import SandboxProvider


@pytest.hookimpl(trylast=True)
def pytest_swe_read_dataset(config: pytest.Config, path: Path) -> Dataset:
    source = path.parent if path.name == TASK_FILE else path
    return open_dataset(str(source), split=config.stash[RUN].settings.split)


@pytest.hookimpl(trylast=True)
def pytest_swe_harness(config: pytest.Config, row: Row) -> Harness:
    return harness_for(row, config.stash[RUN].settings.harness)


@pytest.hookimpl(trylast=True)
def pytest_swe_sandbox_provider(config: pytest.Config, name: str) -> SandboxProvider:
    settings = config.stash[RUN].settings
    if name == "local":
        return registry.provider("local", trust=settings.trust_local)
    if settings.trust_local:
        raise Unsupported(f"--swe-trust-local is for --swe-provider local, not {name}")
    return registry.provider(name)
