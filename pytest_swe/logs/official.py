"""Log parsers and signatures of the `swebench` package, without what its packages import when they are imported.

``swebench.harness`` pulls docker, datasets and modal: seconds and 170 MB a process. Its parsers need none of that. So
bare package modules stand in for ``swebench`` and ``swebench.harness`` while the parsers are imported, and go again:
whoever imports ``swebench`` later, or did before, gets the real one.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Protocol, cast

from pytest_swe.errors import HarnessError, RowInvalid
from pytest_swe.model import Reason

_LOADING = threading.Lock()
_PARTS = ("log_parsers", "constants", "grading", "infra_failure")


class LogUnparseable(HarnessError):
    """An official parser raised on a log; its message names the parser and what it raised."""

    reason = Reason.LOG_UNPARSEABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserContext:
    """What the official parsers look at beside the log: some choose a format by version or by pull request."""

    instance_id: str = ""
    repo: str = ""
    version: str = ""


_Parser = Callable[[str, ParserContext], Mapping[str, str]]


class _Pattern(Protocol):
    def search(self, text: str) -> object: ...


@dataclass(frozen=True, slots=True)
class Official:
    """The parts of swebench that are used; ``tier_environment`` marks a signature no patch can cause."""

    parsers: Mapping[str, _Parser]
    constants: ModuleType
    suite_ran: _Pattern
    classify: Callable[[str], tuple[str, str] | None]
    tier_environment: str


def official() -> Official:
    """The parts of swebench, imported once, whatever thread asks first. Raises HarnessError without swebench."""
    with _LOADING:
        return _load()


@functools.cache
def _load() -> Official:
    parts = _import_parts()
    return Official(
        parsers=parts["log_parsers"].PARSER_REGISTRY,
        constants=parts["constants"],
        suite_ran=cast(_Pattern, parts["grading"].SUITE_RAN),
        classify=parts["infra_failure"].classify_text,
        tier_environment=str(parts["infra_failure"].TIER_ENVIRONMENT),
    )


def parser_names() -> tuple[str, ...]:
    """Names that a row's ``log_parser`` may have."""
    return tuple(official().parsers)


def check_parser(name: str) -> None:
    """Raises RowInvalid, with the nearest right name, when no official parser is called ``name``."""
    parsers = official().parsers
    if name not in parsers:
        near = difflib.get_close_matches(name, parsers, 1)
        guess = f", did you mean {near[0]!r}?" if near else ""
        raise RowInvalid(
            f"expected the name of one of the {len(parsers)} log parsers of swebench, got {name!r}{guess}",
            field="log_parser",
        )


def parse(name: str, text: str, context: ParserContext | None = None) -> dict[str, str]:
    """Test id -> status word, as the official parser ``name`` reads ``text``.

    Raises RowInvalid for an unknown parser, LogUnparseable when the parser raises: some do on lines that any program
    may print (``FAIL:`` alone, SWE-bench#611).
    """
    check_parser(name)
    parser = official().parsers[name]
    try:
        return dict(parser(text, context or ParserContext()))
    except Exception as error:
        raise LogUnparseable(f"{name} raised {type(error).__name__} on this log: {error}") from error


def _import_parts() -> dict[str, ModuleType]:
    """The needed modules: the real ones when somebody has imported ``swebench.harness``, else private copies."""
    names = [f"swebench.harness.{part}" for part in _PARTS]
    if "swebench.harness" in sys.modules:
        return {part: importlib.import_module(name) for part, name in zip(_PARTS, names, strict=True)}
    with _bare_packages():
        return {part: importlib.import_module(name) for part, name in zip(_PARTS, names, strict=True)}


@contextmanager
def _bare_packages() -> Iterator[None]:
    """Within, ``swebench`` and ``swebench.harness`` are packages whose ``__init__`` did not run.

    After it, ``sys.modules`` is as it was: what was imported within stays alive only in the hands of the importer,
    so no later import meets a package without its contents.
    """
    root = _package_directory()
    before = _taken(sys.modules)
    for name in before:
        del sys.modules[name]
    sys.modules["swebench"] = _bare("swebench", root)
    sys.modules["swebench.harness"] = _bare("swebench.harness", root / "harness")
    try:
        yield
    finally:
        for name in _taken(sys.modules):
            del sys.modules[name]
        sys.modules.update(before)


def _taken(modules: Mapping[str, ModuleType]) -> dict[str, ModuleType]:
    """What of ``modules`` belongs to swebench. Copied first: other threads import too."""
    return {name: module for name, module in list(modules.items()) if name.split(".", 1)[0] == "swebench"}


def _bare(name: str, directory: Path) -> ModuleType:
    module = ModuleType(name)
    module.__path__ = [str(directory)]
    return module


def _package_directory() -> Path:
    spec = importlib.util.find_spec("swebench")
    if spec is None or not spec.submodule_search_locations:
        raise HarnessError(
            "the package swebench is not installed", reason=Reason.INTERNAL, hint='pip install "swebench>=5.0.2,<6"'
        )
    return Path(spec.submodule_search_locations[0])
