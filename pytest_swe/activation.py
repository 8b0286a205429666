"""From named paths to a session with data sets: what is registered, on which side."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_swe import defaults, fixtures
from pytest_swe.agents import refuse_at_start, refuse_without_agent
from pytest_swe.collection import REPO_FILE, TASK_FILE, CollectionPlugin, file_of, host_code_in, is_task_repository
from pytest_swe.dataset.cache import writable
from pytest_swe.dataset.source import dataset_path, looks_like_dataset
from pytest_swe.errors import SweError
from pytest_swe.harbor.tree import DATASET as HARBOR_DATASET
from pytest_swe.harbor.tree import LEVELS, ids_of, task_named
from pytest_swe.harbor.tree import TASK as HARBOR_TASK
from pytest_swe.item_reports import ItemReportsPlugin
from pytest_swe.model import Candidate
from pytest_swe.policy import Policy
from pytest_swe.reporting import ReportingPlugin
from pytest_swe.reward import Verdict
from pytest_swe.run import RUN, Run, usage, worker_name
from pytest_swe.run_ids import latest_run, new_part, new_run_id
from pytest_swe.sandbox.admission import Admission, host_budget, workers_for
from pytest_swe.settings import Settings, settings_from
from pytest_swe.stopping import ControllerStopPlugin, WorkerStopPlugin


def find_datasets(
    named: Sequence[str], positional: Iterable[str], split: str | None
) -> tuple[tuple[Path, ...], list[str]]:
    """The data sets' files, and the arguments to add so that pytest collects those given by option.

    Raises UsageError for a name that is nothing, and for a root with files that pytest would run.
    """
    files: list[Path] = []
    extra: list[str] = []
    try:
        for name in named:
            path = dataset_path(name, split=split)
            files.append(_file_of(path))
            extra.append(str(path))
        for argument in positional:
            path = Path(argument.split("::")[0])
            if looks_like_dataset(path):
                files.append(_file_of(path))
    except SweError as error:
        raise usage(error) from None
    except OSError as error:
        raise pytest.UsageError(f"{error.filename}: {error.strerror}") from None
    return tuple(dict.fromkeys(files)), extra


def task_in(argument: str) -> str:
    """``DIRECTORY::id`` as something that pytest takes, for it takes no ids of a directory.

    Of a task repository that is its file with the id, of a tree of Harbor tasks the directory of that task.
    """
    directory, _, name = argument.partition("::")
    if not name or not os.path.isdir(directory):
        return argument
    if is_task_repository(Path(directory)):
        return f"{Path(directory, REPO_FILE)}::{name}"
    found = task_named(Path(directory), name)
    if found is None:
        near = difflib.get_close_matches(name, ids_of(Path(directory)), 1)
        raise pytest.UsageError(f"{argument}: no such task" + (f"; nearest: {near[0]}" if near else ""))
    return str(found)


def _file_of(path: Path) -> Path:
    """The file that stands for a data set; a directory is refused when pytest would run something of it."""
    file = file_of(path)
    for directory in _directories_of(file):
        code = host_code_in(directory)
        if code is not None:
            raise pytest.UsageError(f"{code}: a data set must not bring code that runs on the host; remove the file")
    return file


def _directories_of(file: Path) -> Sequence[Path]:
    """Directories that belong to a data set and that pytest would look into: of a task also its repository's."""
    if file.is_dir():
        return _with_parents(file)
    if file.name in (HARBOR_TASK, HARBOR_DATASET):
        return _with_parents(file.parent)
    if file.name == REPO_FILE:
        return (file.parent,)
    return tuple(file.parents)[:3] if file.name == TASK_FILE else ()


def _with_parents(directory: Path) -> Sequence[Path]:
    """A directory of Harbor tasks, and those around it up to the ``dataset.toml`` that it belongs to."""
    around = tuple(directory.parents)[:LEVELS]
    last = next((number for number, place in enumerate(around, 1) if os.path.lexists(place / HARBOR_DATASET)), 0)
    return (directory, *around[:last])


