"""What the containers of a task are made from: the agent's, and that of a verifier of its own."""

from __future__ import annotations

from pytest_swe.harbor.task import HarborTask
from pytest_swe.harbor.verifiers import SeparateVerifier
from pytest_swe.trial.environment import Place


def agent_place(task: HarborTask, image: str) -> Place:
    """Of the agent's container; ``image`` is the prebuilt one, or empty."""
    return Place(
        directory=task.root / "environment",
        image=image,
        compose=task.compose,
        has_dockerfile=task.dockerfile is not None,
    )


def verifier_place(task: HarborTask, found: SeparateVerifier) -> Place:
    """Of a separate verifier's container."""
    directory = task.root / found.directory if found.directory else task.root
    return Place(
        directory=directory,
        image=found.image,
        compose=directory / "docker-compose.yaml" if found.compose else None,
        has_dockerfile=bool(found.directory) and f"{found.directory}/Dockerfile" in task.files,
    )
