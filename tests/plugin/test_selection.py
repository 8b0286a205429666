"""Which items there are, and what they are called."""

from __future__ import annotations

import fnmatch
import json
import subprocess
import sys

import pytest

from .conftest import SHAPES, TOY, Project

ROWS = {f"repo__name-{number}": "resolved" for number in range(1, 13)}


def collected(result: pytest.RunResult) -> list[str]:
    return [line.partition("::")[2] for line in result.outlines if line.startswith("toy.jsonl::")]


def test_collect_only_needs_no_predictions_and_no_engine(project: Project) -> None:
    result = project.run(project.rows(ROWS), "--collect-only", "-q", provider="docker")
    assert collected(result) == list(ROWS)
    assert result.ret == 0
    assert not (project.path / "rewards.jsonl").exists()


def test_without_predictions_there_is_nothing_to_evaluate(project: Project) -> None:
    result = project.run(project.rows(ROWS))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*nothing to evaluate: give --swe-preds*"])


@pytest.mark.parametrize(
    ("args", "numbers"),
    [
        (["--swe-instance", "repo__name-1"], [1]),  # exact: -10 to -12 are not it
        (["--swe-instance", "repo__name-3", "--swe-instance", "repo__name-2"], [2, 3]),
        (["--swe-instance=@ids.txt"], [4, 5]),
        (["--swe-limit", "2"], [1, 2]),
        (["--swe-shard", "2/5"], [2, 7, 12]),
        (["-k", "name-11"], [11]),
        (["--deselect", "toy.jsonl::repo__name-1", "--swe-limit", "2"], [2]),
    ],
)
def test_rows_are_chosen(project: Project, args: list[str], numbers: list[int]) -> None:
    (project.path / "ids.txt").write_text("# two\nrepo__name-5\n\nrepo__name-4\n")
    result = project.run(project.rows(ROWS), "--collect-only", "-q", *args)
    assert collected(result) == [f"repo__name-{number}" for number in numbers]


def test_a_sample_is_the_same_for_the_same_seed(project: Project) -> None:
    data = project.rows(ROWS)

    def sample(seed: int) -> list[str]:
        return collected(project.run(data, "--collect-only", "-q", "--swe-sample", "4", "--swe-seed", str(seed)))

    first = sample(1)
    assert len(first) == 4
    assert first == sample(1)
    assert first != sample(2)
    assert first == sorted(first, key=list(ROWS).index)


def test_a_node_id_selects_its_item(project: Project) -> None:
    data = project.rows(ROWS)
    project.run(f"{data}::repo__name-7", "--swe-preds", "gold")
    assert list(project.statuses) == ["repo__name-7"]


@pytest.mark.parametrize("shape", SHAPES[:2], ids=" ".join)
def test_the_dataset_option_alone_runs_that_and_nothing_of_the_user(project: Project, shape: tuple[str, ...]) -> None:
    project.pytester.makepyfile("def test_mine():\n    raise SystemExit\n")
    data = project.rows({"a-1": "resolved"})
    result = project.run("--swe-dataset", data, "--swe-preds", "gold", *shape)
    result.assert_outcomes(passed=1)


def test_the_dataset_option_with_an_argument_runs_both(project: Project) -> None:
    mine = project.pytester.makepyfile("def test_mine():\n    pass\n")
    result = project.run(mine, "--swe-dataset", project.rows({"a-1": "resolved"}), "--swe-preds", "gold")
    result.assert_outcomes(passed=2)
    assert len(project.rewards) == 1


def test_options_are_ini_keys_too(project: Project) -> None:
    project.rows(ROWS)
    project.pytester.makeini("[pytest]\nswe_dataset = toy.jsonl\nswe_preds = gold\nswe_limit = 3\n")
    project.run()
    assert len(project.rewards) == 3


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--swe-instance", "repo__nam-3"], "*no such row among 12; nearest: repo__name-3*"),
        (["--swe-shard", "3/2"], "*--swe-shard 3/2: expected I/N*"),
        (["--swe-memory", "much"], "*--swe-memory much: expected a size*"),
        (["--swe-memory", "8"], "*less than one MiB*"),
        (["--swe-pids", "0"], "*--swe-pids 0: expected 1 or more*"),
        (["--swe-model-calls", "0"], "*--swe-model-calls 0: expected 1 or more*"),
        (["--swe-run-id", "a/b"], "*--swe-run-id 'a/b'*"),
        (["--swe-fail-under", "90"], "*expected a rate from 0 to 1*"),
        (["--swe-instance=@nowhere"], "*--swe-instance @nowhere: No such file*"),
        (["--swe-dataset", "nowhere.jsonl"], "*nowhere.jsonl*"),
        (["--swe-preds", "nowhere.jsonl"], "*nowhere.jsonl*"),
    ],
)
def test_wrong_options_are_one_line(project: Project, args: list[str], message: str) -> None:
    result = project.run(project.rows(ROWS), "--swe-preds", "gold", *args)
    assert result.ret in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED)
    text = result.stderr.str() + result.stdout.str()
    assert any(fnmatch.fnmatch(line, message) for line in text.splitlines())
    assert "Traceback" not in text