def activate(config: pytest.Config, datasets: Sequence[Path]) -> None:
    """Register what this side needs. Controller or worker is decided here, once."""
    settings = settings_from(config)
    workerinput: Mapping[str, Any] | None = getattr(config, "workerinput", None)
    run_id = settings.run_id or (workerinput or {}).get("swe_run_id") or _run_to_resume(settings) or new_run_id()
    run = config.stash[RUN] = Run(
        config=config,
        settings=settings,
        run_id=str(run_id),
        part=str((workerinput or {}).get("swe_part") or new_part()),
        paths=frozenset(datasets),
        worker=worker_name(config),
        told_outdated=None if workerinput is None else frozenset(workerinput.get("swe_outdated", ())),
        policy=Policy(
            keep=_keep(settings),
            rules=settings.rules,
            second_look=settings.second_look,
            admission=_admission(settings),
            retries=settings.retries,
        ),
    )
    if settings.check:
        config.option.dist = "no"
    is_controller = workerinput is None and _distributes(config)
    _refuse_empty(config, run)
    register = config.pluginmanager.register
    register(defaults, "swe-defaults")
    register(fixtures, "swe-fixtures")
    register(CollectionPlugin(datasets), "swe-collection")
    register(ItemReportsPlugin(), "swe-item-reports")
    if workerinput is None:
        register(ReportingPlugin(run), "swe-reporting")
        if settings.image_budget_mb is not None:
            from pytest_swe.image_wants import ImageWantsPlugin

            register(ImageWantsPlugin(run), "swe-image-wants")
        if settings.check:
            from pytest_swe.checking import CheckPlugin

            register(CheckPlugin(run), "swe-check")
    if is_controller:
        from pytest_swe.scheduling import SchedulingPlugin  # imports xdist, which need not be there

        register(SchedulingPlugin(), "swe-scheduling")
        register(ControllerStopPlugin(run), "swe-stopping")
    else:
        register(WorkerStopPlugin(run), "swe-stopping")
    if settings.shell and workerinput is None and not is_controller:
        from pytest_swe.shell import ShellPlugin

        register(ShellPlugin(run), "swe-shell")


def _run_to_resume(settings: Settings) -> str | None:
    """The latest run, unless a reward file is named; None when there is nothing to resume, or that is not asked."""
    if not settings.resume or settings.rewards is not None:
        return None
    try:
        return latest_run(settings.results)
    except OSError as error:
        raise pytest.UsageError(f"--swe-results {settings.results}: {error.strerror}") from None


def _admission(settings: Settings) -> Admission | None:
    """One budget for all that this user runs on this host; None where nothing can be written."""
    place = writable()
    return None if place is None else Admission(place / "admission", settings.budget or host_budget())


def auto_workers(config: pytest.Config) -> int:
    """``-n auto``: rows at a time that this host holds, by its processors and its memory."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return workers_for(cpus, settings_from(config).budget or host_budget())


def _refuse_empty(config: pytest.Config, run: Run) -> None:
    settings = run.settings
    if settings.shell and _distributes(config):
        raise pytest.UsageError("--swe-shell needs the terminal: use -n0")
    looking_only = config.option.collectonly or settings.check or getattr(config.option, "setupplan", False)
    try:
        refuse_without_agent(settings)
        if not looking_only:
            refuse_at_start(settings)
    except SweError as error:
        raise usage(error) from None
    if not settings.preds and not settings.agents and not looking_only:
        raise pytest.UsageError(
            "nothing to evaluate: give --swe-preds FILE, gold or base, or --swe-agent NAME (or --collect-only)"
        )


def _distributes(config: pytest.Config) -> bool:
    has_xdist = config.pluginmanager.hasplugin("xdist") or config.pluginmanager.hasplugin("xdist.plugin")
    return has_xdist and config.option.dist != "no" and not config.option.collectonly


def _keep(settings: Settings) -> Callable[[Candidate, Verdict], bool]:
    """A sandbox is kept when its item fails: not when the control ``base`` does not resolve, as it should."""

    def keep(candidate: Candidate, verdict: Verdict) -> bool:
        if candidate.is_control:
            return verdict.status in ("resolved", "error")
        return verdict.status in ("unresolved", "error")

    return keep if settings.keep or settings.shell else lambda candidate, verdict: False
