"""The images of Harbor tasks, made ready before a run: those of agents, of sidecars, and of verifiers of their own.

An image that is built is known by its content, so what is there already costs a look, and a second call goes on where
the first one ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Protocol, runtime_checkable

from pytest_swe.at_once import at_once, first_line
from pytest_swe.dataset.harbor_tasks import FAMILY
from pytest_swe.dataset.source import Dataset
from pytest_swe.errors import SweError, Unsupported
from pytest_swe.harbor.limits import limits_of
from pytest_swe.harbor.task import HarborTask, load_task
from pytest_swe.harbor.variables import resolved, wanted
from pytest_swe.harbor.verifiers import separate_verifier
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import BuildsImages, SandboxProvider
from pytest_swe.sandbox.group import COMPOSE_HINT, GroupSpec
from pytest_swe.sandbox.images.base import PullFailed
from pytest_swe.sandbox.images.pull import HasImages
from pytest_swe.trial.environment import Place
from pytest_swe.trial.places import agent_place, verifier_place


@runtime_checkable
class PreparesGroups(Protocol):
    """A provider that makes the images of compose files ready."""

    def prepare_group(self, spec: GroupSpec) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Needed:
    """One place of one task. ``env`` is what can be said before a run: no value of the user's is in it."""

    task: str
    place: Place
    seconds: float
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Made:
    """By image the tasks that use it; how many of their environments are ready; by task why something is missing."""

    images: dict[str, list[str]] = field(default_factory=dict)
    ready: int = 0
    missing: list[tuple[str, str]] = field(default_factory=list)


def is_of_tasks(dataset: Dataset) -> bool:
    """Whether all rows of a data set are Harbor tasks."""
    return bool(dataset.refs) and all(ref.family == FAMILY for ref in dataset.refs)


def needed(dataset: Dataset, instances: Iterable[str], made: Made) -> list[Needed]:
    """What the chosen tasks are made from; broken ones are told in ``made``. Raises UsageError for an unknown id."""
    found: list[Needed] = []
    for ref in [dataset.ref(name) for name in instances] or dataset.refs:
        try:
            found += _of(ref.instance_id, load_task(Path(ref.data)))
        except SweError as error:
            made.missing.append((ref.instance_id or ref.data, ref.problem or str(error)))
    return found


def _of(name: str, task: HarborTask) -> Iterator[Needed]:
    limits, config = limits_of(task.config), task.config
    yield Needed(name, agent_place(task, task.image), limits.build, _known(config.environment.env))
    seen: set[Place] = set()
    for step in task.steps:
        own = separate_verifier(config, step.settings, task.files)
        place = verifier_place(task, own) if own is not None else None
        if own is not None and place is not None and place not in seen:
            seen.add(place)
            yield Needed(name, place, limits.verifier_build or limits.build, _known(own.environment.env))


def _known(table: Mapping[str, str]) -> dict[str, str]:
    return resolved({name: value for name, value in table.items() if not wanted([{name: value}])}, {})


def prepare_tasks(
    everything: list[Needed],
    provider: SandboxProvider,
    made: Made,
    *,
    jobs: int = 3,
    force_build: bool = False,
    say: Callable[[str], object] = lambda line: None,
) -> Made:
    """All of it, ``jobs`` at a time; what cannot be had is told, and does not stop the others."""

    stopped = Event()

    def one(each: Needed) -> tuple[Needed, tuple[str, ...], str, float]:
        begin = time.monotonic()
        try:
            images, why = _ready(each, provider, force_build=force_build, stopped=stopped.is_set), ""
        except (SweError, PullFailed) as error:
            images, why = (), str(error)
        return each, images, why, time.monotonic() - begin

    found = at_once(one, everything, jobs=jobs, stopped=stopped)
    for number, (each, images, why, seconds) in enumerate(found, 1):
        if why:
            made.missing.append((each.task, why))
        made.ready += not why
        for image in images:
            made.images.setdefault(image, []).append(each.task)
        # All that a builder said is told at the end.
        said = f"missing: {first_line(why)}" if why else f"{', '.join(images)}  {seconds:.1f} s"
        say(f"[{number}/{len(everything)}] {each.task}  {said}")
    return made


def _ready(
    each: Needed, provider: SandboxProvider, *, force_build: bool, stopped: Callable[[], bool]
) -> tuple[str, ...]:
    place = each.place
    if place.compose is not None:
        if not isinstance(provider, PreparesGroups):
            raise Unsupported(f"provider {provider.name} runs no tasks with a compose file", hint=COMPOSE_HINT)
        main = SandboxSpec(image=place.image, workdir="", user="", keep_entrypoint=True)
        return provider.prepare_group(
            GroupSpec(
                main=main,
                directory=place.directory,
                compose=place.compose,
                variables=each.env,
                build_seconds=each.seconds,
                force_build=force_build,
                stopped=stopped,
            )
        )
    if place.has_dockerfile and (not place.image or force_build):
        if not isinstance(provider, BuildsImages):
            raise Unsupported(f"provider {provider.name} builds no images: the task needs a docker_image")
        return (provider.build_image(place.directory, seconds=each.seconds, force=force_build, stopped=stopped),)
    if not isinstance(provider, HasImages):
        raise Unsupported(f"provider {provider.name} has no images to prepare")
    for connect in provider.images().values():
        connect().ready(place.image, None)
    return (place.image,)
