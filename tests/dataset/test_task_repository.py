"""A task repository: rows as swebench makes them, splits, trust, and a `local` key that cannot leave it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_swe.dataset.source import Dataset, looks_like_dataset, open_dataset
from pytest_swe.encoding import patch_bytes
from pytest_swe.errors import RowInvalid, UsageError

FILES: Mapping[str, bytes] = {
    "task.yaml": b"instance_id: %s\nrepo: a/a\nbase_commit: 1234567\nversion: 3.10\ncreated_at: 2024-01-02\n",
    "tests.json": b'{"FAIL_TO_PASS": ["t"], "PASS_TO_PASS": []}',
    "problem_statement.md": "It fails.\r\n\u2028".encode(),
    "gold.patch": b"diff --git a/x b/x\r\n+caf\xe9\n",
    "test.patch": b"",
    "eval.sh": b"#!/bin/bash\r\n",
}


def _task(root: Path, name: str, extra: str = "", files: Mapping[str, bytes | None] | None = None) -> Path:
    """A task directory; ``files`` replace or (None) remove some."""
    directory = root / "tasks" / name
    directory.mkdir(parents=True)
    contents: dict[str, bytes | None] = {**FILES, "task.yaml": FILES["task.yaml"] % name.encode() + extra.encode()}
    contents.update(files or {})
    for file, content in contents.items():
        if content is not None:
            (directory / file).write_bytes(content)
    return directory


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with its config and no tasks yet."""
    root = tmp_path / "repo"
    (root / "tasks").mkdir(parents=True)
    (root / "sweb.yaml").write_text("datasets: [o/d]\nsplits: [dev, test]\n")
    return root


def _open(root: Path, split: str | None = None) -> Dataset:
    return open_dataset(str(root), split=split)


def _ids(dataset: Dataset) -> list[str]:
    return [ref.instance_id for ref in dataset.refs]


@pytest.mark.parametrize(
    ("name", "link", "problem"),
    [
        ("task.yaml", True, "task.yaml missing"),
        ("task.yaml", False, "task.yaml: cannot be read: Is a directory"),
        ("eval.sh", True, "eval.sh missing"),
    ],
)
def test_a_file_that_is_none_costs_its_task_alone(root: Path, name: str, link: bool, problem: str) -> None:
    _task(root, "a__a-1")
    file = _task(root, "b__b-1") / name
    file.unlink()
    file.symlink_to("gone") if link else file.mkdir()
    (root / "tasks" / "no-task").mkdir()
    assert [ref.problem for ref in _open(root).refs] == ["", problem]


def test_a_task_is_the_row_that_swebench_makes_of_it(root: Path) -> None:
    _task(root, "a__a-1", files={"hints.md": b"look\r\nhere"})
    row = _open(root).row("a__a-1")
    assert row == {
        "instance_id": "a__a-1",
        "repo": "a/a",
        "base_commit": "1234567",
        "version": "3.10",
        "created_at": "2024-01-02",
        "problem_statement": "It fails.\r\n\u2028",
        "patch": "diff --git a/x b/x\r\n+caf\udce9\n",
        "test_patch": "",
        "eval_script": "#!/bin/bash\r\n",
        "hints_text": "look\r\nhere",
        "FAIL_TO_PASS": ["t"],
        "PASS_TO_PASS": [],
    }
    assert patch_bytes(str(row["patch"])) == FILES["gold.patch"]


def test_the_repository_its_file_and_one_task_can_be_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _task(root, "a__a-1")
    _task(root, "a__a-2")
    for path in (root, root / "sweb.yaml"):
        assert _ids(_open(path)) == ["a__a-1", "a__a-2"]
        assert looks_like_dataset(path)
        assert _open(path).name == "repo"
    assert _ids(_open(root / "tasks" / "a__a-2")) == ["a__a-2"]
    assert looks_like_dataset(root / "tasks" / "a__a-2")
    monkeypatch.chdir(root / "tasks" / "a__a-1")
    assert _ids(open_dataset(".")) == ["a__a-1"]
    assert not looks_like_dataset(root / "tasks")
    assert not looks_like_dataset(root / "tasks" / "a__a-2" / "task.yaml")


