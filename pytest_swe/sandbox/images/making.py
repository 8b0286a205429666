"""One image made ready on one engine: loaded from an archive, pulled, copied from another engine, or built."""

from __future__ import annotations

import io
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_swe.errors import ImageUnavailable
from pytest_swe.sandbox.images.archives import Archives
from pytest_swe.sandbox.images.context import tar_of_directory, tar_of_files
from pytest_swe.sandbox.images.pull import Puller
from pytest_swe.sandbox.images.reference import parse
from pytest_swe.sandbox.images.registry import Unreachable


@dataclass(frozen=True, slots=True)
class Build:
    """A Dockerfile and the ``image`` that it makes: a path below ``root``, its context; without one the text itself."""

    image: str
    dockerfile: str
    root: Path | None = None
    arguments: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Recipe:
    """An image, and how it could be built: each of ``builds`` stands on the one before it, the last makes the image."""

    image: str
    platform: str | None = None
    builds: tuple[Build, ...] = ()


class Maker:
    """``builder`` builds Dockerfiles for an engine that builds none, where that engine then finds the image."""

    def __init__(self, archives: Archives, builder: Puller | None = None) -> None:
        self._archives = archives
        self._builder = builder

    def made(self, recipe: Recipe, puller: Puller, donor: Puller | None = None) -> str:
        """How it came there: there, loaded, pulled, copied, built, or made of what else this host has.

        ``donor`` is another engine that has it. Raises ImageUnavailable, DiskFull, EngineUnavailable, UsageError,
        BuildFailed, PullFailed.
        """
        if puller.held(recipe.image, recipe.platform) is not None:
            return "there"
        archive = self._archives.holding(recipe.image)
        if archive is not None:
            self._load(recipe, puller, archive)
            return "loaded"
        if (donor or recipe.builds) and not _is_to_be_had(recipe, puller):
            if donor is not None:
                _copy(recipe.image, donor, puller)
                return "copied"
            return self._built(recipe, puller)
        return "pulled" if puller.ready(recipe.image, recipe.platform).fetched else "made"

    def _load(self, recipe: Recipe, puller: Puller, archive: Path) -> None:
        # Where all of an archive is loaded, nobody else is to do the same meanwhile.
        with puller.host.locked(str(archive) if puller.engine.ways.layers else recipe.image):
            if puller.held(recipe.image, recipe.platform) is None:
                with archive.open("rb") as file:
                    puller.engine.load(file, [recipe.image])

    def _built(self, recipe: Recipe, puller: Puller) -> str:
        if puller.engine.ways.builds:
            with puller.host.locked(recipe.image):
                for build in recipe.builds:
                    _build(build, puller, again=build.image == recipe.image)
            return "built"
        if self._builder is None:
            raise ImageUnavailable(
                f"no image {recipe.image}, and nothing builds its Dockerfile", hint="a Docker engine would"
            )
        if self._builder.held(recipe.image, recipe.platform) is None:
            self._built(recipe, self._builder)
        puller.ready(recipe.image, recipe.platform)
        return "built"


def _is_to_be_had(recipe: Recipe, puller: Puller) -> bool:
    """Whether it is beside the engine, or a registry that answers has it: what can be built is not waited for."""
    if puller.engine.beside_mb(recipe.image) is not None:
        return True
    for name in puller.policy.mirrors.names(recipe.image):
        with suppress(ValueError, Unreachable):
            if puller.registries.look(parse(name)).status in (200, 429):
                return True
    return False


def _copy(image: str, donor: Puller, puller: Puller) -> None:
    """The same image, to the byte: built a second time it would be another."""
    name = donor.held(image) or image
    with puller.host.locked(image):
        puller.engine.load(donor.engine.save([name]), [name])
        if name != image:
            puller.engine.tag(name, image)


def _build(build: Build, puller: Puller, *, again: bool) -> None:
    """What others stand on is built only where it is not there: ``again`` is for the image itself."""
    if again:
        return _build_now(build, puller)
    with puller.host.locked(build.image):
        if puller.engine.find(build.image) is None:
            _build_now(build, puller)


def _build_now(build: Build, puller: Puller) -> None:
    if build.root is not None:
        with tar_of_directory(build.root) as context:
            puller.engine.build(context, build.dockerfile, build.image, dict(build.arguments))
        return
    files = {"Dockerfile": build.dockerfile.encode("utf-8", "surrogateescape")}
    puller.engine.build(io.BytesIO(tar_of_files(files)), "Dockerfile", build.image, dict(build.arguments))
