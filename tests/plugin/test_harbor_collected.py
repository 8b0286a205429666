"""Harbor tasks named on the command line: items, their node ids, and that nothing of a task runs on the host."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_swe.harbor.job_results import read_job

from .conftest import SHAPES, TOY, Project

FILES = {
    "task.toml": "",
    "instruction.md": "Do it.\n",
    "environment/Dockerfile": "FROM scratch\n",
    "tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
}


def task(project: Project, place: str) -> Path:
    """A task whose tests leave a mark when they run on the host: files that pytest likes to import."""
    directory = project.path / place
    mark = f"open({str(project.path / 'ran')!r}, 'w').close()\n"
    hostile = {f"{below}/{name}": mark for below in ("tests", "tests/deep", "solution") for name in HOSTILE}
    for name, text in {**FILES, **hostile}.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    return directory


HOSTILE = ("conftest.py", "test_hidden.py", "__init__.py")


@pytest.fixture(autouse=True)
def _families_as_usual(project: Project) -> None:
    """The toy's sandboxes, but not its family: that takes any row."""
    project.pytester.makeconftest(TOY.read_text().replace("def pytest_swe_harness", "def unused"))


def collected(project: Project, *args: str) -> list[str]:
    result = project.run(*args, "--collect-only", "-q")
    return [line for line in result.outlines if "::" in line]


def test_node_ids(project: Project) -> None:
    task(project, "tasks/easy/a")
    task(project, "tasks/b")
    assert collected(project, "tasks") == ["tasks::b", "tasks::a"]
    assert collected(project, "--swe-dataset", "tasks") == ["tasks::b", "tasks::a"]
    assert collected(project, "tasks/b") == ["tasks/b::b"]
    assert collected(project, "tasks/b/task.toml") == ["tasks/b/task.toml::b"]
    assert collected(project, "tasks/b/task.toml::b") == ["tasks/b/task.toml::b"]
    assert collected(project, "tasks", "-k", "a and not b") == ["tasks::a"]
    assert not (project.path / "ran").exists()


def test_an_item_of_a_tree_is_run_by_its_node_id(project: Project) -> None:
    task(project, "tasks/easy/abc")
    task(project, "tasks/b")
    assert collected(project, "tasks::abc") == ["tasks/easy/abc::abc"]
    assert collected(project, "tasks::abc@gold#2", "tasks/b") == ["tasks/easy/abc::abc", "tasks/b::b"]
    result = project.run("tasks::abd", "--collect-only")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "tasks::abd: no such task; nearest: abc" in result.stderr.str()


@pytest.mark.parametrize("shape", SHAPES[:2], ids=" ".join)
@pytest.mark.parametrize("how", [["tasks"], ["--swe-dataset", "tasks"], ["tasks/b"], ["--swe-dataset=tasks/b"]])
def test_nothing_of_a_task_runs_on_the_host(project: Project, shape: tuple[str, ...], how: list[str]) -> None:
    """Without a trial an item says what it needs; it is never a pass, and hidden tests are never imported."""
    task(project, "tasks/b")
    result = project.run(*how, "--swe-preds", "gold", *shape)
    assert not (project.path / "ran").exists()
    assert project.statuses == {"b": ("error", "unsupported")}, result.stdout.str()


