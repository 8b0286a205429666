"""Our own implementations of our hooks: last in line, so that one in a conftest.py wins without special cases."""

from __future__ import annotations

from dataclasses import replace
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
from pytest_swe.sandbox.images.mirrors import Mirrors
from pytest_swe.sandbox.images.pull import PullPolicy
from pytest_swe.settings import Settings


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
    images = _image_options(name, settings)
    if name == "local":
        return registry.provider("local", settings.provider_options, trust=settings.trust_local)
    if settings.trust_local:
        raise Unsupported(f"--swe-trust-local is for --swe-provider local, not {name}")
    if settings.docker_hosts and name != "docker":
        raise Unsupported(f"--swe-docker-hosts is for --swe-provider docker, not {name}")
    hosts: dict[str, object] = {"hosts": settings.docker_hosts} if settings.docker_hosts else {}
    return registry.provider(name, settings.provider_options, **hosts, **images)


def _image_options(name: str, settings: Settings) -> dict[str, object]:
    """How images are fetched, for a provider whose engine has images. Raises Unsupported, UsageError."""
    given = (settings.image_mirrors, settings.pulls, settings.image_budget_mb)
    if given == ((), None, None):
        return {}
    if name not in registry.IMAGE_PROVIDERS:
        known = ", ".join(registry.IMAGE_PROVIDERS)
        raise Unsupported(f"--swe-image-mirror, --swe-pulls and --swe-image-budget are for {known}, not {name}")
    policy = PullPolicy(mirrors=Mirrors.of(settings.image_mirrors), budget_mb=settings.image_budget_mb)
    return {"policy": policy if settings.pulls is None else replace(policy, pulls=settings.pulls)}
