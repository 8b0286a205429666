"""Images that tasks bring as a Dockerfile: built once for each content, on one host by one process at a time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from pytest_swe.errors import Cancelled, DiskFull, EngineUnavailable, ImageUnavailable, RowInvalid, SweError
from pytest_swe.model import JSON
from pytest_swe.sandbox.compose.content import content_hash
from pytest_swe.sandbox.compose.program import Compose
from pytest_swe.sandbox.docker_answers import Refused
from pytest_swe.sandbox.docker_engine import Engine
from pytest_swe.sandbox.docker_transport import ANSWER
from pytest_swe.sandbox.images.context import tar_of_directory
from pytest_swe.sandbox.images.pull import Puller
from pytest_swe.sandbox.owner import LABEL_PREFIX

#: Every image that is built here has it; its value is the hash of its content.
BUILT = LABEL_PREFIX + "built"

#: The images' name; the hash is their tag.
REPOSITORY = "pytest-swe/task"

#: Lines of a failed build that are told.
LINES = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A Dockerfile in ``directory``, with arguments and the stage that is wanted (empty: the last)."""

    directory: Path
    dockerfile: str = "Dockerfile"
    target: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    platform: str | None = None

    def name(self) -> str:
        """The image's name, by its content. Raises RowInvalid for what is not there or leads out of ``directory``."""
        file = self.directory / self.dockerfile
        if not file.resolve().is_relative_to(self.directory.resolve()):
            raise RowInvalid(f"{self.dockerfile} leads out of its directory", path=self.directory)
        if not file.is_file():
            raise RowInvalid(f"there is no {self.dockerfile}", path=self.directory)
        asked = {f"argument {key}": value for key, value in self.arguments.items()}
        asked |= {"dockerfile": self.dockerfile, "target": self.target, "platform": self.platform or ""}
        try:
            return f"{REPOSITORY}:{content_hash(self.directory, asked)}"
        except OSError as error:
            raise RowInvalid(f"cannot be read: {error}", path=self.directory) from error


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds on one engine: with BuildKit where Compose is there, else with the engine's own builder.

    The engine's own knows no ``.dockerignore``, and of an old engine no ``RUN --mount``.
    """

    engine: Engine
    puller: Puller
    compose: Compose | None

    def image(
        self, build: Build, *, seconds: float, force: bool = False, stopped: Callable[[], bool] = lambda: False
    ) -> str:
        """The name of the image, built unless it is there; ``force`` builds it again, from the engine's cache.

        Raises RowInvalid for a context that cannot be used, ImageUnavailable with the builder's last words, DiskFull,
        Cancelled once ``stopped`` says so.
        """
        name = build.name()
        with self.puller.host.locked(name):
            if force or self.puller.engine.find(name) is None:
                try:
                    self._build(build, name, time.monotonic() + seconds, stopped)
                except _Failed as failed:
                    raise _failure(build, failed) from failed
        return name

    def _build(self, build: Build, name: str, deadline: float, stopped: Callable[[], bool]) -> None:
        labels = {BUILT: name.rpartition(":")[2]}
        if self.compose is not None:
            project = _as_project(build, name, labels)
            ended = self.compose.run(project, ["build"], deadline - time.monotonic(), stopped)
            if ended.code != 0:
                raise _Failed(ended.text, timed_out=ended.code is None)
        else:
            self._with_engine(build, name, labels, deadline, stopped)

    def _with_engine(
        self, build: Build, name: str, labels: Mapping[str, str], deadline: float, stopped: Callable[[], bool]
    ) -> None:
        params = {
            "t": name,
            "dockerfile": build.dockerfile,
            "target": build.target,
            "platform": build.platform or "",
            "rm": "1",
            "forcerm": "1",
            "buildargs": json.dumps(dict(build.arguments)),
            "labels": json.dumps(dict(labels)),
        }
        said: list[str] = []
        try:
            with tar_of_directory(build.directory) as context:
                for step in self._steps(params, context, deadline - time.monotonic()):
                    if stopped():
                        raise Cancelled("the run was stopped")
                    said = [*said[-LINES:], str(step.get("error") or step.get("stream") or "").rstrip()]
                    if step.get("error") or time.monotonic() > deadline:
                        raise _Failed("\n".join(said), timed_out=not step.get("error"))
        except Refused as refusal:
            raise _Failed(str(refusal), timed_out=False) from refusal
        except EngineUnavailable:
            self.engine.ping(ANSWER)  # raises when it is really the engine that is gone
            raise _Failed("\n".join(said), timed_out=True) from None

    def _steps(self, params: Mapping[str, str], context: BinaryIO, silence: float) -> Iterator[dict[str, JSON]]:
        headers = {"Content-Type": "application/x-tar"}
        with self.engine.asked(
            "POST", "build", params=params, headers=headers, data=context, silence=max(1.0, silence)
        ) as answer:
            for line in answer.iter_lines():
                step = json.loads(line or b"{}")
                if isinstance(step, dict):
                    yield step


def _as_project(build: Build, name: str, labels: Mapping[str, str]) -> dict[str, JSON]:
    context: dict[str, JSON] = {
        "context": str(build.directory.resolve()),
        "dockerfile": build.dockerfile,
        "args": dict(build.arguments),
        "labels": dict(labels),
    }
    if build.target:
        context["target"] = build.target
    service: dict[str, JSON] = {"image": name, "build": context}
    if build.platform:
        service["platform"] = build.platform
    return {"name": "build", "services": {"image": service}}


def remove_built(engine: Engine) -> int:
    """Remove every image with the label `BUILT`, but those of which there is a container; returns how many."""
    with engine.asked("GET", "images/json", params={"filters": json.dumps({"label": [BUILT]})}) as answer:
        found = [str(image["Id"]) for image in answer.json()]
    removed = 0
    for image in found:
        with suppress(Refused):  # in use, or gone already
            with engine.asked("DELETE", f"images/{image}"):
                removed += 1
    return removed


class _Failed(Exception):
    def __init__(self, text: str, *, timed_out: bool) -> None:
        super().__init__(text)
        self.timed_out = timed_out


def _failure(build: Build, failed: _Failed) -> SweError:
    lines = [line.rstrip() for line in str(failed).splitlines() if line.strip(" -")]
    words = "\n".join(lines[-LINES:])
    what = build.directory / build.dockerfile
    if "no space left" in words:
        return DiskFull(f"no space left to build {what}")
    how = "was not built in its time" if failed.timed_out else "does not build"
    return ImageUnavailable(f"{what} {how}:\n{words}", hint="the last lines are the builder's")