def test_in_the_directory_of_a_task(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(task(project, "tasks/b"))
    assert [line.rpartition("::")[2] for line in collected(project, ".")] == ["b"]
    assert not (project.path / "ran").exists()


@pytest.mark.parametrize("how", [["."], [], ["tasks/..", "-p", "no:xdist"]])
def test_tasks_that_are_not_named_are_left_alone(project: Project, how: list[str]) -> None:
    task(project, "tasks/b")
    project.pytester.makepyfile("def test_mine():\n    pass\n")
    result = project.pytester.runpytest_subprocess(*how, "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    assert not (project.path / "ran").exists()


def test_a_project_with_a_task_toml_of_another_program_keeps_its_tests(project: Project) -> None:
    package = project.path / "package"
    (package / "tests").mkdir(parents=True)
    (package / "task.toml").write_text("[tasks]\n")
    (package / "tests" / "test_mine.py").write_text("def test_mine():\n    pass\n")
    for how in (["."], ["package"], ["package/tests"]):
        project.pytester.runpytest_subprocess(*how, "-p", "no:cacheprovider").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("where", "named"),
    [
        ("tasks/conftest.py", "tasks"),
        ("tasks/b/conftest.py", "tasks/b"),
        ("tasks/pytest.ini", "tasks"),
        ("tasks/test-set/conftest.py", "tasks"),
        ("tasks/conftest.py", "tasks/b"),
        ("tasks/b/conftest.py", "tasks/b/task.toml"),
    ],
)
@pytest.mark.parametrize("option", [False, True], ids=["argument", "option"])
def test_code_that_pytest_would_import_is_refused_by_name(
    project: Project, where: str, named: str, option: bool
) -> None:
    task(project, "tasks/b")
    (project.path / "tasks" / "dataset.toml").write_text("")
    file = project.path / where
    file.parent.mkdir(exist_ok=True)
    file.write_text("[pytest]\n" if where.endswith(".ini") else f"open({str(project.path / 'ran')!r}, 'w').close()\n")
    result = project.run(f"--swe-dataset={named}" if option else named, "--swe-preds", "gold")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"{file}: a data set must not bring code that runs on the host" in result.stderr.str()
    assert not (project.path / "ran").exists()


def test_a_broken_task_is_an_error_of_that_task_alone(project: Project) -> None:
    task(project, "tasks/a")
    (task(project, "tasks/b") / "task.toml").write_text("[agent]\ntimeout_sec = 'abc'\n")
    result = project.run("tasks", "--swe-preds", "gold")
    assert project.statuses == {"a": ("error", "unsupported"), "b": ("error", "row_invalid")}
    assert re.search(r"task\.toml:2: agent\.timeout_sec: expected a number, got the string 'abc'", result.stdout.str())
    (told,) = (line["detail"] for line in project.rewards if line["reason"] == "row_invalid")
    assert told.startswith("b: task.toml:2: agent.timeout_sec: ")


def test_a_broken_task_is_called_by_its_directory(project: Project) -> None:
    task(project, "tasks/a")
    for broken in ("tasks/b", "tasks/c/b"):
        (task(project, broken) / "tests" / "test.sh").unlink()
    assert collected(project, "tasks") == ["tasks::a", "tasks::b", "tasks::c/b"]
    assert collected(project, "tasks/b") == ["tasks/b::b"]
    assert collected(project, "tasks/b::b") == ["tasks/b::b"]
    project.run("tasks/c/b", "--swe-preds", "gold")
    (line,) = project.rewards
    assert line["detail"] == "b: tests/test.sh missing: what gives the reward"


def test_a_place_for_harbors_results_that_cannot_be_written_is_refused_at_the_start(project: Project) -> None:
    task(project, "tasks/one")
    result = project.run("tasks", "--swe-agent", "nop", "--swe-harbor-results=/proc/nowhere", "-n0")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --swe-harbor-results /proc/nowhere cannot be written: *"])
    assert project.started == []


def test_in_harbors_layout_an_error_is_a_trial_with_an_error(project: Project) -> None:
    (task(project, "tasks/a") / "task.toml").write_text("[task]\nname = 'o/a'\n")
    (task(project, "tasks/b") / "task.toml").write_text("= 1\n")
    (project.path / "tasks" / "dataset.toml").write_text(
        "".join(f"[[tasks]]\nname = '{x}'\n" for x in ("o/a", "b", "o/c"))
    )
    project.run("tasks", "--swe-agent", "nop", "--swe-harbor-results=jobs", "--swe-run-id=r")
    counts = read_job(project.path / "jobs" / "r")
    assert (counts.total, counts.completed, counts.errored) == (3, 3, 3)
    assert counts.evals["nop__tasks"]["metrics"] == [{"mean": 0.0}]
    names = sorted(path.name.rpartition("__")[0] for path in (project.path / "jobs" / "r").iterdir() if path.is_dir())
    assert names == ["a", "b", "o_c"]


@pytest.mark.parametrize("how", ["directory", "link"])
def test_a_task_toml_that_is_no_file_is_an_error_and_lets_nothing_run(project: Project, how: str) -> None:
    task(project, "tasks/a")
    broken = task(project, "tasks/b")
    (broken / "task.toml").unlink()
    if how == "link":
        (broken / "task.toml").symlink_to("gone")
    else:
        (broken / "task.toml").mkdir()
        (broken / "task.toml" / "conftest.py").write_text((broken / "tests" / "conftest.py").read_text())
    result = project.run("tasks", "--swe-preds", "gold")
    assert project.statuses == {"a": ("error", "unsupported"), "b": ("error", "row_invalid")}, result.stdout.str()
    (project.path / "rewards.jsonl").unlink()
    project.run("tasks/b", "--swe-preds", "gold")
    assert project.statuses == {"b": ("error", "row_invalid")}
    project.pytester.makepyfile("def test_mine():\n    pass\n")
    project.pytester.runpytest_subprocess(".", "-p", "no:cacheprovider").assert_outcomes(passed=1)
    assert not (project.path / "ran").exists()


def test_in_the_directory_of_a_task_without_a_readable_task_toml(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = task(project, "tasks/b")
    (broken / "task.toml").unlink()
    (broken / "task.toml").symlink_to("gone")
    monkeypatch.chdir(broken)
    assert [line.rpartition("::")[2] for line in collected(project, ".")] == ["b"]
    assert not (project.path / "ran").exists()
