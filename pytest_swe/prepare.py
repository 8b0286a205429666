"""``pytest-swe prepare`` and ``pytest-swe bundle``: what they say and how they end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from pytest_swe import registry
from pytest_swe.bundle import export_bundle, import_bundle
from pytest_swe.dataset.source import Dataset, open_dataset
from pytest_swe.errors import EngineUnavailable, SweError, Unsupported, UsageError
from pytest_swe.harbor_preparation import Made, is_of_tasks, needed, prepare_tasks
from pytest_swe.preparation import Needs, Preparation, Prepared, Wanted, wanted_of
from pytest_swe.sandbox.base import SandboxProvider
from pytest_swe.sandbox.images.archives import Archives
from pytest_swe.sandbox.images.mirrors import Mirrors
from pytest_swe.sandbox.images.pull import HasImages, Puller, PullPolicy

#: Options that say how images of rows are had.
_OF_ROWS = ("archive", "base", "harness", "ask_hub")


@dataclass(slots=True)
class Engines:
    """The engines of a provider that answer, by name, and what those say that do not."""

    there: dict[str, Puller] = field(default_factory=dict)
    gone: dict[str, EngineUnavailable] = field(default_factory=dict)

    def all(self) -> Mapping[str, Puller]:
        """All that there are. Raises EngineUnavailable for the first that does not answer."""
        for failure in self.gone.values():
            raise failure
        return self.there


def prepare(arguments: argparse.Namespace) -> int:
    """Exit status: 0 everything is there, 1 something is missing. Raises SweError."""
    if arguments.jobs < 1:
        raise UsageError(f"-j {arguments.jobs}: expected 1 or more")
    dataset = open_dataset(arguments.dataset)
    if is_of_tasks(dataset):
        _refuse(_OF_ROWS, arguments, "rows, and changes nothing for Harbor tasks")
        return _prepare_tasks(dataset, arguments)
    _refuse(("force_build",), arguments, "Harbor tasks, and changes nothing for rows")
    wanted, result = wanted_of(arguments.dataset, arguments.harness, arguments.instance, base=arguments.base)
    with _engines(arguments) as engines, ExitStack() as stack:
        if not engines.there:
            engines.all()
        builder = _builder(stack, engines, wanted)
        archives = Archives(arguments.archive)
        work = Preparation(engines.there, jobs=arguments.jobs, archives=archives, builder=builder, say=_say)
        lacking = work.lacking(wanted)
        for name, missing in lacking.items():
            where = f"{name}: " if len(engines.there) + len(engines.gone) > 1 else ""
            _say(f"{where}{len(wanted)} images, {len(wanted) - len(missing)} there, {len(missing)} to prepare")
            if missing:
                needs = work.needs(name, missing, hub=arguments.ask_hub)
                _say_needs(where, needs, engines.there[name])
        if not arguments.dry_run:
            work.run(lacking, result)
    return _summary(wanted, lacking, engines, result, dry=arguments.dry_run)


def _refuse(names: Iterable[str], arguments: argparse.Namespace, whose: str) -> None:
    """Raises UsageError for an option that would change nothing."""
    for name in names:
        if getattr(arguments, name):
            raise UsageError(f"--{name.replace('_', '-')} is for {whose}", hint="leave it out")


def _prepare_tasks(dataset: Dataset, arguments: argparse.Namespace) -> int:
    made = Made()
    everything = needed(dataset, arguments.instance, made)
    _say(f"{len(dataset.refs)} tasks, {len(everything)} environments to make ready")
    if not arguments.dry_run:
        with _provider(arguments) as provider:
            prepare_tasks(everything, provider, made, jobs=arguments.jobs, force_build=arguments.force_build, say=_say)
        _say(f"{made.ready} of {len(everything)} environments are ready, in {len(made.images)} images")
    for name, why in made.missing:
        _say(f"missing for {name}: {why}")
    return 1 if made.missing else 0


def export(arguments: argparse.Namespace) -> int:
    """Exit status 0; what cannot be written is raised as a SweError."""
    wanted, result = wanted_of(arguments.dataset, arguments.harness, arguments.instance)
    if result.rows or not wanted:
        raise UsageError("rows without an image: " + "; ".join(f"{name}: {why}" for name, why in result.rows))
    images = [each.image for each in wanted]
    with _engines(arguments) as engines:
        # Of several engines the first that has everything, else the first, which says what it lacks.
        able = [each for each in engines.there.values() if all(each.engine.find(image) for image in images)]
        bundle = export_bundle((able or list(engines.all().values()))[0], images, arguments.target)
    _say(f"{len(bundle.images)} images, {bundle.bytes // 1024**2} MiB, {bundle.digest}")
    return 0


def load(arguments: argparse.Namespace) -> int:
    """Exit status 0; what cannot be loaded is raised as a SweError."""
    with _engines(arguments) as engines:
        for name, puller in engines.all().items():
            bundle = import_bundle(puller, arguments.source)
            where = f"{name}: " if len(engines.there) > 1 else ""
            _say(f"{where}{len(bundle.images)} images are there")
    return 0


@contextmanager
def _engines(arguments: argparse.Namespace) -> Iterator[Engines]:
    """Raises UsageError for options that mean nothing, Unsupported for a provider without images."""
    with _provider(arguments) as provider:
        if not isinstance(provider, HasImages):
            raise Unsupported(f"provider {provider.name} has no images to prepare")
        yield _asked(provider)


@contextmanager
def _provider(arguments: argparse.Namespace) -> Iterator[SandboxProvider]:
    name, hosts = arguments.provider, arguments.docker_hosts
    if hosts and name != "docker":
        raise Unsupported(f"--docker-hosts is for --provider docker, not {name}")
    mirrors = Mirrors.of(getattr(arguments, "mirror", ()))
    options: dict[str, object] = {"hosts": hosts} if hosts else {}
    if name in registry.IMAGE_PROVIDERS:
        options["policy"] = PullPolicy(mirrors=mirrors, pulls=max(3, getattr(arguments, "jobs", 3)))
    provider = registry.provider(name, arguments.provider_option, **options)
    try:
        yield provider
    finally:
        provider.close()


def _asked(provider: HasImages) -> Engines:
    found = Engines()
    for name, connect in provider.images().items():
        try:
            found.there[name] = connect()
        except EngineUnavailable as failure:
            found.gone[name] = failure
    return found


def _builder(stack: ExitStack, engines: Engines, wanted: list[Wanted]) -> Puller | None:
    """A Docker engine, for Dockerfiles that the provider's own engine does not build; None where none answers."""
    builds = all(puller.engine.ways.builds for puller in engines.there.values())
    if builds or not any(each.recipe.builds for each in wanted):
        return None
    provider = registry.provider("docker")
    stack.callback(provider.close)
    try:
        return next(iter(_asked(provider).there.values()), None) if isinstance(provider, HasImages) else None
    except SweError:
        return None  # an address that is none; whoever needs the builder is told that there is none


