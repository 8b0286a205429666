"""Harbor tasks as a data set: what is found where, ids, dataset.toml, broken tasks, and other people's directories."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_swe.dataset.check import check
from pytest_swe.dataset.source import looks_like_dataset, open_dataset
from pytest_swe.dataset.wrapped import RESERVED
from pytest_swe.errors import RowInvalid, Unsupported, UsageError
from pytest_swe.families import harness_for
from pytest_swe.harbor import tree
from pytest_swe.harbor.task import load_task
from pytest_swe.harness.harbor import HarborHarness, task_of
from pytest_swe.model import Candidate, EvalLog, Origin

FILES: Mapping[str, str] = {
    "task.toml": "",
    "instruction.md": "Do it.\n",
    "environment/Dockerfile": "FROM scratch\n",
    "tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
}


def task(directory: Path, files: Mapping[str, str | None] | None = None) -> Path:
    for path, text in {**FILES, **(files or {})}.items():
        if text is not None:
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(text)
    return directory


def listed(root: Path) -> list[tuple[str, str]]:
    return [(ref.instance_id, ref.problem) for ref in open_dataset(str(root)).refs]


def test_a_tree_its_tasks_and_their_files_can_be_named(tmp_path: Path) -> None:
    root = tmp_path / "tasks"
    task(root / "easy" / "b")
    task(root / "a")
    assert listed(root) == [("a", ""), ("b", "")]
    dataset = open_dataset(str(root))
    assert (dataset.name, dataset.root, dataset.trusted) == ("tasks", root, False)
    for place in (root / "easy" / "b", root / "easy" / "b" / "task.toml"):
        assert listed(place) == [("b", "")]
        assert looks_like_dataset(place)
    assert looks_like_dataset(root)


def test_a_row_is_of_the_family_and_holds_no_more_than_the_task_says(tmp_path: Path) -> None:
    directory = task(tmp_path / "tasks" / "a", {"task.toml": '[task]\nname = "org/a"\n[agent]\ntimeout = 3\n'})
    dataset = open_dataset(str(directory.parent))
    ref = dataset.refs[0]
    row = dataset.load(ref)
    assert row["harbor_task"] == {
        "name": "org/a",
        "schema_version": "1.4",
        "digest": load_task(directory).digest,
        "steps": [],
        "warnings": ["task.toml: agent.timeout is not read: did you mean timeout_sec?"],
    }
    assert harness_for(row).name == ref.family == "harbor"
    instance = HarborHarness().instance(row, dataset.origin(ref))
    assert (instance.id, task_of(instance).root) == ("a", directory)


def test_six_levels_and_no_hidden_or_linked_directories(tmp_path: Path) -> None:
    root = tmp_path / "tasks"
    task(root / "1" / "2" / "3" / "4" / "5" / "deep")
    task(root / "1" / "2" / "3" / "4" / "5" / "6" / "too-deep")
    task(root / ".hidden" / "h")
    task(tmp_path / "elsewhere" / "e")
    (root / "link").symlink_to(tmp_path / "elsewhere")
    (root / "linked-task").symlink_to(tmp_path / "elsewhere" / "e")
    task(root / "1" / "outer")
    task(root / "1" / "outer" / "environment" / "inner")
    assert [name for name, _ in listed(root)] == ["deep", "outer"]


def test_tasks_with_the_same_name_are_told_apart(tmp_path: Path) -> None:
    for place in ("x/same", "y/same", "z/other"):
        task(tmp_path / place)
    assert [name for name, _ in listed(tmp_path)] == ["x/same", "y/same", "other"]


@pytest.mark.parametrize("name", ["instruction.md", "environment/loop", "tests/test.sh"])
def test_a_link_that_leads_to_itself_costs_its_task_only(tmp_path: Path, name: str) -> None:
    for place in ("a", "b"):
        task(tmp_path / place)
    link = tmp_path / "a" / name
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(link.name)
    found = {ref.instance_id: ref.problem for ref in open_dataset(str(tmp_path)).refs}
    assert found == {"a": f"{name}: neither a file nor a directory", "b": ""}


def no_file(path: Path, how: str) -> None:
    """Something in the place of a file that is none: a directory, a link to nothing, a pipe."""
    path.unlink(missing_ok=True)
    if how == "directory":
        path.mkdir()
    elif how == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("gone")


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ("directory", "task.toml: a directory where a file is expected"),
        ("link", "task.toml: neither a file nor a directory"),
        ("pipe", "task.toml: neither a file nor a directory"),
    ],
)
@pytest.mark.parametrize("alone", [False, True], ids=["with-files", "alone"])
def test_a_task_without_a_task_toml_that_can_be_read_is_not_left_out(
    tmp_path: Path, how: str, problem: str, alone: bool
) -> None:
    task(tmp_path / "tasks" / "a")
    broken = tmp_path / "tasks" / "b"
    broken.mkdir() if alone else task(broken)
    no_file(broken / "task.toml", how)
    (tmp_path / "tasks" / "no-task" / "task.txt").mkdir(parents=True)
    assert listed(tmp_path / "tasks") == [("a", ""), ("b", problem)]
    assert listed(broken) == [("b", problem)]
    assert looks_like_dataset(broken) is not alone
    (broken / "task.toml").rmdir() if how == "directory" else (broken / "task.toml").unlink()
    (broken / "task.toml").write_text("")
    assert listed(tmp_path / "tasks")[1] == ("b", "instruction.md missing: what the agent is told" if alone else "")


def test_a_task_that_is_called_task_toml_makes_no_task_of_what_is_around_it(tmp_path: Path) -> None:
    task(tmp_path / "tasks" / "task.toml")
    task(tmp_path / "tasks" / "a")
    assert listed(tmp_path / "tasks") == [("a", ""), ("task.toml", "")]


@pytest.mark.parametrize("how", ["directory", "link"])
def test_a_list_of_tasks_that_is_no_file_is_not_overlooked(tmp_path: Path, how: str) -> None:
    task(tmp_path / "a")
    assert listed(tmp_path) == [("a", "")]
    no_file(tmp_path / "dataset.toml", how)
    with pytest.raises(UsageError, match=r"dataset\.toml: cannot be read"):
        open_dataset(str(tmp_path))


def test_a_broken_task_costs_no_other(tmp_path: Path) -> None:
    task(tmp_path / "a-good")
    task(tmp_path / "b-toml", {"task.toml": "x = ["})
    task(tmp_path / "c-tests", {"tests/test.sh": None})
    task(tmp_path / "d-environment", {"environment/Dockerfile": None})
    task(tmp_path / "e-empty", dict.fromkeys(FILES, None) | {"task.toml": ""})
    task(tmp_path / "f::g")
    dataset = open_dataset(str(tmp_path))
    found = {ref.instance_id: ref.problem for ref in dataset.refs}
    assert found["a-good"] == ""
    assert found["b-toml"].startswith("task.toml: not TOML: ")
    assert found["c-tests"] == "tests/test.sh missing: what gives the reward"
    assert found["d-environment"].startswith("environment: expected environment/Dockerfile")
    assert found["e-empty"] == "instruction.md missing: what the agent is told"
    assert found[""].startswith("the name of its directory: 'f::g' has '::'")
    with pytest.raises(RowInvalid) as refused:
        dataset.row("c-tests")
    assert str(refused.value).startswith(f"{tmp_path / 'c-tests'}: c-tests: tests/test.sh missing")


def test_a_task_that_changed_is_read_anew_and_never_mistaken(tmp_path: Path) -> None:
    directory = task(tmp_path / "a")
    before = open_dataset(str(tmp_path))
    (directory / "tests" / "test.sh").write_text("echo 0\n")
    after = open_dataset(str(tmp_path))
    assert after.digest != before.digest
    with pytest.raises(RowInvalid, match="the task changed while it was in use"):
        before.row("a")
    task(tmp_path / "b", {"tests/test.sh": None})
    assert [ref.instance_id for ref in open_dataset(str(tmp_path)).refs] == ["a", "b"]


def test_dataset_toml_lists_the_tasks_in_its_order(tmp_path: Path) -> None:
    digest = load_task(task(tmp_path / "one", {"task.toml": '[task]\nname = "org/first"\n'})).digest
    task(tmp_path / "two")
    task(tmp_path / "not-listed")
    (tmp_path / "dataset.toml").write_text(
        f'[dataset]\nname = "org/set"\n[[tasks]]\nname = "org/two"\ndigest = "sha256:{"0" * 64}"\n'
        f'[[tasks]]\nname = "org/first"\ndigest = "{digest}"\n[[tasks]]\nname = "org/thre"\n'
        '[[tasks]]\nname = "org/firts"\n'
    )
    wrong = f"its files have the digest {load_task(tmp_path / 'two').digest}, dataset.toml wants sha256:{'0' * 64}"
    assert listed(tmp_path) == listed(tmp_path / "dataset.toml")
    assert listed(tmp_path) == [
        ("two", wrong),
        ("one", ""),
        ("org/thre", "dataset.toml lists org/thre, and there is no such task below"),
        ("org/firts", "dataset.toml lists org/firts, and there is no such task below; nearest: org/first"),
    ]
    (tmp_path / "dataset.toml").write_text('[gym]\nlicense = "x"\n')
    assert [name for name, _ in listed(tmp_path)] == ["not-listed", "one", "two"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = [", "dataset.toml: not TOML"),
        ("tasks = 3", r"dataset.toml: tasks: expected \[\[tasks\]\]"),
        ("[[tasks]]\nx = 1", r"dataset.toml: tasks\[0\].name: expected a task's name"),
        ('[[tasks]]\nname = "a"\ndigest = "md5:1"', r"dataset.toml: tasks\[0\].digest: expected sha256: and 64 hex"),
        ("tasks = []", "no rows in it"),
    ],
)
def test_a_list_that_cannot_be_read_is_said_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    task(tmp_path / "a")
    (tmp_path / "dataset.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        open_dataset(str(tmp_path))


def test_a_directory_without_tasks_says_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(UsageError, match=r"nor Harbor tasks \(task.toml in it or below\)"):
        open_dataset(str(tmp_path))
    (tmp_path / "dataset.toml").write_text("")
    with pytest.raises(UsageError):
        open_dataset(str(tmp_path / "dataset.toml"))


@pytest.mark.parametrize(
    ("others", "is_ours"),
    [
        ({}, True),
        ({"README.md": "", "metric.py": ""}, True),
        ({"unit/test_a.py": ""}, False),
        ({"test_a.py": ""}, False),
        ({"pkg/a_test.py": ""}, False),
        ({"pyproject.toml": ""}, False),
        # A list of tasks says what the directory is, whatever else is in it.
        ({"dataset.toml": "", "test_a.py": ""}, True),
        # It would be imported: named, it is refused, not run.
        ({"conftest.py": ""}, True),
    ],
)
def test_a_directory_of_the_users_own_tests_is_no_data_set(
    tmp_path: Path, others: Mapping[str, str], is_ours: bool
) -> None:
    task(tmp_path / "samples" / "a", {"tests/test_deep.py": "", "tests/conftest.py": ""})
    for name, text in others.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert looks_like_dataset(tmp_path) is is_ours
    assert looks_like_dataset(tmp_path / "samples")


def test_a_task_toml_of_another_program_is_none_of_our_business(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text("[tasks]\n")
    (tmp_path / "tests").mkdir()
    assert not looks_like_dataset(tmp_path)
    assert not looks_like_dataset(tmp_path / "task.toml")
    assert looks_like_dataset(task(tmp_path / "a") / "task.toml")


def test_a_directory_that_is_too_large_to_look_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        (tmp_path / str(number)).mkdir()
    task(tmp_path / "a")
    monkeypatch.setattr(tree, "MAX_DIRECTORIES", 5)
    assert not looks_like_dataset(tmp_path)
    with pytest.raises(UsageError, match="more than 5 directories that are no tasks"):
        open_dataset(str(tmp_path))


@pytest.mark.parametrize("place", [{"task": "PLACE"}, {"task": 3}, None, "PLACE"])
def test_a_row_from_elsewhere_cannot_name_a_directory(tmp_path: Path, place: object) -> None:
    """A file of rows has no root, and another tree is not below this one's."""
    directory = task(tmp_path / "secret" / "a")
    (tmp_path / "data").mkdir()
    named = str(directory) if place == "PLACE" else {"task": str(directory)} if place == {"task": "PLACE"} else place
    row = {"instance_id": "a", "harbor_task": {}, RESERVED: named}
    for origin in (Origin(path="x.jsonl", line=3), Origin(path="x", root=tmp_path / "data")):
        with pytest.raises(RowInvalid, match="a Harbor task is its directory"):
            HarborHarness().instance(row, origin)


