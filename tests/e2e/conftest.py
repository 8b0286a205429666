"""The quickstart data set, run by the plugin as a user runs it, with a provider that really runs it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

ROOT = Path(__file__).parent.parent.parent
QUICKSTART = ROOT / "datasets" / "quickstart"
PREDS = QUICKSTART / "preds.jsonl"
#: What differs from run to run and from provider to provider.
VARYING = frozenset(
    {"run_id", "worker", "seconds", "phases_ms", "started_at", "provider", "fingerprint", "detail", "image_digest"}
)
#: The flag of a time-out where the unpatched tree, too, needs more than half of the limit.
SLOW = "slow_environment"

Expected = dict[str, dict[str, dict[str, str | None]]]
Rewards = dict[tuple[str, str], dict[str, Any]]


@dataclass(frozen=True)
class Finished:
    """A run of the plugin that has ended."""

    directory: Path
    status: int
    output: str

    @property
    def rewards(self) -> Rewards:
        lines = (self.directory / "rewards.jsonl").read_text().splitlines()
        found = [json.loads(line) for line in lines]
        keyed = {(line["instance_id"], line["model"]): line for line in found}
        assert len(keyed) == len(found)
        return keyed

    @property
    def statuses(self) -> dict[str, dict[str, str | None]]:
        """As the quickstart's expected.json has it, for a run with one model."""
        return {
            key[0]: {"status": line["status"], "reason": line["reason"] or None} for key, line in self.rewards.items()
        }

    def same(self, *varying: str) -> Rewards:
        """The rewards without what varies, and without ``varying``."""
        left_out = {*VARYING, *varying}
        lines = {key: _at_ease(line) for key, line in self.rewards.items()}
        return {key: {name: line[name] for name in line if name not in left_out} for key, line in lines.items()}


def _at_ease(line: dict[str, Any]) -> dict[str, Any]:
    """Without what a loaded machine adds to a time-out: the flag that says so, and the attempt that came before."""
    if SLOW not in line["flags"]:
        return line
    flags = [flag for flag in line["flags"] if flag != SLOW]
    attempts = [attempt for attempt in line["attempts"] if attempt["reason"] != "tests_timed_out"]
    return {**line, "flags": flags, "attempts": attempts}


def run_plugin(
    place: Path, *args: str | Path, env: Mapping[str, str] | None = None, run_id: str = "r", timeout: float = 600
) -> Finished:
    """Run pytest with the plugin in ``place``; its results are in ``swe-results/<run id>``."""
    command = [sys.executable, "-m", "pytest", *map(str, args), "--swe-run-id", run_id, "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=timeout, env=env)
    return Finished(place / "swe-results" / run_id, done.returncode, done.stdout + done.stderr)


Once = Callable[[str, Callable[[Path], Finished]], Finished]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """A run by its name, made by whichever worker asks first; the others wait and read what came of it."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "once"

    def run(name: str, make: Callable[[Path], Finished]) -> Finished:
        place, told = shared / name, shared / f"{name}.json"
        place.mkdir(parents=True, exist_ok=True)
        with FileLock(shared / f"{name}.lock"):
            if not told.exists():
                made = make(place)
                told.write_text(json.dumps([str(made.directory), made.status, made.output]))
        directory, status, output = json.loads(told.read_text())
        return Finished(Path(directory), status, output)

    return run


@pytest.fixture(scope="session")
def on_local(once: Once) -> Finished:
    """The quickstart with every source of candidates; it needs no engine."""
    return once("local", lambda place: run_plugin(place, *quickstart("local", f"{PREDS},gold,base")))


@pytest.fixture(scope="session")
def on_docker(images: None, once: Once) -> Finished:
    return once("docker", lambda place: run_plugin(place, *quickstart("docker", f"{PREDS},gold,base")))


def quickstart(provider: str, preds: str, *options: str) -> list[str | Path]:
    """Arguments of a run of the whole quickstart."""
    return [QUICKSTART, "--swe-preds", preds, "--swe-provider", provider, "-n2", *options]


@pytest.fixture(scope="session")
def expected() -> Expected:
    """What the quickstart's rows and predictions must give."""
    found: Expected = json.loads((QUICKSTART / "expected.json").read_text())
    return found


@pytest.fixture(scope="session")
def images(test_image: str) -> None:
    spec = importlib.util.spec_from_file_location("quickstart_build", QUICKSTART / "build.py")
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    assert build.main(["--base", test_image]) == 0