def test_a_data_set_of_another_project_brings_that_projects_conftest_first(project: Project) -> None:
    other = project.path / "other"
    other.mkdir()
    (other / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (other / "conftest.py").write_text(TOY.read_text() + "\npytest_plugins = ['pytester']\n")
    data = project.rows({"a-1": "resolved"}, "other/toy.jsonl")
    elsewhere = project.path / "elsewhere"
    elsewhere.mkdir()
    done = project.pytester.run(
        sys.executable,
        *("-m", "pytest", "--rootdir", str(other), "--swe-dataset", str(data), "--swe-preds", "gold"),
        *("--swe-provider", "toy", "--swe-rewards", str(project.path / "rewards.jsonl")),
    )
    assert done.ret == 0, done.stdout.str()
    assert project.statuses == {"a-1": ("resolved", "")}


@pytest.mark.parametrize("named", ["data/tasks/a__b-2", "data::a__b-2", "data/sweb.yaml::a__b-2"])
def test_one_task_of_a_repository_can_be_named(project: Project, named: str) -> None:
    for name in ("a__b-1", "a__b-2"):
        task = project.path / "data" / "tasks" / name
        task.mkdir(parents=True)
        (task / "task.yaml").write_text(f"instance_id: {name}\nrepo: a/b\nplay: resolved\n")
        for file in ("problem_statement.md", "gold.patch", "test.patch", "eval.sh"):
            (task / file).write_text("x\n")
        (task / "tests.json").write_text('{"FAIL_TO_PASS": ["a"], "PASS_TO_PASS": []}')
    (project.path / "data" / "sweb.yaml").write_text("datasets: [x]\nsplits: [test]\n")
    result = project.run(named, "--swe-preds", "gold", "-n2")
    assert list(project.statuses) == ["a__b-2"], result.stdout.str()


def test_two_data_sets_of_one_name_keep_their_lines_apart(project: Project) -> None:
    (project.path / "one").mkdir()
    (project.path / "two").mkdir()
    first = project.rows({"a-1": "resolved"}, "one/toy.jsonl")
    second = project.rows({"a-1": "unresolved"}, "two/toy.jsonl")
    project.run(first, second, "--swe-preds", "gold", "-n2")
    assert sorted(line["status"] for line in project.rewards) == ["resolved", "unresolved"]


@pytest.mark.parametrize("shape", SHAPES[:2], ids=" ".join)
@pytest.mark.parametrize("form", ["--swe-dataset=../{}", "../{}"])
def test_data_sets_outside_of_the_project_keep_their_paths(project: Project, shape: tuple[str, ...], form: str) -> None:
    for name in ("one", "two"):
        (project.path / name).mkdir()
        project.rows({"a-1": "resolved", "b-1": "resolved"}, f"{name}/toy.jsonl")
    mine = project.path / "mine"
    mine.mkdir()
    (mine / "pytest.ini").write_text("[pytest]\nswe_limit = 1\n")
    (mine / "toy_plugin.py").write_text(TOY.read_text())
    (project.path / "conftest.py").unlink()
    command = [sys.executable, "-m", "pytest", "-c", "pytest.ini", "--rootdir", ".", "-p", "toy_plugin", "-v", *shape]
    command += ["--swe-preds", "gold", "--swe-provider", "toy", "-p", "no:cacheprovider"]
    both = [form.format("one/toy.jsonl"), form.format("two/toy.jsonl")]
    done = subprocess.run([*command, *both], cwd=mine, capture_output=True, text=True)
    assert "gold: 2 resolved, 0 unresolved, 0 error of 2 expected" in done.stdout, done.stdout + done.stderr
    assert "../one/toy.jsonl::a-1" in done.stdout
    assert "../two/toy.jsonl::a-1" in done.stdout
    again = subprocess.run([*command, "../one/toy.jsonl::a-1"], cwd=mine, capture_output=True, text=True)
    assert "1 passed" in again.stdout, again.stdout + again.stderr


def test_the_users_own_conftest_counts_for_a_data_set_elsewhere(project: Project) -> None:
    mine = project.path / "mine"
    mine.mkdir()
    (project.path / "conftest.py").rename(mine / "conftest.py")
    project.rows({"a-1": "resolved"})
    command = [sys.executable, "-m", "pytest", "--rootdir", ".", "--swe-dataset=../toy.jsonl", "--swe-preds", "gold"]
    command += ["--swe-provider", "toy", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=mine, capture_output=True, text=True)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_an_ini_data_set_is_what_plain_pytest_runs(project: Project) -> None:
    project.rows({"a-1": "resolved"})
    mine = project.pytester.makepyfile("def test_mine():\n    pass\n")
    project.pytester.makeini("[pytest]\nswe_dataset = toy.jsonl\nswe_preds = gold\n")
    below = project.path / "below"
    below.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--swe-provider", "toy", "-p", "no:cacheprovider"],
        cwd=below,
        capture_output=True,
        text=True,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    project.run(mine).assert_outcomes(passed=1)
    assert not (project.path / "rewards.jsonl").exists()


@pytest.mark.parametrize("option", ["--swe-provider", "--swe-harness"])
def test_an_unknown_name_is_a_usage_error_and_no_results(project: Project, option: str) -> None:
    data = project.rows({"a-1": "resolved"})
    result = project.pytester.runpytest_subprocess(
        str(data), "--swe-preds", "gold", "--swe-provider", "toy", option, "dokcer"
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "dokcer" in result.stderr.str()
    assert not (project.path / "swe-results").exists()


@pytest.mark.parametrize("content", ["", "[]", "{}"])
def test_nothing_evaluated_is_no_success(project: Project, content: str) -> None:
    data = project.rows({"a-1": "resolved"})
    preds = project.path / "preds.jsonl"
    preds.write_text(content)
    result = project.run(data, "--swe-preds", preds)
    assert result.ret == 11
    result.stdout.fnmatch_lines(["nothing was evaluated*"])


def test_several_models_have_their_name_on_the_item(project: Project) -> None:
    data = project.rows({"a-1": "resolved", "b-1": "resolved"})
    project.preds({"a-1": "p\n", "b-1": "p\n"}, "one.jsonl", "team/one")
    project.preds({"a-1": "p\n"}, "two.jsonl", "two")
    result = project.run(data, "--swe-preds", "one.jsonl,two.jsonl", "-v")
    result.stdout.fnmatch_lines(["*::a-1@team/one RESOLVED*", "*::a-1@two RESOLVED*", "*::b-1@two SKIPPED*"])
    assert len(project.rewards) == 4


def test_repeats_are_numbered(project: Project) -> None:
    row = {"instance_id": "a-1", "model_name_or_path": "m", "model_patch": "p\n"}
    project.lines([json.dumps(row)] * 3, "preds.jsonl")
    data = project.rows({"a-1": "resolved"})
    result = project.run(data, "--swe-preds", "preds.jsonl", "--swe-duplicates", "all", "-v")
    result.stdout.fnmatch_lines(["*::a-1 RESOLVED*", "*::a-1#2 RESOLVED*", "*::a-1#3 RESOLVED*"])
    assert [line["repeat"] for line in project.rewards] == [0, 1, 2]


def test_last_failed_works_on_our_items(project: Project) -> None:
    data = project.rows({"a-1": "resolved", "b[1]-1": "unresolved", "c-1": "unresolved"})

    def run(*args: str) -> pytest.RunResult:
        return project.pytester.runpytest_subprocess(
            str(data), "--swe-provider", "toy", "--swe-preds", "gold", "-v", *args
        )

    run()
    result = run("--lf")
    result.assert_outcomes(failed=2)


@pytest.mark.parametrize("shape", SHAPES[:2], ids=" ".join)
def test_bad_rows_are_items_of_their_own(project: Project, shape: tuple[str, ...]) -> None:
    lines = [
        json.dumps({"instance_id": "a-1", "play": "resolved"}),
        "{torn",
        json.dumps({"instance_id": "a-1", "play": "resolved"}),
        json.dumps({"play": "resolved"}),
        json.dumps({"instance_id": "z-1", "play": "resolved"}),
    ]
    result = project.run(project.lines(lines), "--swe-preds", "gold", *shape)
    found = [(line["line"], line["status"], line["reason"]) for line in project.rewards]
    assert found == [
        (1, "resolved", ""),
        (2, "error", "row_invalid"),
        (3, "error", "row_invalid"),
        (4, "error", "row_invalid"),
        (5, "resolved", ""),
    ]
    details = [line["detail"] for line in project.rewards]
    assert "toy.jsonl:2" in details[1]
    assert "line 1" in details[2]
    assert "toy.jsonl:3" in details[2]
    assert "instance_id" in details[3]
    assert result.ret == 10


def test_strict_makes_a_bad_row_stop_the_run(project: Project) -> None:
    data = project.lines([json.dumps({"instance_id": "a-1", "play": "resolved"}), "{torn"])
    result = project.run(data, "--swe-preds", "gold", "--swe-strict")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*toy.jsonl:2*"])
