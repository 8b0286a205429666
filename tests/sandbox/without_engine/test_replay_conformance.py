"""A recording answers as the engine did: the conformance suite, recorded on Docker, passes again without one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

SUITE = Path(__file__).with_name("replayed_suite.py")
NO_ENGINE = "unix:///no/engine/here.sock"

#: Tests of the suite that a replay cannot pass, and why. They are not recorded either.
LEFT_OUT = {
    "test_secrets_are_on_no_command_line_of_the_host": "looks among this host's processes for those of a command",
}


def outcomes(place: Path, how: str, **env: str) -> dict[str, str]:
    """The suite in a process of its own: what became of each test."""
    report = place / f"{how}.xml"
    command = [sys.executable, "-m", "pytest", str(SUITE), f"--junit-xml={report}", "-q", "-p", "no:xdist"]
    command += ["-p", "no:cacheprovider", "-k", f"not ({' or '.join(LEFT_OUT)})"]
    suite = {"PYTEST_SWE_SUITE": how, "PYTEST_SWE_SUITE_FILE": str(place / "suite.jsonl")}
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **suite, **env})
    found = {case.get("name", ""): _outcome(case) for case in ElementTree.parse(report).iter("testcase")}
    assert done.returncode == 0, done.stdout[-5000:]
    return found


def _outcome(case: ElementTree.Element) -> str:
    return next((part.tag for part in case if part.tag in ("failure", "error", "skipped")), "passed")


@pytest.mark.docker
def test_what_was_recorded_passes_again_without_an_engine(tmp_path: Path) -> None:
    recorded = outcomes(tmp_path, "record")
    replayed = outcomes(tmp_path, "replay", DOCKER_HOST=NO_ENGINE)
    assert replayed == recorded
    assert set(recorded.values()) == {"passed"}
    assert len(recorded) > 100
    assert not LEFT_OUT.keys() & recorded.keys()
