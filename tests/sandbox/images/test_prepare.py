"""``pytest-swe prepare`` and ``bundle``, with a real engine and a real registry."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest
from registries import Proxy

from pytest_swe.__main__ import main
from pytest_swe.preparation import Needs, Preparation, wanted_of

from .conftest import MakeClient, Publish, inspected, layer, saved, shell_layer

pytestmark = [pytest.mark.docker, pytest.mark.registry, pytest.mark.busybox]

EVAL = ": '>>>>> Start Test Output'\ntrue\n: '>>>>> End Test Output'\n"

Rows = Callable[..., Path]


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    """A data set with one row an image."""

    def write(*images: str, **columns: str) -> Path:
        path = tmp_path / f"rows-{uuid.uuid4().hex}.jsonl"
        lines = [
            {"instance_id": f"a__b-{number}", "repo": "a/b", "base_commit": "0" * 40, "image": image, "patch": "",
             "test_patch": "", "eval_script": EVAL, "log_parser": "parse_log_pytest", "FAIL_TO_PASS": ["t"],
             "PASS_TO_PASS": [], "version": "1", "eval_type": "pass_and_fail", **columns}
            for number, image in enumerate(images)
        ]  # fmt: skip
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    return write


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def made_here(engine: docker.APIClient) -> Iterator[list[str]]:
    """Names of images that a test makes; removed after it."""
    names: list[str] = []
    yield names
    for name in names:
        try:
            engine.remove_image(name, force=True)
        except docker.errors.NotFound:
            continue


def test_everything_is_pulled_and_a_second_run_only_looks(
    rows: Rows, publish: Publish, front: Proxy, capsys: pytest.CaptureFixture[str]
) -> None:
    images = [publish(shell_layer()), publish(shell_layer())]
    data = rows(*images, images[0])
    assert main(["prepare", str(data), "-j", "2"]) == 0
    said = capsys.readouterr().out
    assert "2 images, 0 there, 2 to prepare" in said
    assert "to fetch: " in said
    assert "shared layers counted once" in said
    assert "[2/2]" in said
    assert "2 of 2 images are there" in said
    seen = len(front.seen)
    assert main(["prepare", str(data)]) == 0
    assert "2 images, 2 there, 0 to prepare" in capsys.readouterr().out
    assert len(front.seen) == seen


def test_what_is_missing_is_told(
    rows: Rows, publish: Publish, front: Proxy, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = publish(shell_layer()), f"127.0.0.1:{front.port}/not/there:1"
    data = rows(good, bad)
    with data.open("a") as file:
        file.write('{"instance_id": "c__d-1"}\n')
    assert main(["prepare", str(data)]) == 1
    said = capsys.readouterr().out
    assert f"missing: {bad} (for a__b-1): cannot pull" in said
    assert "no image: c__d-1: " in said
    assert "1 of 2 images are there" in said
    assert main(["prepare", str(data), "--instance", "a__b-0"]) == 0


def test_a_dry_run_fetches_nothing(rows: Rows, publish: Publish, engine: docker.APIClient) -> None:
    image = publish(shell_layer())
    assert main(["prepare", str(rows(image)), "--dry-run"]) == 1
    with pytest.raises(docker.errors.NotFound):
        inspected(engine, image)


def test_layers_that_images_share_count_once(client: MakeClient, rows: Rows, publish: Publish) -> None:
    shared = layer({"data": random.Random(0).randbytes(4 * 1024 * 1024)})
    work = Preparation({"docker": client().images})
    one, _ = wanted_of(str(rows(publish(shared))), None)
    two, _ = wanted_of(str(rows(publish(shared), publish(shared))), None)
    assert work.needs("docker", one) == Needs(fetched=4, kept=12)
    assert work.needs("docker", two) == Needs(fetched=4, kept=12)


def test_a_mirror_is_used(rows: Rows, publish: Publish, front: Proxy, made_here: list[str]) -> None:
    image = publish(shell_layer())
    place = f"127.0.0.1:{front.port}"
    made_here.append(image.replace(place, "registry.invalid"))
    assert main(["prepare", str(rows(made_here[0])), "--mirror", f"registry.invalid={place}"]) == 0


def test_an_archive_is_loaded(
    rows: Rows, tmp_path: Path, engine: docker.APIClient, made_here: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"registry.invalid/archived-{uuid.uuid4().hex}:1"
    made_here.append(name)
    (tmp_path / "archives").mkdir()
    architecture = str(engine.version()["Arch"])
    (tmp_path / "archives" / "a.tar").write_bytes(saved(name, [layer({name: b""})], architecture))
    assert main(["prepare", str(rows(name)), "--archive", str(tmp_path / "archives")]) == 0
    assert "loaded" in capsys.readouterr().out


def test_what_is_no_archive_is_told(rows: Rows, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.tar").write_text("no")
    assert main(["prepare", str(rows("a/b:1")), "--archive", str(tmp_path / "a.tar")]) == 2
    assert "is no archive of images" in capsys.readouterr().err


def task_repository(place: Path, image: str, base: str) -> Path:
    task = place / "tasks" / "a__b-1"
    task.mkdir(parents=True)
    (place / "sweb.yaml").write_text("datasets: [a/b]\nsplits: [test]\n")
    (place / "shared.txt").write_text("from the root\n")
    (place / "base.Dockerfile").write_text("ARG BASE=registry.invalid/nothing:1\nFROM ${BASE}\nENV FROM_BASE=1\n")
    (task / "Dockerfile").write_text(f"ARG BASE={base}\nFROM ${{BASE}}\nCOPY shared.txt /shared.txt\n")
    (task / "task.yaml").write_text(
        f"instance_id: a__b-1\nrepo: a/b\nimage: {image}\nbase_commit: '{'0' * 40}'\nversion: '1'\n"
        "eval_type: pass_and_fail\nlog_parser: parse_log_pytest\n"
    )
    (task / "tests.json").write_text('{"FAIL_TO_PASS": ["t"], "PASS_TO_PASS": []}')
    (task / "eval.sh").write_text(EVAL)
    for name in ("gold.patch", "test.patch", "problem_statement.md"):
        (task / name).write_text("")
    return place


def test_a_task_repository_is_built(
    tmp_path: Path, engine: docker.APIClient, made_here: list[str], test_image: str
) -> None:
    name = f"registry.invalid/built-{uuid.uuid4().hex}"
    made_here += [f"{name}:1", f"{name}-base:1"]
    place = task_repository(tmp_path / "repo", made_here[0], made_here[1])
    assert main(["prepare", str(place), "--base", test_image]) == 0
    found = inspected(engine, made_here[0])
    assert "FROM_BASE=1" in found["Config"]["Env"]
    assert inspected(engine, made_here[1])["RootFS"]["Layers"] == found["RootFS"]["Layers"][:-1]


def test_a_dockerfile_that_fails_is_told(
    tmp_path: Path, made_here: list[str], test_image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"registry.invalid/built-{uuid.uuid4().hex}"
    made_here += [f"{name}:1", f"{name}-base:1"]
    place = task_repository(tmp_path / "repo", made_here[0], made_here[1])
    (place / "shared.txt").unlink()
    assert main(["prepare", str(place), "--base", test_image]) == 1
    said = capsys.readouterr().out
    assert f"missing: {name}:1 (for a__b-1)" in said
    assert "shared.txt" in said


def test_a_row_s_own_dockerfile_is_built(
    rows: Rows, engine: docker.APIClient, made_here: list[str], test_image: str
) -> None:
    made_here.append(f"registry.invalid/built-{uuid.uuid4().hex}:1")
    text = f"FROM {test_image}\nENV FROM_ROW=1\n"
    assert main(["prepare", str(rows(made_here[0], dockerfile=text))]) == 0
    assert "FROM_ROW=1" in inspected(engine, made_here[0])["Config"]["Env"]


def test_a_bundle_brings_the_same_images(
    rows: Rows, publish: Publish, tmp_path: Path, engine: docker.APIClient, capsys: pytest.CaptureFixture[str]
) -> None:
    images = [publish(shell_layer()), publish(shell_layer())]
    data = rows(*images)
    assert main(["bundle", "export", str(data), str(tmp_path / "early")]) == 2
    assert "not there" in capsys.readouterr().err
    assert main(["prepare", str(data)]) == 0
    assert main(["bundle", "export", str(data), str(tmp_path / "bundle")]) == 0
    ids = [inspected(engine, image)["Id"] for image in images]
    for image in images:
        engine.remove_image(image)
    assert main(["bundle", "import", str(tmp_path / "bundle")]) == 0
    assert [inspected(engine, image)["Id"] for image in images] == ids


def test_a_damaged_bundle_is_refused(
    rows: Rows, publish: Publish, tmp_path: Path, engine: docker.APIClient, capsys: pytest.CaptureFixture[str]
) -> None:
    image = publish(shell_layer())
    data = rows(image)
    assert main(["prepare", str(data)]) == 0
    assert main(["bundle", "export", str(data), str(tmp_path / "bundle")]) == 0
    engine.remove_image(image)
    with (tmp_path / "bundle" / "images.tar").open("r+b") as file:
        file.seek(3000)
        file.write(b"x")
    assert main(["bundle", "import", str(tmp_path / "bundle")]) == 2
    assert "damaged" in capsys.readouterr().err
    with pytest.raises(docker.errors.NotFound):
        inspected(engine, image)
    assert main(["bundle", "import", str(tmp_path)]) == 2


def test_a_provider_without_images_says_so(rows: Rows, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prepare", str(rows("a/b:1")), "--provider", "local"]) == 2
    assert "no images" in capsys.readouterr().err
