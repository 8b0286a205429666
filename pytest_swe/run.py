"""One pytest session with data sets in it: its settings, its identity, its plans, and the Jobs that are live.

Made once per process in ``pytest_configure`` and kept in the stash; the controller and each worker have one.
"""

from __future__ import annotations

import functools
import logging
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import cast

import pytest

from pytest_swe import registry
from pytest_swe.agents import agent_sources, depends_on
from pytest_swe.dataset.harbor_tasks import FAMILY
from pytest_swe.dataset.predictions import read_predictions
from pytest_swe.dataset.source import Dataset, dataset_of_rows
from pytest_swe.dataset_plan import DatasetPlan
from pytest_swe.errors import RowInvalid, SweError
from pytest_swe.fingerprint import fingerprint
from pytest_swe.harness.base import Harness
from pytest_swe.known import Cache, answers_in, of_other_images
from pytest_swe.model import Row
from pytest_swe.planning import CONTROLS, Planned, Selection, Source, plan, refuse_shared_columns, select
from pytest_swe.policy import Policy
from pytest_swe.quarantine import Quarantine, read_quarantine
from pytest_swe.report.names import distinct_names
from pytest_swe.reward import Reward
from pytest_swe.sandbox.base import SandboxProvider, held_digests
from pytest_swe.settings import Settings
from pytest_swe.user_code import refuse_other, user_code
from pytest_swe.working import CLOSING, Working

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Run:
    """See the module. ``worker`` is empty on the controller and in a single process.

    ``part`` tells this part of a run from every other with the same run id: it stands on its sandboxes.
    ``told_outdated``: what a worker hears from its controller, see `outdated`.
    """

    config: pytest.Config
    settings: Settings
    run_id: str
    part: str
    paths: frozenset[Path] = frozenset()
    worker: str = ""
    policy: Policy = field(default_factory=Policy)
    jobs: set[Working] = field(default_factory=set)
    stopping: bool = False
    told_outdated: frozenset[str] | None = None
    _closed: bool = False
    _plans: dict[Path, DatasetPlan] = field(default_factory=dict)
    _sources: tuple[Source, ...] | None = None
    _provider: SandboxProvider | None = None
    _models: dict[str, str] = field(default_factory=dict)
    _rows: dict[tuple[str, int, str], str] = field(default_factory=dict)
    _answers: dict[str, Reward] | None = None
    _quarantine: Quarantine | None = None

    @property
    def directory(self) -> Path:
        return self.settings.results / self.run_id

    @property
    def rewards_path(self) -> Path:
        return self.settings.rewards or self.directory / "rewards.jsonl"

    def plan_of(self, path: Path) -> DatasetPlan:
        """The plan of the data set at ``path``, made once. Raises SweError when nothing of it can be read."""
        if path not in self._plans:
            dataset = self._open(path)
            chosen = select(dataset.refs, self._selection())
            items = plan(chosen, self.sources(), self.settings.repeat * self.settings.attempts)
            self._plans[path] = DatasetPlan(dataset, items, {item.name: item for item in items})
        return self._plans[path]

    @property
    def plans(self) -> Mapping[Path, DatasetPlan]:
        return self._plans

    def fingerprint(self, planned: Planned) -> str:
        """What the verdict of an item depends on, as one text."""
        settings = self.settings
        return fingerprint(
            planned,
            {
                "provider": settings.provider,
                "harness": settings.harness,
                "rules": settings.rules,
                "repairs": settings.repairs,
                "second_look": settings.second_look,
                "extract_diff": settings.extract_diff,
                "network": settings.network,
                "timeout": settings.timeout,
                "cpus": settings.cpus,
                "memory_mb": settings.memory_mb,
                "pids": settings.pids,
                **(depends_on(settings) if planned.source.startswith("agent:") or planned.ref.family == FAMILY else {}),
                "versions": judges(),
                "left_out": sorted(self.quarantine.tests.get(planned.instance_id, ())),
            },
        )

    @property
    def quarantine(self) -> Quarantine:
        """What ``--swe-quarantine`` names, read once. Raises UsageError."""
        if self._quarantine is None:
            path = self.settings.quarantine
            self._quarantine = Quarantine() if path is None else read_quarantine(path)
        return self._quarantine

    def known(self, planned: Planned) -> Reward | None:
        """The line that answers an item already: of this run when it is resumed, else of the cache."""
        if not self.settings.resume and self.settings.cache is None:
            return None
        mark = self.fingerprint(planned)
        return None if mark in self.outdated else self._answer(mark)

    @property
    def outdated(self) -> frozenset[str]:
        """Fingerprints of known answers whose image is another now: the engine is asked once, workers are told.

        Not in a run that only looks.
        """
        if self.told_outdated is None:
            self.told_outdated = frozenset()
            asks = self.settings.resume or self.settings.cache is not None
            if asks and not (self.config.option.collectonly or self.settings.check):
                marks = [self.fingerprint(item) for known in self.plans.values() for item in known.items]
                answers = filter(None, map(self._answer, marks))
                self.told_outdated = of_other_images(answers, functools.partial(held_digests, self.provider()))
        return self.told_outdated

    def _answer(self, mark: str) -> Reward | None:
        if self._answers is None:
            self._answers = answers_in(self.rewards_path) if self.settings.resume else {}
        if mark in self._answers:
            return self._answers[mark]
        return Cache(self.settings.cache).get(mark) if self.settings.cache is not None else None

    def model_name(self, model: str) -> str:
        """The model as a file name that no other model of the run has."""
        if not self._models:
            self._name_files()
        return self._models[model]

    def logs_of(self, known: DatasetPlan, planned: Planned) -> Path:
        """The directory of an item's files: ``logs/<model>/<instance>``, no other item's."""
        model = self.model_name(planned.model)
        row = self._rows[known.dataset.name, planned.ref.line, planned.instance_id]
        return self.directory / "logs" / model / (f"{row}#{planned.repeat + 1}" if planned.repeat else row)

    def _name_files(self) -> None:
        # Over all data sets in a fixed order: every worker must give the same names.
        plans = [self.plan_of(path) for path in sorted(self.paths)]
        self._models = distinct_names((item.model, item.model) for known in plans for item in known.items)
        self._rows = distinct_names(
            ((known.dataset.name, item.ref.line, item.instance_id), item.instance_id)
            for known in plans
            for item in known.items
        )

    def planned(self, nodeid: str) -> tuple[DatasetPlan, Planned] | None:
        """The item of a node id, or None when it is not one of ours."""
        prefix, _, name = nodeid.partition("::")
        path = (self.config.rootpath / prefix).resolve()
        if path not in self.paths or not name:
            return None
        known = self.plan_of(path)
        item = known.by_name.get(name)
        return (known, item) if item is not None else None

    def sources(self) -> tuple[Source, ...]:
        """What ``--swe-preds`` names, read once."""
        if self._sources is None:
            base = Path(self.config.invocation_params.dir)
            names = dict.fromkeys(self.settings.preds or (() if self.settings.agents else ("",)))
            found = [*(self._source(name, base) for name in names), *agent_sources(self.settings)]
            self._sources = tuple(dict.fromkeys(found))
            refuse_shared_columns(self._sources)
        return self._sources

    def _source(self, name: str, base: Path) -> Source:
        if name in CONTROLS or not name:
            return Source(name=name)
        return Source(name=name, predictions=read_predictions(base / name, duplicates=self.settings.duplicates))

    def _open(self, path: Path) -> Dataset:
        with user_code("pytest_swe_read_dataset"):
            found = cast(
                "Dataset | Iterable[Row] | None",
                self.config.hook.pytest_swe_read_dataset(config=self.config, path=path),
            )
            if found is None:
                raise RowInvalid("not a data set in a known format", path=path)
            dataset = found if isinstance(found, Dataset) else dataset_of_rows(path, found)
        twins = [other for other in self.paths if other != path and other.stem == path.stem]
        if twins:  # lines are keyed by the name, so two data sets must not share it
            dataset = replace(dataset, name=os.path.relpath(path, self.config.rootpath))
        return dataset

    def _selection(self) -> Selection:
        settings = self.settings
        return Selection(
            instances=settings.instances,
            sample=settings.sample,
            seed=settings.seed,
            shard=settings.shard,
            limit=settings.limit,
        )

    def harness_of(self, row: Row, dataset: Dataset) -> Harness:
        """The family of a row. Raises RowInvalid that lists what each family misses, SweError for a wrong hook."""
        with user_code("pytest_swe_harness"):
            found = cast("Harness | str | None", self.config.hook.pytest_swe_harness(config=self.config, row=row))
        if isinstance(found, str):
            return registry.harness(found)
        if found is None:
            raise RowInvalid("no family for this row", path=dataset.path, instance_id=str(row.get("instance_id", "")))
        refuse_other(found, "pytest_swe_harness", "a harness or a family's name", _OF_A_HARNESS)
        return found

    def provider(self) -> SandboxProvider:
        """The provider that the options name, made once. Raises UsageError for an unknown name, SweError."""
        if self._provider is None:
            name = self.settings.provider
            with user_code("pytest_swe_sandbox_provider"):
                found = self.config.hook.pytest_swe_sandbox_provider(config=self.config, name=name)
                if found is None:
                    found = registry.provider(name, self.settings.provider_options)
            refuse_other(found, "pytest_swe_sandbox_provider", "a provider", _OF_A_PROVIDER)
            self._provider = found
        return self._provider

    def sweep(self, **labels: str) -> None:
        """Remove sandboxes of this part, and of no other that has the same run id; not with ``--swe-keep``."""
        if self.settings.keep:
            return
        try:
            self.provider().sweep({"run": self.run_id, "part": self.part, **labels})
        except SweError:
            pass  # no engine: nothing of it can be left, or a later sweep finds it
        except Exception:  # a provider that breaks its contract
            log.exception("sweeping with provider %s failed", self.settings.provider)

    def close(self) -> None:
        """End every live Job, remove what is left of sandboxes (workers leave that to others), release the provider."""
        for job in list(self.jobs):
            job.cancel()
        deadline = time.monotonic() + CLOSING
        for job in list(self.jobs):
            job.join(max(0.0, deadline - time.monotonic()))
        self.jobs.clear()
        if not self.worker and self._provider is not None and not self._closed:
            # An engine that went away for a while has containers that nobody heard of, or could remove then.
            self.sweep()
        self._closed = True
        if self._provider is not None:
            try:
                self._provider.close()
            except Exception:  # a provider that breaks its contract: the run is over, its results stand
                log.exception("closing provider %s failed", self.settings.provider)


RUN = pytest.StashKey[Run]()

#: Without these nothing can be told of a run, or judged.
_OF_A_HARNESS = ("instance", "generation", "evaluate", "grade")
_OF_A_PROVIDER = ("check", "acquire", "sweep", "close")


@functools.cache
def judges() -> dict[str, str]:
    """Versions of what gives verdicts."""
    return {name: version(name) for name in ("pytest-swe", "swebench")}


def worker_name(config: pytest.Config) -> str:
    """The xdist worker's name, empty elsewhere."""
    workerinput: Mapping[str, object] = getattr(config, "workerinput", {})
    return str(workerinput.get("workerid", ""))


def labels_of(run: Run, planned: Planned) -> dict[str, str]:
    """What every sandbox of an item carries, besides its owner."""
    return {
        "run": run.run_id,
        "part": run.part,
        "worker": run.worker or f"main-{os.getpid()}",
        "instance": planned.instance_id,
        "model": planned.model,
    }


def usage(error: SweError) -> pytest.UsageError:
    """One of our errors as pytest's own: one line, exit status 4."""
    return pytest.UsageError(str(error))
