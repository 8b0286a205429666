"""The engine room: one run of the plugin in processes and a directory of its own, to be harmed from outside."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import toy_rows

#: Seconds in which what is waited for must happen, on a machine that others use too.
PATIENCE = 120
#: Seconds more for each item of a run: one takes 0.7 with two workers on two processors, more where others work.
PER_ITEM = 3
#: What the sandboxes of a run are given, and no file or terminal may show.
CONFTEST = """\
import os
from dataclasses import replace
import pytest

@pytest.hookimpl
def pytest_swe_sandbox_spec(spec):
    return replace(spec, env={**spec.env, "CHAOS_SECRET": os.environ["CHAOS_SECRET"]})
"""


class Room:
    """A place with a data set, a home and a temporary directory, and the run in it.

    ``engine``: the address of another engine than the usual one. ``results``: another directory for the results.
    """

    def __init__(
        self,
        place: Path,
        images: Sequence[str],
        *,
        seconds: float = 1.0,
        engine: str | None = None,
        results: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.place = place
        self.secret, self.login = (f"hush-{secrets.token_hex(12)}" for _ in range(2))
        self.run_id = f"chaos-{secrets.token_hex(6)}"
        self.results = results or place / "swe-results"
        self.ids = toy_rows.write(place, images, seconds=seconds)
        self.output = ""
        self.process: subprocess.Popen[bytes] | None = None
        self._items = len(images)
        for name in ("home", "tmp", "state", "cache", "docker"):
            (place / name).mkdir()
        (place / "conftest.py").write_text(CONFTEST)
        login = {"auths": {"registry.invalid": {"username": "chaos", "password": self.login}}}
        (place / "docker" / "config.json").write_text(json.dumps(login))
        self._docker = {} if engine is None else {"DOCKER_HOST": engine}
        self.env = {**os.environ, **self._docker, **(env or {}), "CHAOS_SECRET": self.secret, "CHAOS_ROOM": str(place)}
        self.env |= {"HOME": str(place / "home"), "TMPDIR": str(place / "tmp"), "DOCKER_CONFIG": str(place / "docker")}
        self.env |= {"XDG_STATE_HOME": str(place / "state"), "XDG_CACHE_HOME": str(place / "cache")}

    @property
    def directory(self) -> Path:
        return self.results / self.run_id

    @property
    def rewards(self) -> Path:
        return self.directory / "rewards.jsonl"

    @property
    def part(self) -> str:
        """Which part of the run the record is of; empty before there is one."""
        try:
            return str(json.loads((self.directory / "run.json").read_text())["part"]["label"])
        except FileNotFoundError:
            return ""

    # -- the run -----------------------------------------------------------------------------------------------------

    def start(self, *args: str, env: Mapping[str, str] | None = None) -> None:
        """Begin the run; its words go to a file, since who reads a pipe must not be what keeps it alive."""
        command = [sys.executable, "-m", "pytest", "rows.jsonl", "--swe-preds", "preds.jsonl", "-p", "no:cacheprovider"]
        command += ["--swe-run-id", self.run_id, "--swe-results", str(self.results), *args]
        with (self.place / "terminal").open("wb") as terminal:
            self.process = subprocess.Popen(
                command,
                cwd=self.place,
                stdin=subprocess.DEVNULL,
                stdout=terminal,
                stderr=terminal,
                start_new_session=True,
                env={**self.env, **(env or {})},
                # A shell starts what is in the background with SIGINT ignored, these tests too.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )

    def finish(self, patience: float = PATIENCE) -> int:
        """Wait for its end, and that of all that it started. Returns the exit status."""
        assert self.process is not None
        status = self.process.wait(patience + self._items * PER_ITEM)
        wait_for(lambda: not self.processes())
        self.output = (self.place / "terminal").read_text(errors="replace")
        return status

    def run(self, *args: str, env: Mapping[str, str] | None = None, patience: float = PATIENCE) -> int:
        self.start(*args, env=env)
        return self.finish(patience)

    def resume(self, *args: str, env: Mapping[str, str] | None = None) -> int:
        return self.run("-n2", "--swe-resume", *args, env=env)

    def wait_for_midst(self, lines: int = 1) -> None:
        """Until some lines are written and something is being evaluated."""
        wait_for(lambda: len(self.lines()) >= lines and self.containers(), lambda: self._still_runs())

    @property
    def ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def kill_all(self) -> None:
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End what is left, whatever went wrong."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.process is not None:
            self.process.wait(PATIENCE)
        left = self.containers()
        if left:
            self.docker("rm", "-f", *left)

    def _still_runs(self) -> None:
        assert not self.ended, (self.place / "terminal").read_text()

    # -- what can be seen --------------------------------------------------------------------------------------------

    def lines(self) -> list[dict[str, Any]]:
        """Whole lines of the reward file."""
        with contextlib.suppress(OSError):
            return [json.loads(line) for line in self.rewards.read_bytes().split(b"\n")[:-1]]
        return []

    def containers(self, **labels: str) -> list[str]:
        """Ids of this run's containers."""
        filters = {"run": self.run_id, **labels}
        words = [word for key, value in filters.items() for word in ("--filter", f"label=pytest-swe.{key}={value}")]
        return self.docker("ps", "-aq", *words).split()

    def docker(self, *command: str) -> str:
        done = subprocess.run(
            ["docker", *command], env={**os.environ, **self._docker}, capture_output=True, text=True, timeout=PATIENCE
        )
        return done.stdout

    def workers(self) -> list[int]:
        """Pids of the workers."""
        return [int(path.read_text()) for path in (self.directory / ".workers").glob("gw*")]

    def processes(self) -> list[int]:
        """Pids of all that carries this room's mark in its environment."""
        mark = f"CHAOS_ROOM={self.place}".encode()
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    found.append(int(pid))
        return found


def wait_for(condition: Callable[[], object], meanwhile: Callable[[], object] = lambda: None) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        meanwhile()
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)
