"""Agents where there is no engine: with bubblewrap, where nothing outlives its command; not without isolation."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .agent_scripts import FIX, ROW
from .conftest import QUICKSTART, run_plugin

OPTIONS = ("--swe-instance", ROW, "--swe-provider", "local", "-p", "no:xdist")


@pytest.mark.bubblewrap
def test_agents_without_an_engine(tmp_path: Path) -> None:
    scripts = (FIX + "setsid sleep 1000 & exit 3", "true", FIX + "sleep 1000")
    agents = [word for script in scripts for word in ("--swe-agent", f"command:{script}")]
    options = (*OPTIONS, "--junitxml", "junit.xml", "--swe-agent-timeout", "10")
    run = run_plugin(tmp_path, QUICKSTART, *options, *agents)
    found = {model: (reward["status"], reward["agent"].get("exit_code")) for (_, model), reward in run.rewards.items()}
    expected = {"command": ("resolved", 3), "command-2": ("unresolved", 0), "command-3": ("resolved", None)}
    assert found == expected, run.output
    assert run.status == 1
    assert f'name="{ROW}@command-3"' in (tmp_path / "junit.xml").read_text()


def test_no_agent_without_isolation(tmp_path: Path) -> None:
    (tmp_path / "unconfined.py").write_text(
        "from pytest_swe.sandbox.local import LocalProvider\n"
        "def pytest_swe_sandbox_provider(name):\n"
        "    return LocalProvider(isolate=False)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = run_plugin(tmp_path, QUICKSTART, *OPTIONS, "-p", "unconfined", "--swe-agent", "command:touch ran", env=env)
    line = run.rewards[ROW, "command"]
    assert (line["status"], line["reason"]) == ("error", "unsupported"), run.output
    assert "provider local has no isolation here" in line["detail"]
