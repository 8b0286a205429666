"""Names -> adapters, lazily: a vendor SDK is imported only when its adapter is used.

To add a provider, family or format: write its file, add one line to its table here.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pytest_swe.errors import UsageError
from pytest_swe.sandbox import outside
from pytest_swe.sandbox.given import checked, given

if TYPE_CHECKING:
    from pytest_swe.agent.base import Agent
    from pytest_swe.dataset.base import DatasetReader
    from pytest_swe.harness.base import Harness
    from pytest_swe.sandbox.base import SandboxProvider


@dataclass(frozen=True, slots=True)
class Entry:
    """``module:attribute`` of an adapter, and the extra that brings what it imports; ``needs``: a module of it that is
    imported only in calls.
    """

    module: str
    attribute: str
    extra: str = ""
    needs: str = ""


PROVIDERS: Mapping[str, Entry] = {
    "docker": Entry("pytest_swe.sandbox.docker", "DockerProvider"),
    "podman": Entry("pytest_swe.sandbox.podman", "PodmanProvider"),
    "local": Entry("pytest_swe.sandbox.local", "LocalProvider"),
    "apptainer": Entry("pytest_swe.sandbox.apptainer", "ApptainerProvider"),
    "kubernetes": Entry("pytest_swe.sandbox.kubernetes", "KubernetesProvider", "kubernetes", "kubernetes"),
    "opensandbox": Entry("pytest_swe.sandbox.opensandbox", "OpenSandboxProvider", "opensandbox"),
}

#: Those that take a `pytest_swe.sandbox.images.pull.PullPolicy` as ``policy``.
IMAGE_PROVIDERS = ("docker", "podman", "apptainer")

HARNESSES: Mapping[str, Entry] = {
    "swebench": Entry("pytest_swe.harness.swebench", "SweBenchHarness"),
    "flat-eval": Entry("pytest_swe.harness.flat_eval", "FlatEvalHarness"),
    "swe-bench-pro": Entry("pytest_swe.harness.swe_bench_pro", "SweBenchProHarness"),
    "nv-internal-1": Entry("pytest_swe.harness.nv_internal", "NvInternalHarness"),
    "swe-bench-ext": Entry("pytest_swe.harness.swe_bench_ext", "SweBenchExtHarness"),
    "swemer": Entry("pytest_swe.harness.swemer", "SwemerHarness"),
    "multi-swe-bench": Entry("pytest_swe.harness.multi_swe_bench", "MultiSweBenchHarness"),
    "deepswe": Entry("pytest_swe.harness.deepswe", "DeepSweHarness"),
    "swemer-oml": Entry("pytest_swe.harness.swemer_oml", "SwemerOmlHarness"),
    "scale-swe": Entry("pytest_swe.harness.scale_swe", "ScaleSweHarness"),
    "denovo-swe": Entry("pytest_swe.harness.denovo_swe", "DenovoSweHarness"),
    "r2e-gym": Entry("pytest_swe.harness.r2e_gym", "R2EGymHarness"),
    "swe-next": Entry("pytest_swe.harness.r2e_gym", "SweNextHarness"),
    "swe-rebench": Entry("pytest_swe.harness.swe_rebench", "SweRebenchHarness"),
    "swe-bench-live": Entry("pytest_swe.harness.swe_bench_live", "SweBenchLiveHarness"),
    "swe-gym": Entry("pytest_swe.harness.swe_gym", "SweGymHarness"),
    "swe-smith": Entry("pytest_swe.harness.swe_smith", "SweSmithHarness"),
    "harbor": Entry("pytest_swe.harness.harbor", "HarborHarness"),
}

#: In the order they are asked whether they recognise a path.
READERS: Mapping[str, Entry] = {
    "task-repo": Entry("pytest_swe.dataset.task_repo", "TaskRepoReader"),
    "harbor-tasks": Entry("pytest_swe.dataset.harbor_tasks", "HarborTasksReader"),
    "parquet": Entry("pytest_swe.dataset.parquet", "ParquetReader", "parquet"),
    "jsonl": Entry("pytest_swe.dataset.jsonl", "JsonlReader"),
    "json": Entry("pytest_swe.dataset.json_file", "JsonReader"),
}


def providers() -> tuple[str, ...]:
    """Names of the built-in providers, then of those that installed packages bring."""
    return (*PROVIDERS, *(name for name in outside.names() if name not in PROVIDERS))


def harnesses() -> tuple[str, ...]:
    """Names of the built-in families."""
    return tuple(HARNESSES)


def provider(name: str, texts: Iterable[str] = (), /, **options: object) -> SandboxProvider:
    """A new provider; ``texts`` are options as ``key=value``.

    Raises UsageError for an unknown name, an unknown option, a value that means nothing, or a missing extra.
    """
    make = provider_class(name)
    entry = PROVIDERS.get(name)
    if entry is not None and entry.needs and importlib.util.find_spec(entry.needs) is None:
        raise _without_extra("provider", name, entry, entry.needs)
    return make(**{**checked(name, make, options), **given(name, make, texts)})


def provider_class(name: str) -> type[SandboxProvider]:
    """The class of a provider; one of our own wins over one of that name elsewhere. Raises UsageError."""
    if name not in PROVIDERS and name in outside.names():
        return outside.load(name)
    return cast("type[SandboxProvider]", _load("provider", name, PROVIDERS, also=outside.names))


def harness(name: str) -> Harness:
    """A new harness. Raises UsageError for an unknown name or a missing extra."""
    make = cast("type[Harness]", _load("family", name, HARNESSES))
    return make()


def readers() -> tuple[DatasetReader, ...]:
    """A new reader of every format, in the order in which they are asked."""
    return tuple(reader(name) for name in READERS)


def reader(name: str) -> DatasetReader:
    """A new reader of one format; what it needs beyond this package is asked for when it reads."""
    make = cast("type[DatasetReader]", _load("format", name, READERS))
    return make()


def agents() -> tuple[str, ...]:
    """Names of the agents that come with the package."""
    from pytest_swe.agent.builtin import names

    return names()


def agent(text: str) -> Agent:
    """The agent that ``text`` names: a built-in one, ``command:...``, or ``module:Class``. Raises UsageError."""
    from pytest_swe.agent.builtin import agent_named

    return agent_named(text)


def _load(kind: str, name: str, table: Mapping[str, Entry], also: Callable[[], tuple[str, ...]] = tuple) -> object:
    entry = table.get(name)
    if entry is None:
        known = (*table, *also())
        near = difflib.get_close_matches(name, known, 1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        raise UsageError(f"no {kind} {name!r}: {guess}known are {', '.join(known)}")
    try:
        return getattr(importlib.import_module(entry.module), entry.attribute)
    except ModuleNotFoundError as missing:
        if not entry.extra or (missing.name or "").startswith("pytest_swe"):
            raise
        raise _without_extra(kind, name, entry, str(missing.name)) from missing


def _without_extra(kind: str, name: str, entry: Entry, module: str) -> UsageError:
    return UsageError(f"{kind} {name!r} needs {module}", hint=f'pip install "pytest-swe[{entry.extra}]"')
