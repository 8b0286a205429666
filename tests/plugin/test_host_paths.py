"""Nothing that is handed on of a run names a path of the host, whatever went wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import SHAPES, TOY, Project
from .test_harbor_collected import task

#: Errors whose words are not ours, with a path in them.
RAISES = """

def pytest_swe_sandbox_spec(config, instance, spec):
    if instance.spec.image == "hook":
        raise OSError(f"{PLACE.parent}/data/secret: no such file")
    if instance.spec.image == "unsupported":
        raise Unsupported(f"no {PLACE.parent / 'data' / 'gpu'} here")
"""


def handed_on(project: Project) -> list[Path]:
    """All of a run but run.json, which says where its parts stand, and the report for other tools."""
    run = project.path / "swe-results" / "r"
    found = [path for path in run.rglob("*") if path.is_file() and not path.is_symlink() and path.name != "run.json"]
    return [*found, project.path / "rewards.jsonl", project.path / "junit.xml"]


def nothing_is_told(project: Project) -> None:
    for path in handed_on(project):
        assert str(project.path) not in path.read_text(), path


@pytest.mark.parametrize("shape", SHAPES[:2], ids=" ".join)
@pytest.mark.parametrize("unsupported", ["skip", "error"])
def test_of_rows(project: Project, shape: tuple[str, ...], unsupported: str) -> None:
    project.pytester.makeconftest(TOY.read_text() + RAISES)
    (project.path / "data").mkdir()
    plays = ("row_invalid", "hook", "unsupported", "unresolved", "resolved")
    data = project.rows({f"a-{play}": play for play in plays}, "data/toy.jsonl")
    with data.open("a") as file:
        file.write("{\n")
    options = ("--junitxml=junit.xml", "--swe-run-id=r", f"--swe-unsupported={unsupported}")
    project.run(data, "--swe-preds", "gold", *options, *shape)
    told = {line["instance_id"]: line["detail"] for line in project.rewards}
    assert told["a-row_invalid"].startswith("toy.jsonl:1: ")
    assert told["a-hook"].startswith("pytest_swe_sandbox_spec: OSError: secret: no such file")
    assert told["a-unsupported"] == "no gpu here"
    assert told["line-6"].startswith("toy.jsonl:6: ")
    nothing_is_told(project)


def test_of_earlier_attempts(project: Project) -> None:
    fails = TOY.read_text().replace('"the engine said no"', 'f"{PLACE.parent}/engine said no"')
    project.pytester.makeconftest(fails)
    data = project.rows({"a-1": "start_fails"})
    project.run(data, "--swe-preds", "gold", "--swe-retries=1", "--swe-run-id=r", "--junitxml=junit.xml", "-n0")
    (line,) = project.rewards
    assert [attempt["detail"] for attempt in line["attempts"]] == ["engine said no (ask it nicely)"]
    nothing_is_told(project)


def test_of_tasks(project: Project) -> None:
    project.pytester.makeconftest(TOY.read_text().replace("def pytest_swe_harness", "def unused"))
    for name, text in (("a", "[agent]\ntimeout_sec = 'abc'\n"), ("b", "= 1\n"), ("c", "")):
        (task(project, f"sets/tasks/{name}") / "task.toml").write_text(text)
    (project.path / "sets" / "tasks" / "c" / "environment" / "Dockerfile").unlink()
    project.run("sets/tasks", "--swe-agent", "nop", "--swe-run-id=r", "--junitxml=junit.xml", "-n0")
    told = {line["instance_id"]: line["detail"] for line in project.rewards}
    assert told["a"].startswith("a: task.toml:2: agent.timeout_sec: ")
    assert told["b"].startswith("b: task.toml")
    assert told["c"].startswith("c: ")
    nothing_is_told(project)
