"""The images of a data set, made ready before a run on every engine. What is there already costs a look.

An image is loaded from an archive that is named, else pulled where a registry has it, else copied from another engine
of the same pool, else built from the Dockerfile of its task (``tasks/<id>/Dockerfile``, the repository's root as
context) or row (``base_dockerfile``, ``instance_dockerfile``, ``dockerfile``).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pytest_swe.at_once import at_once, first_line
from pytest_swe.dataset.source import Dataset, open_dataset
from pytest_swe.errors import SweError
from pytest_swe.evaluation.dockerfile import built_from
from pytest_swe.families import harness_for
from pytest_swe.model import Row
from pytest_swe.sandbox.images.archives import Archives
from pytest_swe.sandbox.images.base import BuildFailed, PullFailed
from pytest_swe.sandbox.images.making import Build, Maker, Recipe
from pytest_swe.sandbox.images.pull import Puller
from pytest_swe.sandbox.images.reference import DOCKER_HUB, parse
from pytest_swe.sandbox.images.registry import Unreachable

#: Columns in which rows bring a Dockerfile; of two the second stands on the first.
COLUMNS = ("base_dockerfile", "instance_dockerfile", "dockerfile")
#: MiB unpacked for a MiB of compressed layers.
PACKED = 3

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Wanted:
    """An image, and the instances that run in it."""

    recipe: Recipe
    instances: tuple[str, ...]

    @property
    def image(self) -> str:
        return self.recipe.image


@dataclass(slots=True)
class Prepared:
    """By engine and image what was done (see `Maker.made`), or why it is missing; rows of which no image is known."""

    done: dict[tuple[str, str], str] = field(default_factory=dict)
    missing: dict[tuple[str, str], str] = field(default_factory=dict)
    rows: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Needs:
    """MiB: to fetch, on disk when all is there, and at work beside that. ``unknown``: images of which nobody told."""

    fetched: int = 0
    kept: int = 0
    work: int = 0
    unknown: int = 0


def wanted_of(
    source: str, harness: str | None, instances: Iterable[str] = (), *, base: str = ""
) -> tuple[list[Wanted], Prepared]:
    """The images of a data set's rows, each once, and the rows of which none is known. Raises UsageError.

    ``base`` is what a repository's base.Dockerfile stands on.
    """
    dataset, result = open_dataset(source), Prepared()
    found: dict[tuple[str, str | None], Wanted] = {}
    refs = [dataset.ref(name) for name in instances] or dataset.refs
    for ref in refs:
        name = ref.instance_id or f"line-{ref.line}"
        try:
            row = dataset.load(ref)
            spec = harness_for(row, harness).instance(row, dataset.origin(ref)).spec
        except SweError as error:
            result.rows.append((name, str(error)))
            continue
        key = spec.image, spec.platform
        earlier = found[key].instances if key in found else ()
        builds = _task_builds(dataset, ref.data, spec.image, base) or _row_builds(row, spec.image)
        found[key] = Wanted(Recipe(*key, builds), (*earlier, name))
    return list(found.values()), result


def _task_builds(dataset: Dataset, place: str, image: str, base: str) -> tuple[Build, ...]:
    root = dataset.root
    dockerfile = Path(place) / "Dockerfile"
    if not root or not dockerfile.is_file():
        return ()
    made = Build(image, str(dockerfile.relative_to(root)), root)
    stands_on = built_from(dockerfile.read_text("utf-8", "replace"))
    if not stands_on or not (root / "base.Dockerfile").is_file():
        return (made,)
    return Build(stands_on, "base.Dockerfile", root, (("BASE", base),) if base else ()), made


def _row_builds(row: Row, image: str) -> tuple[Build, ...]:
    texts = [text for column in COLUMNS if isinstance(text := row.get(column), str) and text.strip()]
    if not texts:
        return ()
    *below, last = texts
    stands_on = built_from(last)
    made = Build(image, last)
    return (Build(stands_on, below[-1]), made) if below and stands_on else (made,)


class Preparation:
    """Makes images ready, ``jobs`` at a time, on each of ``engines``, which have names for people.

    ``builder`` builds Dockerfiles for engines that build none.
    """

    def __init__(
        self,
        engines: Mapping[str, Puller],
        *,
        jobs: int = 3,
        archives: Archives | None = None,
        builder: Puller | None = None,
        say: Callable[[str], object] = lambda line: None,
    ) -> None:
        self._engines = engines
        self._jobs = jobs
        self._archives = archives or Archives(())
        self._maker = Maker(self._archives, builder)
        self._say = say
        self._layers: dict[str, Mapping[str, int]] = {}

    def lacking(self, wanted: Iterable[Wanted]) -> dict[str, list[Wanted]]:
        """By engine, those that it has not."""
        everything, found = list(wanted), {}
        for name, puller in self._engines.items():
            ask = partial(_is_held, puller)
            held = list(at_once(ask, everything, jobs=self._jobs))
            found[name] = [each for each, is_there in zip(everything, held, strict=True) if not is_there]
        return found

    def needs(self, engine: str, wanted: Iterable[Wanted], *, hub: bool = False) -> Needs:
        """What ``wanted`` take on an engine; layers that images share counted once where it keeps layers.

        Docker Hub counts each question for sizes as a pull: it is asked with ``hub`` only.
        """
        puller, unknown = self._engines[engine], 0
        here: dict[str, int] = {}
        fetched: dict[str, int] = {}
        sizes = []
        for each in wanted:
            unpacked = self._archives.layers(each.image) or _beside(each.image, puller)
            packed = {} if unpacked else self._asked(each.recipe, puller, hub)
            unknown += not (unpacked or packed)
            # Images that are files share nothing.
            own = "" if puller.engine.ways.layers else f"{each.image} "
            here |= {own + name: size for name, size in unpacked.items()}
            fetched |= {own + name: size for name, size in packed.items()}
            sizes.append(sum(packed.values()) + sum(unpacked.values()) / PACKED)
        ways, fetch = puller.engine.ways, sum(fetched.values())
        kept = (fetch + sum(here.values()) / PACKED) * ways.unpacked
        work = sum(sorted(sizes)[-self._jobs :]) * ways.work
        return Needs(fetch // _MIB, int(kept) // _MIB, int(work) // _MIB, unknown)

    def _asked(self, recipe: Recipe, puller: Puller, hub: bool) -> Mapping[str, int]:
        """Once for all engines."""
        if recipe.image not in self._layers:
            self._layers[recipe.image] = _layers(recipe, puller, hub)
        return self._layers[recipe.image]

    def run(self, lacking: Mapping[str, list[Wanted]], result: Prepared) -> Prepared:
        """All of ``lacking``; what cannot be had is told in the result, and does not stop the others."""
        where: dict[Recipe, list[str]] = {}
        for name, wanted in lacking.items():
            for each in wanted:
                where.setdefault(each.recipe, []).append(name)
        work = _Work(sum(map(len, where.values())), result)
        for _ in at_once(partial(self._everywhere, work), where.items(), jobs=self._jobs, stopped=work.stopped):
            pass
        return result

    def _everywhere(self, work: _Work, asked: tuple[Recipe, list[str]]) -> None:
        """One engine after the other: the second may have it from the first."""
        recipe, names = asked
        donors = [puller for name, puller in self._engines.items() if name not in names]
        for name in names:
            if work.stopped.is_set():
                return
            begin, how, why = time.monotonic(), "", ""
            try:
                how = self._maker.made(recipe, self._engines[name], donors[0] if donors else None)
                donors.append(self._engines[name])
            except (SweError, BuildFailed, PullFailed) as error:
                why = str(error)
            where = f" on {name}" if len(self._engines) > 1 else ""
            said = f"{how}  {time.monotonic() - begin:.1f} s" if not why else f"missing: {first_line(why)}"
            if work.stopped.is_set():
                return
            self._say(f"{work.ended((name, recipe.image), how, why)} {recipe.image}{where}  {said}")


class _Work:
    """Counts what has ended, for many threads."""

    def __init__(self, total: int, result: Prepared) -> None:
        self._total = total
        self._result = result
        self._lock = threading.Lock()
        self._number = 0
        self.stopped = threading.Event()

    def ended(self, key: tuple[str, str], how: str, why: str) -> str:
        """Note what came of it; returns the count to show."""
        with self._lock:
            self._number += 1
            if why:
                self._result.missing[key] = why
            else:
                self._result.done[key] = how
            return f"[{self._number}/{self._total}]"


def _is_held(puller: Puller, each: Wanted) -> bool:
    return puller.held(each.image, each.recipe.platform) is not None


def _beside(image: str, puller: Puller) -> Mapping[str, int]:
    with suppress(SweError):  # whoever makes it is told
        return {image: mb * _MIB} if (mb := puller.engine.beside_mb(image)) else {}
    return {}


def _layers(recipe: Recipe, puller: Puller, hub: bool) -> Mapping[str, int]:
    for name in puller.policy.mirrors.names(recipe.image):
        with suppress(ValueError, Unreachable):
            reference = parse(name)
            if reference.registry != DOCKER_HUB or hub:
                return puller.registries.layers(reference, recipe.platform or "linux/amd64")
    return {}
