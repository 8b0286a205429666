"""A task on disk: what it must have, what may not be in it, its digest, its instruction."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_swe.errors import RowInvalid
from pytest_swe.harbor import files as task_files
from pytest_swe.harbor.limits import limits_of
from pytest_swe.harbor.task import load_task, without_canary

from .harbor_tasks import FILES, conformance_cases, write_task

STEPS = '[[steps]]\nname = "b"\n[[steps]]\nname = "a"\n'
SEPARATE = '[verifier.environment]\ndocker_image = "judge:1"\n'
COMPOSE = "services: {}\n"


def test_a_task_as_it_stands(tmp_path: Path) -> None:
    task = load_task(write_task(tmp_path / "one", {"environment/docker-compose.yaml": COMPOSE}))
    assert task.name == "one"
    assert not task.is_multi_step
    assert task.steps[0].instruction == "Do it.\n"
    assert (task.image, task.loose_files) == ("", {})
    assert task.dockerfile == tmp_path / "one" / "environment" / "Dockerfile"
    assert task.compose == tmp_path / "one" / "environment" / "docker-compose.yaml"
    assert task.tests(task.steps[0]) == {"test.sh": "tests/test.sh"}
    assert task.solution(task.steps[0]) == {"solve.sh": "solution/solve.sh"}
    assert task.read("instruction.md") == b"Do it.\n"


def test_steps_come_in_the_order_of_the_file_and_the_top_instruction_reaches_nobody(tmp_path: Path) -> None:
    task = load_task(
        write_task(
            tmp_path,
            {
                "task.toml": '[task]\nname = "org/steps"\n' + STEPS,
                "instruction.md": "SECRET",
                "steps/a/instruction.md": "# canary\n\nSecond\n",
                "steps/b/instruction.md": "First",
                "steps/a/trajectory.json": "{}",
                "steps/b/workdir/setup.sh": "",
            },
        )
    )
    assert task.name == "org/steps"
    assert [(step.name, step.instruction, step.history) for step in task.steps] == [
        ("b", "First", ""),
        ("a", "Second\n", "steps/a/trajectory.json"),
    ]
    assert task.workdir(task.steps[0]) == {"setup.sh": "steps/b/workdir/setup.sh"}


def test_loose_files_go_to_a_prebuilt_image(tmp_path: Path) -> None:
    files = {
        "task.toml": '[environment]\ndocker_image = "x:1"\n',
        "environment/Dockerfile": None,
        "environment/data/a": "1",
    }
    task = load_task(write_task(tmp_path / "a", files))
    assert (task.image, task.dockerfile) == ("x:1", None)
    assert task.loose_files == {"data/a": "environment/data/a"}
    built = load_task(write_task(tmp_path / "b", {**files, "environment/Dockerfile": "FROM x"}))
    assert built.loose_files == {}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"task.toml": None}, ": no task.toml in it: not a Harbor task"),
        ({"task.toml": "x = ["}, "/task.toml: not TOML"),
        ({"instruction.md": None}, ": instruction.md missing: what the agent is told"),
        ({"tests/test.sh": None}, ": tests/test.sh missing: what gives the reward"),
        ({"tests/test.sh": None, "tests/Test.sh": ""}, ": tests/test.sh missing"),
        ({"tests/test.sh": "#!/bin/bash\r\nx\r\n"}, "/tests/test.sh:1: lines end with CR LF"),
        (
            {"environment/Dockerfile": None},
            ": environment: expected environment/Dockerfile, environment/docker-compose.yaml or docker_image, got none",
        ),
        ({"environment/Dockerfile": None, "environment/compose.yaml": ""}, "(rename environment/compose.yaml)"),
        ({"environment/Dockerfile": None, "environment/dockerfile": ""}, "(rename environment/dockerfile)"),
        ({"task.toml": STEPS}, ": steps/b/instruction.md missing"),
        (
            {
                "task.toml": STEPS,
                "steps/a/instruction.md": "",
                "steps/b/instruction.md": "",
                "steps/a/tests/test.sh": "",
                "tests/test.sh": None,
            },
            ": steps/b/tests/test.sh or tests/test.sh missing",
        ),
        ({"instruction.md": "x" * (1024 * 1024 + 1)}, "/instruction.md: longer than 1024 KiB"),
    ],
)
def test_a_task_that_cannot_be_used(tmp_path: Path, files: Mapping[str, str | None], message: str) -> None:
    with pytest.raises(RowInvalid) as refused:
        load_task(write_task(tmp_path / "bad", files))
    assert str(refused.value).startswith(str(tmp_path / "bad"))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_instruction_that_is_no_text(tmp_path: Path) -> None:
    (write_task(tmp_path) / "instruction.md").write_bytes(b"ok\xff")
    with pytest.raises(RowInvalid, match=r"instruction\.md: not UTF-8 \(byte 2\)"):
        load_task(tmp_path)


def test_a_verifier_with_an_image_of_its_own_brings_its_tests(tmp_path: Path) -> None:
    task = load_task(write_task(tmp_path, {"task.toml": SEPARATE, "tests/test.sh": None}))
    assert task.tests(task.steps[0]) == {}


@pytest.mark.parametrize(
    "where", ["tests/link", "environment/deep/link", "solution/link", "instruction.md", "task.toml"]
)
@pytest.mark.parametrize("target", ["file", "directory", "none"])
def test_a_link_out_of_the_task_is_refused(tmp_path: Path, where: str, target: str) -> None:
    outside = tmp_path / "outside"
    (outside / "directory").mkdir(parents=True)
    (outside / "file").write_text("secret")
    link = write_task(tmp_path / "task") / where
    link.unlink(missing_ok=True)
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside / target)
    with pytest.raises(RowInvalid, match="a link that leads out of the task"):
        load_task(tmp_path / "task")


def test_links_inside_the_task_count_as_what_they_lead_to(tmp_path: Path) -> None:
    write_task(tmp_path, {"tests/lib/helper.sh": "h"})
    (tmp_path / "environment" / "helper.sh").symlink_to("../tests/lib/helper.sh")
    (tmp_path / "solution" / "lib").symlink_to("../tests/lib")
    task = load_task(tmp_path)
    assert task.read("environment/helper.sh") == b"h"
    assert task.solution(task.steps[0])["lib/helper.sh"] == "solution/lib/helper.sh"


def test_a_link_in_a_circle_and_one_to_nothing_are_refused(tmp_path: Path) -> None:
    (write_task(tmp_path / "a") / "tests" / "again").symlink_to("..")
    with pytest.raises(RowInvalid, match="a link to a directory that it stands in"):
        load_task(tmp_path / "a")
    (write_task(tmp_path / "b") / "tests" / "gone").symlink_to("nothing")
    with pytest.raises(RowInvalid, match="neither a file nor a directory"):
        load_task(tmp_path / "b")


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(write_task(tmp_path) / "tests" / "pipe")
    with pytest.raises(RowInvalid, match="tests/pipe: neither a file nor a directory"):
        load_task(tmp_path)


def test_a_task_has_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_task(tmp_path)
    monkeypatch.setattr(task_files, "MAX_FILES", 5)
    with pytest.raises(RowInvalid, match="more than 5 files and directories"):
        load_task(tmp_path)
    monkeypatch.undo()
    with open(tmp_path / "tests" / "big", "wb") as file:
        file.truncate(task_files.MAX_BYTES + 1)
    with pytest.raises(RowInvalid, match="more than 4 GiB of files"):
        load_task(tmp_path)


def test_the_digest_is_that_of_harbors_publisher(tmp_path: Path) -> None:
    write_task(tmp_path, {"tests/a b": "", "README.md": "r"})
    (tmp_path / "notes.txt").write_text("not published")
    (tmp_path / "tests" / "__pycache__").mkdir()
    (tmp_path / "tests" / "__pycache__" / "x.pyc").write_text("left behind")
    published = {**FILES, "tests/a b": "", "README.md": "r"}
    lines = "".join(f"{name}\0{hashlib.sha256(published[name].encode()).hexdigest()}\n" for name in sorted(published))
    digest = load_task(tmp_path).digest
    assert digest == f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"
    (tmp_path / "tests" / "a b").write_text("x")
    assert load_task(tmp_path).digest != digest


def test_a_file_that_changed_since_it_was_listed(tmp_path: Path) -> None:
    task = load_task(write_task(tmp_path))
    (tmp_path / "tests" / "test.sh").write_text("other")
    with pytest.raises(RowInvalid, match="changed while it was in use"):
        task.read("tests/test.sh")


def test_artifacts_that_would_overwrite_each_other_are_told_of(tmp_path: Path) -> None:
    artifacts = 'artifacts = ["/a/b", {source = "/a/b", service = "side"}, "/c"]'
    assert load_task(write_task(tmp_path, {"task.toml": artifacts})).warnings == (
        "artifacts: several go to a/b, the last one is kept",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<!-- harbor-canary GUID abc -->\n# canary too\n\nReal text\n", "Real text\n"),
        ("# CANARY\r\n\r\n\r\nText", "Text"),
        ("# A title\n# canary\n", "# A title\n# canary\n"),
        ("\n# canary\ntext", "\n# canary\ntext"),
        ("canary birds\n", "canary birds\n"),
        ("<!-- canary\nmore -->\n", "<!-- canary\nmore -->\n"),
        ("", ""),
        ("# canary", ""),
    ],
)
def test_canary_lines_are_not_told_to_the_agent(text: str, expected: str) -> None:
    assert without_canary(text) == expected


@pytest.mark.shared_data
def test_the_conformance_tasks_load_unless_harbor_left_them_out(tmp_path: Path, shared_data: Path) -> None:
    """56 of 60: two are broken, one has no tests, one has no environment."""
    refused = {}
    for name, case in conformance_cases(shared_data).items():
        directory = tmp_path / name
        for path, text in case["files"].items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(text)
        try:
            task = load_task(directory)
        except RowInvalid as error:
            refused[name] = str(error)
            continue
        assert task.warnings == ()
        steps = case["observed"][0].get("steps", []) if case["observed"] else []
        assert [step.name for step in task.steps][: len(steps)] == [step["name"] for step in steps] or not steps
        if case["observed"]:
            expected = case["observed"][0]["verifier_environment_mode"]
            assert expected in (None, task.steps[0].settings.verifier_mode)
            assert (expected is None) == task.is_multi_step
        assert limits_of(task.config).seconds > 0
    assert sorted(refused) == ["t2/hc-e-nodef", "w/hc-badtoml", "w/hc-badtype", "w/hc-notests"]


#: What the samples of real tasks were stored without.
PROGRAMS = {"environment/Dockerfile": "FROM scratch\n", "tests/test.sh": "exit 0\n", "instruction.md": "Do it.\n"}


@pytest.mark.shared_data
def test_real_tasks_load_without_a_warning(tmp_path: Path, shared_data: Path) -> None:
    seen = []
    for directory in sorted((shared_data / "harbor-tasks").iterdir()):
        if not directory.is_dir() or directory.name == "harbor-adapter-swebench-template":  # has placeholders
            continue
        files = {str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*") if path.is_file()}
        task = load_task(write_task(tmp_path / directory.name, {**PROGRAMS, **files}))
        assert task.warnings == (), directory.name
        seen.append(len(task.steps))
    assert sorted(seen) == [1] * 9 + [2, 3, 5]
