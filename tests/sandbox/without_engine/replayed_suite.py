"""The conformance suite over a recording: written over a real Docker engine, or read where there is none.

`test_replay_conformance` runs it twice, in processes of their own: with PYTEST_SWE_SUITE=record, then with =replay.
PYTEST_SWE_SUITE_FILE is the recording. The name of this file keeps it out of ordinary runs.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_swe.sandbox.base import Sandbox, SandboxProvider
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.replay import RecordingProvider, ReplayProvider
from pytest_swe.testing.conformance import *  # noqa: F403
from pytest_swe.testing.conformance.fixtures import KillFromOutside

RECORDS = os.environ["PYTEST_SWE_SUITE"] == "record"
FILE = Path(os.environ["PYTEST_SWE_SUITE_FILE"])

#: What the suite makes up anew in each run: words of a uuid, and the seconds by which it finds its sleepers.
KINDS = {"word": r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])", "marker": r"(?<![0-9.])[1-9][0-9]{8}(?![0-9.]| bytes)"}


@pytest.fixture(scope="module")
def provider() -> Iterator[SandboxProvider]:
    """At its end a replay fails if anything of the recording is left."""
    made = RecordingProvider(DockerProvider(pull=False), FILE, kinds=KINDS) if RECORDS else ReplayProvider(FILE)
    yield made
    made.close()


@pytest.fixture
def kill_from_outside() -> KillFromOutside:
    """What happened behind the provider's back is not recorded; what came of it is."""

    def kill(sandbox: Sandbox) -> None:
        if RECORDS:
            subprocess.run(["docker", "kill", sandbox.id], capture_output=True, check=True)

    return kill