def _say_needs(where: str, needs: Needs, puller: Puller) -> None:
    free, once = puller.engine.free_mb(), ", shared layers counted once" if puller.engine.ways.layers else ""
    said = f"{where}to fetch: {needs.fetched} MiB, about {needs.kept} MiB on disk{once}"
    said += f", {needs.work} MiB more at work" if needs.work else ""
    said += f"; of {needs.unknown} images nobody told" if needs.unknown else ""
    _say(said + (f"; free: {free} MiB" if free is not None else ""))
    if free is not None and needs.kept + needs.work > free:
        _say(f"{where}this does not fit on the disk")


def _summary(
    wanted: list[Wanted], lacking: Mapping[str, list[Wanted]], engines: Engines, result: Prepared, *, dry: bool
) -> int:
    several = len(engines.there) + len(engines.gone) > 1
    for name, images in lacking.items():
        missing = {each.image: "to prepare" for each in images} if dry else _missing(name, result)
        where = f" on {name}" if several else ""
        for each in wanted:
            if each.image in missing:
                shown = ", ".join(each.instances[:5]) + (", ..." if len(each.instances) > 5 else "")
                _say(f"missing{where}: {each.image} (for {shown}): {missing[each.image]}")
        _say(f"{len(wanted) - len(missing)} of {len(wanted)} images are there{where}")
    for name, failure in engines.gone.items():
        _say(f"nothing is known of {name}: {failure}")
    for name, why in result.rows:
        _say(f"no image: {name}: {why}")
    lack = any(lacking.values()) if dry else bool(result.missing)
    return 1 if lack or result.rows or engines.gone else 0


def _missing(engine: str, result: Prepared) -> dict[str, str]:
    return {image: why for (name, image), why in result.missing.items() if name == engine}


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