def test_only_published_rows_are_listed_and_any_can_be_named(root: Path) -> None:
    for name, extra in {
        "a-dev": "split: dev\ndatasets: [o/d]\n",
        "b-test": "split: test\ndatasets: [o/d, o/other]\n",
        "c-old": "split: deprecated\ndatasets: [o/d]\n",
        "d-other": "split: test\ndatasets: [o/other]\n",
        "e-silent": "",
    }.items():
        _task(root, name, extra)
    dataset = _open(root)
    assert _ids(dataset) == ["a-dev", "b-test", "e-silent"]
    assert dataset.row("c-old")["split"] == "deprecated"
    assert _ids(_open(root, "dev")) == ["a-dev"]
    assert _ids(_open(root, "deprecated")) == ["c-old"]
    assert _ids(_open(root / "tasks" / "c-old")) == ["c-old"]
    with pytest.raises(UsageError, match="no split 'train': it has deprecated, dev, test"):
        _open(root, "train")


@pytest.mark.parametrize(
    ("config", "trusted"),
    [("trusted: true\n", True), ("trusted: false\n", False), ("trusted: 'true'\n", False), ("x: 1\n", False)],
)
def test_trust_is_a_plain_true(root: Path, config: str, trusted: bool) -> None:
    (root / "sweb.yaml").write_text(config)
    _task(root, "a__a-1", "split: test\ntrusted: true\n")
    for _ in range(2):
        dataset = _open(root)
        assert dataset.trusted is trusted
        origin = dataset.origin(dataset.refs[0])
        assert (origin.trusted, origin.root) == (trusted, root)
        assert origin.path == str(root / "tasks" / "a__a-1")


def test_rows_in_a_file_are_never_trusted(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"instance_id": "a-1", "trusted": true}\n')
    dataset = open_dataset(str(tmp_path / "d.jsonl"))
    assert not dataset.trusted
    assert not dataset.origin(dataset.refs[0]).trusted


def test_a_local_tree_becomes_an_absolute_path(root: Path) -> None:
    (root / "trees").mkdir()
    (root / "trees" / "a.export").write_text("blob")
    _task(root, "a__a-1", "local: {export: trees/a.export, commit: 1234567}\n_tree: {export: /etc/passwd}\n")
    row = _open(root).row("a__a-1")
    assert row["_tree"] == {"export": str(root / "trees" / "a.export"), "commit": "1234567"}
    assert "local" not in row


