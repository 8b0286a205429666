"""Controller side: every report becomes at most one reward line, written and flushed as it comes.

A worker never opens the reward file. A line waits from the report of its item to the item's end, so that reruns
and a failing teardown can still say something about it; a crash of the worker writes what was waiting.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_swe.dataset_plan import DatasetPlan
from pytest_swe.errors import UsageError
from pytest_swe.known import is_answer, lines_in
from pytest_swe.model import Reason
from pytest_swe.planning import Planned
from pytest_swe.reward import Reward
from pytest_swe.run import Run

#: A file in the directory of the results, by which it is known.
RESULTS_MARK = ".pytest-swe-results"

#: Data set, line, instance, model, repeat. The line, because a bad row may repeat another's id.
Key = tuple[str, int, str, str, int]


@dataclass(slots=True)
class _Waiting:
    line: dict[str, Any]
    reruns: int = 0


@dataclass(slots=True)
class RewardsFile:
    """The reward file of a run, and the lines written to it. ``notify`` is called with each."""

    run: Run
    notify: Callable[[Mapping[str, Any]], None]
    lines: list[dict[str, Any]] = field(default_factory=list)
    expected: dict[Key, tuple[str, Planned]] = field(default_factory=dict)
    expected_failures: set[Key] = field(default_factory=set)
    _waiting: dict[str, _Waiting] = field(default_factory=dict)
    _written: set[Key] = field(default_factory=set)
    _kept: dict[str, dict[str, Any]] = field(default_factory=dict)
    _file: int | None = None
    _opened: bool = False

    @property
    def idle(self) -> bool:
        """Whether the file was never opened: a dry run, or nothing of ours was collected."""
        return not self._opened

    @property
    def path(self) -> Path:
        return self.run.rewards_path

    @property
    def missing(self) -> list[Planned]:
        """Expected items that have no line."""
        return [planned for key, (_, planned) in self.expected.items() if key not in self._written]

    def expect(self, nodeid: str, plan: DatasetPlan, planned: Planned) -> None:
        """An item that will run; told once per item, however many workers collected it."""
        self.expected[_key(plan, planned)] = (nodeid, planned)

    def see(self, report: pytest.TestReport) -> None:
        """One report of one phase of one item."""
        waiting = self._waiting.get(report.nodeid)
        line: dict[str, Any] | None = getattr(report, "swe_reward", None)
        if report.outcome not in ("passed", "failed", "skipped"):  # "rerun", "retried": it is run once more
            reruns = (waiting.reruns if waiting else 0) + 1
            self._waiting[report.nodeid] = _Waiting({}, reruns)
        elif line is not None:
            reruns = waiting.reruns if waiting else 0
            self._waiting[report.nodeid] = _Waiting({**line, "reruns": reruns}, reruns)
            if hasattr(report, "wasxfail") and not report.failed:
                self.expected_failures.add(key_of(line))
        elif getattr(report, "swe_teardown_failed", False) and waiting is not None and waiting.line:
            waiting.line["flags"] = [*waiting.line["flags"], "teardown_failed"]
        elif str(report.when) == "???":
            self._crashed(report)

    def finish(self, nodeid: str) -> None:
        """The item has ended: write its line."""
        waiting = self._waiting.get(nodeid)
        if waiting is not None and waiting.line:  # without a line it is between two reruns
            del self._waiting[nodeid]
            self._write(waiting.line)

    def close(self) -> None:
        """Write what still waits and close the file."""
        for nodeid in list(self._waiting):
            self.finish(nodeid)
        if self._file is not None:
            os.close(self._file)
            self._file = None
            if not self.path.exists():
                self._write_again()

    def _write_again(self) -> None:
        """Somebody removed the file during the run: its lines are known."""
        self._opened = False
        try:
            self.open_once()
            assert self._file is not None
            for line in self.lines:
                _write_whole(self._file, line)
            os.close(self._file)
        except (UsageError, OSError) as error:
            pytest.exit(f"{self.path} was removed during the run: {error}", returncode=pytest.ExitCode.INTERNAL_ERROR)
        finally:
            self._opened, self._file = True, None

    def _crashed(self, report: pytest.TestReport) -> None:
        """A worker died in this item: its report has nothing but the node id."""
        waiting = self._waiting.pop(report.nodeid, None)
        if waiting is not None and waiting.line:  # it died after the verdict
            self._write(waiting.line)
            return
        found = self.run.planned(report.nodeid)
        if found is None:
            return
        plan, planned = found
        reward = Reward(
            instance_id=planned.instance_id,
            model=planned.model,
            status="error",
            reason=Reason.WORKER_CRASHED,
            detail="the worker process died while this item ran",
            fault="unknown",
            run_id=self.run.run_id,
            dataset=plan.dataset.name,
            line=planned.ref.line,
            repeat=planned.repeat,
            repo=planned.ref.repo,
            provider=self.run.settings.provider,
        )
        self._write(reward.model_dump(mode="json", by_alias=True))

    @property
    def resumed(self) -> int:
        """How many lines of an earlier part of this run answer items of it."""
        return sum(line.get("fingerprint") in self._kept for line in self.lines)

    def _write(self, line: dict[str, Any]) -> None:
        key = key_of(line)
        if key in self._written:
            return
        self._written.add(key)
        self.lines.append(line)
        if line.get("fingerprint") in self._kept:
            return  # it stands in the file
        self.open_once()
        assert self._file is not None
        try:
            _write_whole(self._file, line)
        except OSError as error:
            # Without its lines a run is worth nothing: stop at the first one that is lost.
            self.lines.pop()
            self._written.discard(key)
            pytest.exit(f"{self.path}: {error.strerror}", returncode=pytest.ExitCode.INTERNAL_ERROR)
        self.notify(line)

    def refuse_taken(self) -> None:
        """Raises UsageError where the file is an old run's, or another run writes to it; OSError.

        For the start of a session: `open_once`, which looks again, comes when items are known, and workers run.
        """
        if os.path.lexists(self.path):
            if not self.run.settings.resume:
                raise _exists(self.path)
            os.close(_locked(self.path))

    def open_once(self) -> None:
        """Create the file. Raises UsageError when it exists (an old run's) or cannot be written."""
        if self._opened:
            return
        try:
            self.run.directory.mkdir(parents=True, exist_ok=True)
            _mark(self.run.settings.results)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            resume = self.run.settings.resume and self.path.exists()
            self._file = self._reopened() if resume else _created(self.path)
            self._opened = True
        except FileExistsError:
            raise _exists(self.path) from None
        except OSError as error:
            raise UsageError(
                f"{error.filename or self.path}: {error.strerror}", hint="name a place that can be written"
            ) from None

    def _reopened(self) -> int:
        """The file of an earlier part of the run, without the lines of items that will have another.

        Raises UsageError when a run still writes to it, OSError.
        """
        before = _locked(self.path)
        marks = {key: self.run.fingerprint(planned) for key, (_, planned) in self.expected.items()}
        kept = []
        for line in lines_in(self.path):
            mark = marks.get(key_of(line))
            answers = is_answer(line) and line["fingerprint"] == mark and mark not in self.run.outdated
            if mark is None or answers:
                kept.append(line)
        wanted = set(marks.values())
        self._kept = {line["fingerprint"]: line for line in kept if is_answer(line) and line["fingerprint"] in wanted}
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
        temporary.unlink(missing_ok=True)
        file = _created(temporary)
        try:
            for line in kept:
                _write_whole(file, line)
            os.fsync(file)
            temporary.replace(self.path)
        except OSError:
            os.close(file)
            temporary.unlink(missing_ok=True)
            raise
        finally:
            os.close(before)
        return file


def _exists(path: Path) -> UsageError:
    hint = "--swe-resume goes on with it; else name another with --swe-rewards, or remove it"
    return UsageError(f"{path} exists", hint=hint)


def _created(path: Path) -> int:
    """A new file, locked. Raises OSError."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file


def _locked(path: Path) -> int:
    """An existing file, locked: whoever writes a reward file holds its lock. Raises UsageError, OSError."""
    file = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise UsageError(f"{path}: another run writes to it", hint="wait for its end, or end it") from None
    except OSError:
        pass  # a file system without locks
    return file


def _mark(results: Path) -> None:
    """Say what the directory is: to pytest, which would collect its text files, and to git."""
    for name, text in ((RESULTS_MARK, "Results of pytest-swe; not collected.\n"), (".gitignore", "*\n")):
        if not (results / name).exists():
            (results / name).write_text(text)


def key_of(line: Mapping[str, Any]) -> Key:
    """What a line is about."""
    return (line["dataset"], line["line"], line["instance_id"], line["model"], line["repeat"])


def _write_whole(file: int, line: Mapping[str, Any]) -> None:
    """Append the line, or nothing of it. Raises OSError."""
    before = os.fstat(file).st_size
    data = Reward.model_validate(line).line_json().encode() + b"\n"
    try:
        while data:
            data = data[os.write(file, data) :]
    except OSError:
        os.ftruncate(file, before)
        raise


def _key(plan: DatasetPlan, planned: Planned) -> Key:
    return (plan.dataset.name, planned.ref.line, planned.instance_id, planned.model, planned.repeat)
