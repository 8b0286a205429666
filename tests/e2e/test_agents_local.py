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


CLASSES = """
from pytest_swe.agent.base import AgentRun

class Good:
    name, protocols, mcp = "mine", frozenset(), False
    def install(self, sandbox, task): pass
    def run(self, sandbox, task): return AgentRun()

class GivesNothing(Good):
    name = "nothing"
    def run(self, sandbox, task): pass

class GivesText(Good):
    name = "text"
    def run(self, sandbox, task): return AgentRun(output="done")

class Raises(Good):
    name = "raises"
    def run(self, sandbox, task): return {}["x"]

class Numbered(Good):
    name = 5
"""


@pytest.mark.bubblewrap
def test_a_class_that_breaks_the_contract_is_named(tmp_path: Path) -> None:
    (tmp_path / "my_agents.py").write_text(CLASSES)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))}
    names = ("Good", "GivesNothing", "GivesText", "Raises")
    agents = [word for name in names for word in ("--swe-agent", f"my_agents:{name}")]
    run = run_plugin(tmp_path, QUICKSTART, *OPTIONS, *agents, env=env)
    told = {model: (reward["status"], reward["reason"], reward["detail"]) for (_, model), reward in run.rewards.items()}
    hint = " (docs/agents has the contract)"
    assert told["mine"][:2] == ("unresolved", "empty_patch"), run.output
    assert told["nothing"] == ("error", "internal", f"agent nothing: run(): expected an AgentRun, got None{hint}")
    wanted = f"agent text: run(): output of its AgentRun: expected bytes, got 'done'{hint}"
    assert told["text"] == ("error", "internal", wanted)
    assert told["raises"][2].startswith("agent raises: run(): KeyError: 'x' at my_agents.py:")


def test_a_class_with_a_wrong_attribute_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "my_agents.py").write_text(CLASSES)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))}
    run = run_plugin(tmp_path, QUICKSTART, *OPTIONS, "--swe-agent", "my_agents:Numbered", env=env)
    assert "--swe-agent my_agents:Numbered: name: expected a text of one line, got 5" in run.output
    assert "INTERNALERROR" not in run.output
    assert run.status == 4, run.output


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
