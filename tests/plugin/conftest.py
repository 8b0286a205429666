"""Test projects with toy data sets, and the shapes in which users run pytest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TOY = Path(__file__).parent / "toy.py"

#: Every way in which items are distributed, the plain one first.
SHAPES = (("-n0",), ("-n2",), ("-n2", "--dist", "worksteal"), ("-p", "no:xdist"))

#: Other packages' plugins that no test here is about: with them a process needs 0.9 s of processor time, not 0.2.
LEAN = "-p no:hypothesispytest -p no:anyio -p no:platformdirs"


@dataclass
class Project:
    """A directory with a toy data set and predictions, in which pytest is run as users run it."""

    pytester: pytest.Pytester

    @property
    def path(self) -> Path:
        return self.pytester.path

    def rows(self, plays: Mapping[str, str], name: str = "toy.jsonl", **columns: str) -> Path:
        """Write a data set: instance id -> what happens to it."""
        lines = [json.dumps({"instance_id": key, "play": play, **columns}) for key, play in plays.items()]
        return self.lines(lines, name)

    def lines(self, lines: Iterable[str], name: str = "toy.jsonl") -> Path:
        path = self.path / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    def preds(self, patches: Mapping[str, str | None], name: str = "preds.jsonl", model: str = "m") -> Path:
        rows = [{"instance_id": key, "model_name_or_path": model, "model_patch": p} for key, p in patches.items()]
        return self.lines([json.dumps(row) for row in rows], name)

    def run(self, *args: str | Path, provider: str = "toy") -> pytest.RunResult:
        """Run pytest in a process of its own, as a user does."""
        return self.pytester.runpytest_subprocess(
            "--swe-provider", provider, "--swe-rewards", "rewards.jsonl", "-p", "no:cacheprovider", *map(str, args)
        )

    @property
    def rewards(self) -> list[dict[str, Any]]:
        """The reward lines, sorted by item."""
        text = (self.path / "rewards.jsonl").read_text()
        lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
        return sorted(lines, key=lambda line: (line["line"], line["model"], line["repeat"]))

    @property
    def statuses(self) -> dict[str, tuple[str, str]]:
        return {line["instance_id"]: (line["status"], line["reason"]) for line in self.rewards}

    @property
    def started(self) -> list[str]:
        """Instances that had a sandbox, in order."""
        file = self.path / "started"
        return file.read_text().split() if file.exists() else []

    @property
    def left(self) -> list[str]:
        """Sandboxes that still stand."""
        place = self.path / "sandboxes"
        return [file.name for file in place.iterdir()] if place.is_dir() else []


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose conftest.py is the toy benchmark, with a cache of its own."""
    monkeypatch.setenv("PYTEST_SWE_CACHE_DIR", str(pytester.path / "cache"))
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_ADDOPTS", LEAN)
    pytester.makeconftest(TOY.read_text())
    return Project(pytester)
