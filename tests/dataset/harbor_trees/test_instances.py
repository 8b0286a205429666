"""A Harbor task as an instance: what its container must be, and what its family does not do."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_swe.dataset.source import open_dataset
from pytest_swe.dataset.wrapped import RESERVED
from pytest_swe.errors import RowInvalid, Unsupported
from pytest_swe.harness.harbor import HarborHarness
from pytest_swe.model import Candidate, EvalLog, Origin

from .small_tasks import task


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
