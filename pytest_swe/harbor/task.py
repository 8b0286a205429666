"""A Harbor task as it stands on disk: its configuration, its instructions, its files. Nothing of it is run.

``load_task`` refuses what Harbor 0.25.0 leaves out of a data set without a word: a file that is missing or broken costs
that task, and says which.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pytest_swe.errors import RowInvalid
from pytest_swe.harbor.artifacts import overwritten
from pytest_swe.harbor.files import CONFIG, INSTRUCTION, TRAJECTORY, TaskFile, below, digest_of, files_of, text_of
from pytest_swe.harbor.parse import parse
from pytest_swe.harbor.schema import TaskConfig
from pytest_swe.harbor.steps import StepSettings, solution_files, steps_of, verifier_files, workdir_files
from pytest_swe.harbor.verifiers import brings_its_own, entry_point

DOCKERFILE = "environment/Dockerfile"
COMPOSE = "environment/docker-compose.yaml"
#: Names that compose itself would take, and Harbor does not.
_OTHER_COMPOSE = ("docker-compose.yml", "compose.yaml", "compose.yml")


@dataclass(frozen=True)
class TaskStep:
    """A step: its settings, what its agent is told, and the earlier conversation (a path in the task, or empty)."""

    settings: StepSettings
    instruction: str
    history: str = ""

    @property
    def name(self) -> str:
        """Its name; empty in a task without steps."""
        return self.settings.name


@dataclass(frozen=True, kw_only=True)
class HarborTask:
    """One task. ``files`` are by their path below ``root``; ``digest`` is of all of them."""

    root: Path
    config: TaskConfig
    steps: tuple[TaskStep, ...]
    files: Mapping[str, TaskFile]
    warnings: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """What the content is known by, as Harbor's package publisher makes it: ``sha256:`` and hex."""
        return digest_of(self.files)

    @property
    def name(self) -> str:
        """``org/name`` where the task has one, else its directory's name."""
        return self.config.task.name if self.config.task else self.root.name

    @property
    def is_multi_step(self) -> bool:
        """Whether it has steps of its own; the instruction at its top then reaches nobody."""
        return bool(self.config.steps)

    @property
    def image(self) -> str:
        """The prebuilt image of the agent's container, or empty: then it is built."""
        return self.config.environment.docker_image or ""

    @property
    def dockerfile(self) -> Path | None:
        """What the agent's container can be built from."""
        return self.root / DOCKERFILE if DOCKERFILE in self.files else None

    @property
    def compose(self) -> Path | None:
        """The task's own compose file."""
        return self.root / COMPOSE if COMPOSE in self.files else None

    @property
    def loose_files(self) -> dict[str, str]:
        """What goes into the work directory of a prebuilt image: ``environment/`` where nothing in it can be built."""
        return below(self.files, "environment") if self.image and not (self.dockerfile or self.compose) else {}

    def tests(self, step: TaskStep) -> dict[str, str]:
        """What stands in ``/tests``: path there -> path in the task."""
        return verifier_files(self.files, step.settings)

    def solution(self, step: TaskStep) -> dict[str, str]:
        """What stands in ``/solution`` for the reference solution: path there -> path in the task."""
        return solution_files(self.files, step.settings)

    def workdir(self, step: TaskStep) -> dict[str, str]:
        """What is laid into the work directory before the step: path there -> path in the task."""
        return workdir_files(self.files, step.settings)

    def read(self, path: str) -> bytes:
        """The bytes of one file of `files`. Raises RowInvalid when it is gone or no longer as it was listed."""
        try:
            raw = (self.root / path).read_bytes()
        except OSError as error:
            raise RowInvalid(f"cannot be read: {error.strerror}", path=self.root / path) from error
        if len(raw) != self.files[path].size:
            raise RowInvalid("the task changed while it was in use", path=self.root / path)
        return raw


def load_task(directory: Path) -> HarborTask:
    """The task in ``directory``. Raises RowInvalid with the file, line and field, and what was expected."""
    root = directory.resolve()
    if not os.path.lexists(root / CONFIG):
        raise RowInvalid(f"no {CONFIG} in it: not a Harbor task", path=directory)
    files = files_of(root)  # first: it refuses links that lead out
    config, warnings = parse(text_of(root / CONFIG), root / CONFIG)
    steps = tuple(_step(root, settings, files) for settings in steps_of(config))
    warnings += tuple(
        f"{step.settings.place}artifacts: several go to {place}, the last one is kept"
        for step in steps
        for place in overwritten(step.settings.artifacts)
    )
    task = HarborTask(root=root, config=config, steps=steps, files=files, warnings=warnings)
    _refuse_without_environment(task)
    for step in steps:
        _refuse_without_tests(task, step)
    return task


def without_canary(text: str) -> str:
    """An instruction without the lines at its top that mark it against training, and the blank lines after them.

    Such a line is a comment (``<!-- ... -->`` or ``# ...``) with the word canary.
    """
    lines = text.splitlines(keepends=True)
    first = 0
    while first < len(lines) and _is_canary(lines[first].strip()):
        first += 1
    while first and first < len(lines) and not lines[first].strip():
        first += 1
    return "".join(lines[first:])


def _is_canary(line: str) -> bool:
    comment = line.startswith("#") or (line.startswith("<!--") and line.endswith("-->"))
    return comment and "canary" in line.casefold()


def _step(root: Path, settings: StepSettings, files: Mapping[str, TaskFile]) -> TaskStep:
    path = f"{settings.place}{INSTRUCTION}"
    if path not in files:
        raise RowInvalid(f"{path} missing: what the agent is told", path=root)
    try:
        text = text_of(root / path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RowInvalid(f"not UTF-8 (byte {error.start})", path=root / path) from None
    history = f"{settings.place}{TRAJECTORY}"
    return TaskStep(settings, without_canary(text), history if history in files else "")


def _refuse_without_environment(task: HarborTask) -> None:
    if task.image or task.dockerfile or task.compose:
        return
    near = [name for name in _OTHER_COMPOSE if f"environment/{name}" in task.files]
    near += difflib.get_close_matches("Dockerfile", below(task.files, "environment"), 1, 0.8)
    hint = f"rename environment/{near[0]}" if near else ""
    message = f"expected {DOCKERFILE}, {COMPOSE} or docker_image, got none of them"
    raise RowInvalid(message, path=task.root, field="environment", hint=hint)


def _refuse_without_tests(task: HarborTask, step: TaskStep) -> None:
    """A verifier in a container of its own brings its tests along, or fails when it is there."""
    if brings_its_own(task.config, step.settings, task.files):
        return
    entry = entry_point(step.settings.verifier_environment or task.config.environment)
    path = task.tests(step).get(entry)
    if path is None:
        places = " or ".join(dict.fromkeys((f"{step.settings.place}tests/{entry}", f"tests/{entry}")))
        raise RowInvalid(f"{places} missing: what gives the reward", path=task.root)
    with open(task.root / path, "rb") as file:
        first = file.readline(4096)
    if entry.endswith(".sh") and first.endswith(b"\r\n"):
        raise RowInvalid(
            "lines end with CR LF: bash takes the CR as a part of each command", path=task.root / path, line=1
        )