def test_what_the_agents_container_must_be(tmp_path: Path) -> None:
    text = """
[agent]
timeout_sec = 100
[environment]
docker_image = "x:1"
workdir = "/app"
cpus = 2
memory = "1G"
network_mode = "no-network"
storage_mb = 10240
[[steps]]
name = "one"
[[steps]]
name = "two"
"""
    steps = {f"steps/{name}/instruction.md": "go" for name in ("one", "two")}
    directory = task(tmp_path / "a", {"task.toml": text, **steps})
    dataset = open_dataset(str(directory))
    instance = HarborHarness().instance(dataset.row("a"), dataset.origin(dataset.refs[0]))
    spec = instance.spec
    assert (spec.image, spec.workdir, spec.cpus, spec.memory_mb) == ("x:1", "/app", 2, 1024)
    assert (spec.network, spec.disk_mb, spec.trusted) == ("none", None, False)
    assert [(step.name, step.timeout) for step in instance.steps] == [("one", 700), ("two", 700)]
    assert spec.seconds == 600 + 2 * (700 + 360)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('os = "windows"', 'environment.os = "windows"'),
        ("gpus = 2", "environment.gpus = 2"),
        ('tpu = {type = "v5", topology = "2x4"}', "environment.tpu"),
    ],
)
def test_what_no_provider_has_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    directory = task(tmp_path / "a", {"task.toml": f"[environment]\n{text}\n", "tests/test.bat": ""})
    dataset = open_dataset(str(directory))
    with pytest.raises(Unsupported, match=message):
        HarborHarness().instance(dataset.row("a"), dataset.origin(dataset.refs[0]))