@pytest.mark.parametrize(
    ("local", "message"),
    [
        ("{export: ../secret, commit: c}", "local.export: '../secret' leaves the repository"),
        ("{export: trees/../../secret, commit: c}", "leaves the repository"),
        ("{export: link, commit: c}", "leaves the repository"),
        ("{export: SECRET, commit: c}", "leaves the repository"),
        ("{export: trees/none, commit: c}", "no file 'trees/none' in the repository"),
        ("{export: tasks, commit: c}", "no file 'tasks' in the repository"),
        ("{export: trees/a.export}", "local: expected {export: path in the repository, commit: ref}"),
        ("text", "local: expected {export"),
        ("{export: [a], commit: c}", "local: expected {export"),
    ],
)
def test_a_local_tree_may_not_leave_the_repository(root: Path, local: str, message: str) -> None:
    secret = root.parent / "secret"
    secret.write_text("x")
    (root / "trees").mkdir()
    (root / "link").symlink_to(secret)
    _task(root, "a__a-1", f"local: {local.replace('SECRET', str(secret))}\n")
    dataset = _open(root)
    assert dataset.refs[0].problem.startswith("task.yaml: local")
    assert message in dataset.refs[0].problem


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"gold.patch": None, "eval.sh": None}, "gold.patch, eval.sh missing"),
        ({"tests.json": b"{"}, "tests.json: not JSON: "),
        ({"tests.json": b"[]"}, "tests.json: expected an object, got a list"),
        ({"task.yaml": b"a: [\n"}, "task.yaml:2: not YAML: "),
        ({"task.yaml": b"- a\n"}, "task.yaml: expected keys and values"),
        ({"task.yaml": b""}, "task.yaml: expected keys and values"),
        ({"task.yaml": b"a: \xff\n"}, "task.yaml: not YAML: "),
        ({"task.yaml": b"!!python/object/apply:os.getpid []\n"}, "task.yaml:1: not YAML: "),
        ({"task.yaml": b"? [a]\n: b\n"}, "task.yaml:1: not YAML: "),
        (
            {"task.yaml": b"instance_id: other\n"},
            "task.yaml: instance_id: 'other' does not match its directory 'b-bad'",
        ),
    ],
)
def test_a_bad_task_costs_that_row_only(root: Path, files: Mapping[str, bytes | None], message: str) -> None:
    _task(root, "a-good")
    _task(root, "b-bad", files=files)
    _task(root, "c-good")
    dataset = _open(root)
    assert [(ref.instance_id, bool(ref.problem)) for ref in dataset.refs] == [
        ("a-good", False),
        ("b-bad", True),
        ("c-good", False),
    ]
    assert message in dataset.refs[1].problem
    with pytest.raises(RowInvalid) as refused:
        dataset.row("b-bad")
    assert str(refused.value).startswith(str(root / "tasks" / "b-bad"))
    assert "\n" not in str(refused.value)


def test_a_directory_that_cannot_be_an_id_and_one_without_a_task(root: Path) -> None:
    _task(root, "a::b")
    _task(root, "a-good")
    (root / "tasks" / "notes").mkdir()
    dataset = _open(root)
    assert [(ref.instance_id, bool(ref.problem)) for ref in dataset.refs] == [("a-good", False), ("", True)]


def test_an_edited_task_is_read_again(root: Path, own_cache: Path) -> None:
    directory = _task(root, "a__a-1")
    before = _open(root)
    assert before.row("a__a-1")["FAIL_TO_PASS"] == ["t"]
    (directory / "tests.json").write_bytes(b'{"FAIL_TO_PASS": ["u"], "PASS_TO_PASS": []}')
    after = _open(root)
    assert after.row("a__a-1")["FAIL_TO_PASS"] == ["u"]
    assert after.digest != before.digest
    with pytest.raises(RowInvalid, match="the task changed while it was in use"):
        before.row("a__a-1")
    _task(root, "a__a-2")
    assert _ids(_open(root)) == ["a__a-1", "a__a-2"]


def test_yaml_that_names_itself_over_and_over_ends(root: Path) -> None:
    lines = ["a0: &a0 {x: y}"] + [f"a{n}: &a{n} {{l: *a{n - 1}, r: *a{n - 1}}}" for n in range(1, 60)]
    _task(root, "a__a-1", "\n".join(lines) + "\n")
    assert _open(root).refs[0].problem == ""


def test_a_broken_config_is_said_in_one_line(root: Path) -> None:
    _task(root, "a__a-1")
    (root / "sweb.yaml").write_text("splits: [\n")
    with pytest.raises(UsageError, match=r"sweb\.yaml:2: not YAML"):
        _open(root)


def test_an_empty_repository(root: Path) -> None:
    with pytest.raises(UsageError, match="no rows in it"):
        _open(root)


@pytest.mark.shared_data
def test_the_public_repository_reads_as_swebench_reads_it(shared_data: Path) -> None:
    """swebench's own loader, on all 17 tasks: every column is the same."""
    from swebench.task.repo import load_task, select_tasks

    root = shared_data / "rows" / "task-repo"
    dataset = open_dataset(str(root))
    assert _ids(dataset) == sorted(task["instance_id"] for task in select_tasks(root))
    names = sorted(os.listdir(root / "tasks"))
    assert len(names) == 17
    for name in names:
        assert json.loads(json.dumps(dataset.row(name))) == load_task(root / "tasks" / name)
