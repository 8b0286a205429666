"""Agents that misbehave, in real sandboxes: their work is judged all the same, and nothing else of theirs counts."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .agent_scripts import AGENTS, MARKS, ROW, arguments, name_of
from .conftest import QUICKSTART, Finished, Once, run_plugin

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("images")]


@pytest.fixture(scope="session")
def run(images: None, once: Once) -> Finished:
    """All of them, on one row."""
    return once(
        "agents",
        lambda place: run_plugin(
            place, QUICKSTART, "--swe-instance", ROW, "-n2", "--swe-agent-timeout", "25", *arguments(), run_id="agents"
        ),
    )


def line(run: Finished, agent: str) -> dict[str, Any]:
    return run.rewards[ROW, name_of(agent)]


def place(run: Finished, agent: str) -> Path:
    return run.directory / str(line(run, agent)["logs"]) / "agent"


def test_all_have_a_verdict(run: Finished) -> None:
    assert len(run.rewards) == len(AGENTS), run.output
    assert {name: line(run, name)["detail"] for name in AGENTS if line(run, name)["status"] == "error"} == {}


@pytest.mark.parametrize("agent", sorted(AGENTS.keys() - {"nothing", "plants", "takes_git_away"}))
def test_what_fixes_the_row_is_resolved(run: Finished, agent: str) -> None:
    found = line(run, agent)
    assert found["status"] == "resolved", found
    assert found["agent"]["patch_bytes"] > 0
    assert "def touches" in (run.directory / found["logs"] / "patch.diff").read_text()


def test_an_agent_that_does_nothing_has_an_empty_patch(run: Finished) -> None:
    found = line(run, "nothing")
    assert (found["status"], found["reason"], found["reward"]) == ("unresolved", "empty_patch", 0.0)
    assert found["detail"] == "the agent ended with status 0 and changed nothing"


def test_what_is_planted_outside_of_the_tree_is_of_no_use(run: Finished) -> None:
    found = line(run, "plants")
    assert (found["status"], found["reason"]) == ("unresolved", "tests_failed")
    assert found["tests"]["pass_to_pass"]["failure"] == 0


def test_work_that_cannot_be_read_is_no_error(run: Finished) -> None:
    found = line(run, "takes_git_away")
    assert (found["status"], found["reason"], found["reward"]) == ("unresolved", "empty_patch", 0.0)
    assert "agent_work_unreadable" in found["flags"]


def test_hidden_tests_fix_and_row_are_not_to_be_found(run: Finished) -> None:
    output = (place(run, "honest") / "output.txt").read_text()
    said = next(text for text in output.splitlines() if text.startswith("FOUND"))
    found = ast.literal_eval(said.removeprefix("FOUND"))
    assert found.keys() == MARKS.keys()
    # Its own fix, which is in its command line too, is where it put it; the search works.
    assert [where for where in found["fix"] if not where.startswith("/proc/")] == ["/testbed/spans/span.py"]
    assert "git" in found["tree"]
    assert found["tests"] == []


def test_a_hanging_agent_is_stopped_and_its_work_is_judged(run: Finished) -> None:
    found = line(run, "hangs")
    assert "agent_timed_out" in found["flags"]
    assert found["agent"]["timed_out"]
    assert found["agent"]["exit_code"] is None
    assert (place(run, "hangs") / "output.txt").read_text() == "begun\n"


@pytest.mark.parametrize(("agent", "status"), [("fails", 3), ("kills_its_shell", 137)])
def test_an_agent_that_fails_is_flagged(run: Finished, agent: str, status: int) -> None:
    found = line(run, agent)
    assert found["agent"]["exit_code"] == status
    assert "agent_failed" in found["flags"]
    assert "agent_failed" not in line(run, "honest")["flags"]


def test_a_flood_is_bounded(run: Finished) -> None:
    output = (place(run, "floods") / "output.txt").read_bytes()
    assert len(output) < 50 * 1024 * 1024
    assert output.endswith(b"the-end\n")


def test_files_that_are_too_large_are_told(run: Finished) -> None:
    found = line(run, "huge")
    told = " ".join(found["agent"]["left_out"]["excluded"])
    assert "big.bin" in told
    assert "sparse.bin" in told
    assert "agent_work_left_out" in found["flags"]


def test_settings_of_git_have_no_say(run: Finished) -> None:
    honest, other = (
        (run.directory / line(run, name)["logs"] / "patch.diff").read_text() for name in ("honest", "git_settings")
    )
    assert other == honest


def test_what_goes_on_writing_is_ended_before_its_work_is_taken(run: Finished) -> None:
    patch = (run.directory / line(run, "detaches")["logs"] / "patch.diff").read_text()
    assert "noise.txt" in patch
    assert "new-" in patch


def test_phases_are_told(run: Finished) -> None:
    assert {"before", "agent_setup", "agent", "after", "evaluate"} <= line(run, "honest")["phases_ms"].keys()
    assert "evaluate" not in line(run, "nothing")["phases_ms"]


def test_nothing_is_left(run: Finished) -> None:
    command = ["docker", "ps", "-aq", "--filter", f"label=pytest-swe.run={run.directory.name}"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == []
