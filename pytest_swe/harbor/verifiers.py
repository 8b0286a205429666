"""Where a verifier runs: in the agent's container, or in one of its own, and what that one is made of. Pure.

The order of the sources is that of Harbor 0.25.0, the first that is there counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_swe.harbor.files import TaskFile
from pytest_swe.harbor.schema import EnvironmentTable, TaskConfig
from pytest_swe.harbor.steps import StepSettings

_BUILDABLE = ("Dockerfile", "docker-compose.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparateVerifier:
    """A verifier's own container: an ``image``, or built from ``directory`` (in the task).

    ``uploads_tests``: the tests are laid into it; else it must have ``/tests/test.sh`` already.
    """

    environment: EnvironmentTable
    image: str = ""
    directory: str = ""
    compose: bool = False
    uploads_tests: bool = False


def separate_verifier(config: TaskConfig, step: StepSettings, files: Mapping[str, TaskFile]) -> SeparateVerifier | None:
    """The verifier's own container in a step, or None where it runs in the agent's."""
    if step.verifier_mode == "shared":
        return None
    environment = step.verifier_environment or config.environment
    sources = [(config.verifier.environment, "tests")]
    if step.name:
        own = next(table.verifier.environment for table in config.steps if table.name == step.name)
        sources.insert(0, (own, f"{step.place}tests"))
    for table, directory in sources:
        if table is not None and table.docker_image:
            return SeparateVerifier(environment=environment, image=table.docker_image)
        if any(f"{directory}/{name}" in files for name in _BUILDABLE):
            compose = f"{directory}/docker-compose.yaml" in files
            return SeparateVerifier(environment=environment, directory=directory, compose=compose)
    return SeparateVerifier(
        environment=environment,
        image=config.environment.docker_image or "",
        directory="environment",
        compose="environment/docker-compose.yaml" in files,
        uploads_tests=True,
    )


def brings_its_own(config: TaskConfig, step: StepSettings, files: Mapping[str, TaskFile]) -> bool:
    """Whether the verifier's container must have its tests already."""
    found = separate_verifier(config, step, files)
    return found is not None and not found.uploads_tests


def entry_point(environment: EnvironmentTable) -> str:
    """The file of the tests that is run."""
    return "test.bat" if environment.os == "windows" else "test.sh"
