"""A conftest.py that wraps ``swe_provider`` is asked for every sandbox of a real run, and changes nothing else."""

from __future__ import annotations

import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .conftest import QUICKSTART, Finished, run_plugin

CONFTEST = """
import pytest


class Wrapped:
    def __init__(self, inner):
        self.inner, self.name, self.capabilities = inner, inner.name, inner.capabilities

    def check(self):
        return self.inner.check()

    def acquire(self, spec, *, labels):
        sandbox = self.inner.acquire(spec, labels=labels)
        with open("acquired", "a") as file:
            file.write(f"{labels['instance']} {sandbox.id}\\n")
        return sandbox

    def sweep(self, labels=None):
        return self.inner.sweep(labels)

    def close(self):
        self.inner.close()


@pytest.fixture(scope="session")
def swe_provider(swe_provider):
    return Wrapped(swe_provider)
"""


@pytest.mark.docker
def test_every_sandbox_comes_through_it_and_rewards_are_the_same(tmp_path: Path, on_docker: Finished) -> None:
    shutil.copytree(QUICKSTART, tmp_path / "quickstart")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    run_id = f"wrapped-{uuid.uuid4().hex}"
    preds = tmp_path / "quickstart" / "preds.jsonl"
    with containers_of(run_id) as made:
        run = run_plugin(tmp_path, "quickstart", "--swe-preds", preds, "--swe-provider", "docker", "-n2", run_id=run_id)
    assert run.same() == {key: line for key, line in on_docker.same().items() if key[1] == "demo"}, run.output
    acquired = [line.split() for line in (tmp_path / "acquired").read_text().splitlines()]
    # An empty patch needs no sandbox.
    needed = {row for (row, _), line in run.rewards.items() if line["reason"] != "empty_patch"}
    assert {row for row, _ in acquired} == needed
    assert sorted(container for _, container in acquired) == sorted(made)


@contextmanager
def containers_of(run_id: str) -> Iterator[list[str]]:
    """The containers that the engine says are made for a run meanwhile; filled at the end."""
    made: list[str] = []
    filters = ["type=container", "event=create", f"label=pytest-swe.run={run_id}"]
    command = ["docker", "events", "--since", str(int(time.time())), "--format", "{{.Actor.ID}}"]
    command += [f"--filter={one}" for one in filters]
    # An engine keeps its last few hundred events only: what is made is written down as it comes.
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        try:
            yield made
        finally:
            watching.terminate()
            made += watching.communicate()[0].split()