def test_a_task_is_not_judged_by_a_patch(tmp_path: Path) -> None:
    dataset = open_dataset(str(task(tmp_path / "a")))
    harness = HarborHarness()
    instance = harness.instance(dataset.row("a"), dataset.origin(dataset.refs[0]))
    assert harness.judging(instance) is None
    for call in (
        lambda: harness.gold(instance),
        lambda: harness.grade(instance, EvalLog(steps=())),
        lambda: harness.saved(instance, None, b""),
        lambda: harness.evaluate(instance, Candidate(model="m"), None),  # type: ignore[arg-type]
    ):
        with pytest.raises(Unsupported, match=r"an agent works in it \(name an agent: --swe-agent oracle"):
            call()


def test_the_preflight_tells_what_is_wrong_with_each_task(tmp_path: Path) -> None:
    task(tmp_path / "a", {"task.toml": "[agent]\ntimeout = 3\n"})
    task(tmp_path / "b", {"tests/test.sh": None})
    task(tmp_path / "c", {"task.toml": "[environment]\ngpus = 1\n"})
    task(tmp_path / "d")
    findings = check(open_dataset(str(tmp_path)), None, harness_for)
    levels = [(found.level, found.instance_id) for found in findings]
    assert levels == [("warning", "a"), ("error", "b"), ("error", "c")]
    assert findings[0].text.endswith("/a: a: task.toml: agent.timeout is not read: did you mean timeout_sec?")
