"""A provider on the real engine, the image that the tasks stand on, and a trial of a few files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_swe.agent.base import Agent
from pytest_swe.sandbox.docker import DockerProvider

from .rooms import DOCKERFILE, Tried, build_base, tried, write

Try = Callable[..., Tried]


@pytest.fixture(scope="session")
def trials_base(test_image: str) -> None:
    build_base(test_image)


@pytest.fixture(scope="session")
def engine_provider(trials_base: None) -> Iterator[DockerProvider]:
    made = DockerProvider(pull=False)
    yield made
    made.close()


@pytest.fixture
def trial(tmp_path: Path, engine_provider: DockerProvider) -> Try:
    """Runs a trial of a task of these files (``trial(files, agent)``); what every task needs is there already."""

    def run(files: Mapping[str, str], agent: Agent | None = None, **more: Any) -> Tried:
        there = any(name.startswith("environment/") for name in files)
        given = {} if there else {"environment/Dockerfile": DOCKERFILE}
        root = write(tmp_path / "task", {"task.toml": "", "instruction.md": "Do it.\n", **given, **files})
        return tried(root, tmp_path / "kept", engine_provider, agent, **more)

    return run
