"""What is named by an option and cannot be looked at: one line that says why, before anything runs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from .conftest import Project

#: Root reads everything; without these rights it is as anybody.
_AS_ANYBODY = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


def _run(project: Project, *args: str) -> subprocess.CompletedProcess[str]:
    prefix = _AS_ANYBODY if os.geteuid() == 0 else ()
    command = [*prefix, sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider", *args]
    return subprocess.run(command, cwd=project.path, capture_output=True, text=True, check=False, timeout=60)


def _assert_told(ran: subprocess.CompletedProcess[str], *words: str) -> None:
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR, ran.stdout + ran.stderr
    assert "INTERNALERROR" not in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stdout + ran.stderr
    lines = (ran.stdout + ran.stderr).splitlines()
    [line] = [line for line in lines if line.startswith(("ERROR: ", "!"))]
    assert all(word in line for word in words), line


@pytest.fixture
def data(project: Project) -> str:
    """A data set that can be read, beside ``nr``, which cannot be looked into, and ``loop``, a link to itself."""
    (project.path / "nr").mkdir(mode=0)
    (project.path / "loop.jsonl").symlink_to("loop.jsonl")
    return project.rows({"a-1": "resolved"}).name


@pytest.mark.parametrize("name", ["nr", "nr/x.jsonl"])
def test_a_data_set_that_may_not_be_looked_at(project: Project, data: str, name: str) -> None:
    _assert_told(_run(project, f"--swe-dataset={name}", "--swe-preds=gold"), "nr", "Permission denied")


@pytest.mark.parametrize(
    ("name", "why"),
    [("loop.jsonl", "symbolic links"), ("n" * 300, "name too long"), ("gone.jsonl", "a link that leads to nothing")],
)
def test_a_name_that_leads_nowhere(project: Project, data: str, name: str, why: str) -> None:
    (project.path / "gone.jsonl").symlink_to("nothing.jsonl")
    _assert_told(_run(project, f"--swe-dataset={name}", "--swe-preds=gold"), name, why)


@pytest.mark.parametrize(
    "option",
    ["preds", "quarantine", "baseline", "rewards", "results", "agent-kit"],
)
def test_a_file_of_an_option_that_may_not_be_looked_at(project: Project, data: str, option: str) -> None:
    kit = ("--swe-agent=nop",) if option == "agent-kit" else ()
    preds = () if option in ("preds", "agent-kit") else ("--swe-preds=gold",)
    ran = _run(project, data, "--swe-provider=toy", *kit, *preds, f"--swe-{option}=nr/x.jsonl")
    _assert_told(ran, "nr", "Permission denied")


@pytest.mark.parametrize("option", ["rewards", "results"])
def test_going_on_where_nothing_may_be_looked_at(project: Project, data: str, option: str) -> None:
    ran = _run(project, data, "--swe-provider=toy", "--swe-preds=gold", "--swe-resume", f"--swe-{option}=nr/x.jsonl")
    _assert_told(ran, "nr", "Permission denied")


def test_a_link_to_itself_beside_tests_is_left_alone(project: Project, data: str) -> None:
    (project.path / "test_mine.py").write_text("def test_mine(): pass\n")
    ran = _run(project, ".", data, "--swe-provider=toy", "--swe-preds=gold", "--collect-only", "--ignore=nr")
    assert ran.returncode == 0, ran.stdout + ran.stderr
