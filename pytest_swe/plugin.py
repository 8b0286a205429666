"""The pytest plugin: thin, because it is loaded in every pytest run of everybody who installed the package.

Until a data set is named nothing but options and hook specifications is registered, and nothing else is imported.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_swe.options import add_options, ini_paths

#: Suffixes of paths that are looked into when they are named on the command line.
SUFFIXES = (".jsonl", ".json", ".parquet", ".gz", ".zst", ".yaml")

#: A file in the directory of the results, by which it is known (`pytest_swe.rewards_file`, not imported for this).
RESULTS_MARK = ".pytest-swe-results"

DATASETS = pytest.StashKey[tuple[Path, ...]]()


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from pytest_swe import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Find the data sets before any conftest.py is loaded: one in a data set must never be."""
    known = early_config.known_args_namespace
    positional = list(known.file_or_dir or ())
    # An ini file says what plain ``pytest`` runs; who names something on the command line means that alone.
    named = list(known.swe_dataset or (() if positional else ini_paths(early_config, "swe_dataset")))
    candidates = [arg for arg in positional if _may_be_dataset(Path(arg.split("::")[0]))]
    if not named and not candidates:
        return
    from pytest_swe.activation import find_datasets, task_in

    if tasks := {arg: task_in(arg) for arg in candidates}:
        args[:] = [tasks.get(arg, arg) for arg in args]
        positional = [tasks.get(arg, arg) for arg in positional]
        candidates = list(tasks.values())
    found, extra = find_datasets(named, candidates, known.swe_split)
    early_config.stash[DATASETS] = found
    added = [path for path in extra if path not in positional]
    args.extend(added)
    # Also here, so that the conftest files that lead to a data set come first, beside those of the user's own project.
    known.file_or_dir = [_anchor(path) for path in [*(positional or [os.curdir]), *added]]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "swe: an item that comes from a row of a benchmark (pytest-swe)")
    datasets = config.stash.get(DATASETS, ())
    if datasets:
        from pytest_swe.activation import activate

        activate(config, datasets)


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """What ``-n auto`` means when there are data sets; asked before `pytest_configure`."""
    if not config.stash.get(DATASETS, ()) or os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS"):
        return None
    from pytest_swe.activation import auto_workers

    return auto_workers(config)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A task repository that is not named holds tests that are not the user's: leave it alone."""
    if os.path.isfile(collection_path / RESULTS_MARK):
        return True  # test_output.txt looks like a doctest file
    if (
        os.path.isfile(collection_path / "sweb.yaml")
        and os.path.isdir(collection_path / "tasks")
        and collection_path / "sweb.yaml" not in config.stash.get(DATASETS, ())
    ):
        return True
    if os.path.lexists(collection_path / "task.toml") and collection_path not in config.stash.get(DATASETS, ()):
        from pytest_swe.harbor.tree import looks_like_task

        return looks_like_task(collection_path) or None
    return None


def _may_be_dataset(path: Path) -> bool:
    if path.name.endswith(SUFFIXES) or os.path.isfile(path / "sweb.yaml") or os.path.isfile(path / "task.yaml"):
        return True
    if not os.path.isdir(path) and path.suffix != ".toml":
        return False
    from pytest_swe.harbor.tree import is_meant

    return is_meant(path)


def _anchor(argument: str) -> str:
    """From where pytest looks for conftest files: in a directory it also imports ``test*/conftest.py``.

    Of a Harbor task that is the verifier's, and hostile; beside a file pytest looks in no directory below. Where
    ``task.toml`` is none any other file does, or one without any directory around it that has tests.
    """
    if not os.path.lexists(Path(argument) / "task.toml"):
        return argument
    with os.scandir(argument) as entries:
        files = [entry.path for entry in entries if entry.is_file()]
    return min(files, key=lambda path: not path.endswith("task.toml"), default=os.devnull)


__all__: Sequence[str] = ()
