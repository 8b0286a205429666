"""Images for apptainer: fetched at a registry's pace, prepared ahead, brought in a bundle, removed for a budget."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docker
import pytest
from registries import Proxy

from pytest_swe.__main__ import main
from pytest_swe.errors import ImageUnavailable
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.apptainer import ApptainerProvider
from pytest_swe.sandbox.base import image_of
from pytest_swe.sandbox.images.mirrors import Mirrors
from pytest_swe.sandbox.images.pull import Puller, PullPolicy
from pytest_swe.sandbox.images.reference import parse

from .conftest import Publish, inspected, layer, saved, shell_layer
from .test_budget import large
from .test_prepare import Rows, made_here, rows, task_repository

__all__ = ["made_here", "rows"]

pytestmark = [pytest.mark.apptainer, pytest.mark.docker, pytest.mark.registry, pytest.mark.busybox]

SPEC = SandboxSpec(image="", workdir="/", seconds=120)


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on this host has no Docker: neither its command nor its engine."""

    def hide() -> None:
        (tmp_path / "bin").mkdir()
        for folder in reversed(os.environ["PATH"].split(os.pathsep)):
            for program in Path(folder).iterdir() if Path(folder).is_dir() else ():
                if program.name != "docker":
                    (tmp_path / "bin" / program.name).unlink(missing_ok=True)
                    (tmp_path / "bin" / program.name).symlink_to(program)
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody")

    return hide


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def provider(waits: list[float]) -> Callable[..., ApptainerProvider]:
    def make(**policy: Any) -> ApptainerProvider:
        return ApptainerProvider(policy=PullPolicy(**{"wanted": frozenset, "sleep": waits.append, **policy}))

    return make


def puller_of(provider: ApptainerProvider) -> Puller:
    [connect] = provider.images().values()
    return connect()


def greeting(provider: ApptainerProvider, image: str) -> tuple[str, str]:
    """What a sandbox of ``image`` finds in /greeting, and the digest on it."""
    made = provider.acquire(dataclasses.replace(SPEC, image=image), labels={"run": "images"})
    try:
        return made.exec(["cat", "/greeting"], timeout=60).stdout.decode(), image_of(made).digest
    finally:
        made.close()


def built(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "state" / "pytest-swe" / "apptainer" / "images").glob("*.sif"))


def hello(text: str = "hello") -> bytes:
    return layer({"greeting": text.encode()})


def test_an_image_comes_from_its_registry_with_its_digest(
    provider: Callable[..., ApptainerProvider], publish: Publish, front: Proxy, waits: list[float]
) -> None:
    image = publish(shell_layer(), hello())
    made = provider()
    digest = puller_of(made).registries.look(parse(image)).digest
    assert digest.startswith("sha256:")
    assert greeting(made, image) == ("hello", digest)
    seen = len(front.seen)
    assert greeting(provider(), image) == ("hello", digest)
    assert len(front.seen) == seen
    assert waits == []


def test_a_registry_is_given_the_time_it_asks_for(
    provider: Callable[..., ApptainerProvider], publish: Publish, front: Proxy, waits: list[float]
) -> None:
    image = publish(shell_layer())
    front.trouble = lambda request: (429, {"Retry-After": "7"}) if "/manifests/" in request.path else None
    with pytest.raises(ImageUnavailable, match="limits pulls"):
        puller_of(provider(tries=2)).ready(image)
    assert len(waits) == 1
    assert waits[0] >= 7


def test_a_registry_in_trouble_is_asked_again(
    provider: Callable[..., ApptainerProvider], publish: Publish, front: Proxy, waits: list[float]
) -> None:
    image = publish(shell_layer())
    asked = iter(range(1000))
    front.trouble = lambda request: (503, {}) if "/manifests/" in request.path and next(asked) < 6 else None
    assert puller_of(provider(tries=8)).ready(image).fetched
    assert 1 <= len(waits) < 7


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_is_refused_is_asked_for_once(
    provider: Callable[..., ApptainerProvider], front: Proxy, waits: list[float], status: int, tmp_path: Path
) -> None:
    front.trouble = lambda request: (status, {}) if "/manifests/" in request.path else None
    made = puller_of(provider())
    for _ in range(2):
        with pytest.raises(ImageUnavailable) as raised:
            made.ready(f"127.0.0.1:{front.port}/not/there:1")
        assert "\n" not in str(raised.value)
    assert sum(request.by_engine and "/manifests/" in request.path for request in front.seen) == 1
    assert waits == []
    assert not list((tmp_path / "state" / "pytest-swe" / "apptainer" / "images").glob("building-*"))


def test_a_hang_is_cut(provider: Callable[..., ApptainerProvider], publish: Publish, front: Proxy) -> None:
    image = publish(shell_layer())
    front.trouble = lambda request: "hang" if request.by_engine and "/blobs/" in request.path else None
    with pytest.raises(ImageUnavailable, match="nothing came"):
        puller_of(provider(tries=1, silence=2.0)).ready(image)


def test_a_mirror_is_asked_and_the_image_has_its_own_name(
    provider: Callable[..., ApptainerProvider], publish: Publish, front: Proxy
) -> None:
    image = publish(shell_layer(), hello())
    place = f"127.0.0.1:{front.port}"
    own = image.replace(place, "registry.invalid")
    assert greeting(provider(mirrors=Mirrors.of([f"registry.invalid={place}"])), own)[0] == "hello"
    assert greeting(provider(), own)[0] == "hello"


def test_everything_is_prepared_and_a_second_run_only_looks(
    rows: Rows, publish: Publish, front: Proxy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images = [publish(shell_layer(), large(8)), publish(shell_layer(), large(8))]
    missing = f"127.0.0.1:{front.port}/not/there:1"
    data = rows(*images, missing)
    assert main(["prepare", str(data), "--provider", "apptainer", "-j", "2"]) == 1
    said = capsys.readouterr().out
    assert "3 images, 0 there, 3 to prepare" in said
    assert "MiB more at work; of 1 images nobody told; free: " in said
    assert "[3/3]" in said
    assert f"missing: {missing} (for a__b-2): cannot pull" in said
    assert "2 of 3 images are there" in said
    assert len(built(tmp_path)) == 2
    seen = len(front.seen)
    assert main(["prepare", str(rows(*images)), "--provider", "apptainer"]) == 0
    assert "2 images, 2 there, 0 to prepare" in capsys.readouterr().out
    assert len(front.seen) == seen


def test_directories_where_they_are_asked_for(rows: Rows, publish: Publish, tmp_path: Path) -> None:
    option = ["--provider-option", "build=directory", "--provider-option", f"state={tmp_path / 'other'}"]
    assert main(["prepare", str(rows(publish(shell_layer(), hello()))), "--provider", "apptainer", *option]) == 0
    [tree] = (tmp_path / "other" / "apptainer" / "images").glob("tiny-*[!n]")
    assert (tree / "greeting").read_text() == "hello"


def test_what_a_killed_build_left_is_removed(rows: Rows, publish: Publish, tmp_path: Path) -> None:
    left = tmp_path / "state" / "pytest-swe" / "apptainer" / "images" / "building-left"
    left.mkdir(parents=True)
    (left / "part").write_bytes(b"x")
    assert main(["prepare", str(rows(publish(shell_layer()))), "--provider", "apptainer"]) == 0
    assert not left.exists()


def test_an_archive_of_several_gives_what_is_wanted(
    rows: Rows, publish: Publish, engine: docker.APIClient, tmp_path: Path, no_engine: Callable[[], None]
) -> None:
    images = [publish(shell_layer(), hello(str(number))) for number in range(3)]
    for image in images:
        engine.pull(image)
    subprocess.run(["docker", "save", "-o", tmp_path / "all.tar", *images], check=True)
    ids = [inspected(engine, image)["Id"] for image in images]
    no_engine()
    archive = ["--archive", str(tmp_path / "all.tar")]
    assert main(["prepare", str(rows(*images[1:])), "--provider", "apptainer", "-j", "2", *archive]) == 0
    assert len(built(tmp_path)) == 2
    assert greeting(ApptainerProvider(), images[2]) == ("2", f"local:{ids[2]}")


def test_a_bundle_needs_no_engine(
    rows: Rows, publish: Publish, engine: docker.APIClient, tmp_path: Path, no_engine: Callable[[], None],
    front: Proxy, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    images = [publish(shell_layer(), hello(str(number))) for number in range(2)]
    data = rows(*images)
    assert main(["prepare", str(data)]) == 0
    assert main(["bundle", "export", str(data), str(tmp_path / "bundle")]) == 0
    ids = [inspected(engine, image)["Id"] for image in images]
    no_engine()
    front.trouble = lambda request: (500, {})
    load = ["bundle", "import", str(tmp_path / "bundle"), "--provider", "apptainer"]
    assert main(load) == 0
    whole = [(path, path.stat().st_mtime_ns) for path in built(tmp_path)]
    assert len(whole) == 2
    assert main(load) == 0
    assert [(path, path.stat().st_mtime_ns) for path in built(tmp_path)] == whole
    capsys.readouterr()
    assert main(["prepare", str(data), "--provider", "apptainer"]) == 0
    assert "2 images, 2 there, 0 to prepare" in capsys.readouterr().out
    for number, image in enumerate(images):
        assert greeting(ApptainerProvider(), image) == (str(number), f"local:{ids[number]}")


def test_a_damaged_bundle_is_refused(
    rows: Rows, publish: Publish, tmp_path: Path, no_engine: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    data = rows(publish(shell_layer()))
    assert main(["prepare", str(data)]) == 0
    assert main(["bundle", "export", str(data), str(tmp_path / "bundle")]) == 0
    no_engine()
    with (tmp_path / "bundle" / "images.tar").open("r+b") as file:
        file.seek(3000)
        file.write(b"x")
    assert main(["bundle", "import", str(tmp_path / "bundle"), "--provider", "apptainer"]) == 2
    assert "damaged" in capsys.readouterr().err
    assert built(tmp_path) == []


def test_files_of_apptainer_are_no_bundle(
    rows: Rows, publish: Publish, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = rows(publish(shell_layer()))
    assert main(["prepare", str(data), "--provider", "apptainer"]) == 0
    assert main(["bundle", "export", str(data), str(tmp_path / "bundle"), "--provider", "apptainer"]) == 2
    assert "are files below" in capsys.readouterr().err
    assert not (tmp_path / "bundle").exists()


def test_a_dockerfile_is_built_by_an_engine_and_converted(
    tmp_path: Path, engine: docker.APIClient, made_here: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"registry.invalid/built-{uuid.uuid4().hex}"
    made_here += [f"{name}:1", f"{name}-base:1", f"{name}-shell:1"]
    content = saved(made_here[2], [shell_layer()], str(engine.version()["Arch"]))
    engine.load_image(content)  # type: ignore[no-untyped-call]
    place = task_repository(tmp_path / "repo", made_here[0], made_here[1])
    assert main(["prepare", str(place), "--base", made_here[2], "--provider", "apptainer"]) == 0
    assert "built" in capsys.readouterr().out
    made = ApptainerProvider().acquire(dataclasses.replace(SPEC, image=made_here[0]), labels={"run": "images"})
    try:
        assert made.exec(["cat", "/shared.txt"], timeout=60).stdout == b"from the root\n"
    finally:
        made.close()


def test_a_dockerfile_without_an_engine_is_told(
    tmp_path: Path, no_engine: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    no_engine()
    place = task_repository(tmp_path / "repo", "registry.invalid/built:1", "registry.invalid/base:1")
    assert main(["prepare", str(place), "--provider", "apptainer"]) == 1
    assert "nothing builds its Dockerfile" in capsys.readouterr().out


def test_the_engine_s_image_of_that_name_counts_before_an_older_one(
    provider: Callable[..., ApptainerProvider], engine: docker.APIClient, made_here: list[str]
) -> None:
    made_here.append(f"registry.invalid/twice-{uuid.uuid4().hex}:1")
    for text in ("first", "second", "first"):
        content = saved(made_here[0], [shell_layer(), hello(text)], str(engine.version()["Arch"]))
        engine.load_image(content)  # type: ignore[no-untyped-call]
        found, digest = greeting(provider(), made_here[0])
        assert (found, digest) == (text, f"local:{inspected(engine, made_here[0])['Id']}")


def test_the_longest_unused_goes_for_the_budget_but_not_from_under_a_sandbox(
    provider: Callable[..., ApptainerProvider], publish: Publish, tmp_path: Path
) -> None:
    images = [publish(shell_layer(), layer({"data": os.urandom(6 * 1024**2)})) for _ in range(3)]
    first = provider()
    standing = first.acquire(dataclasses.replace(SPEC, image=images[0]), labels={"run": "images"})
    puller_of(first).ready(images[1])
    records = puller_of(first).host.records()
    for number, image in enumerate(images[:2]):
        [record] = [each for each in records if each.image == image]
        os.utime(puller_of(first).host.path_of(record), (number, number))
    tight = provider(budget_mb=puller_of(first).engine.used_mb() + 3)
    puller_of(tight).ready(images[2])
    assert [puller_of(first).engine.find(image) is not None for image in images] == [True, False, True]
    assert len(built(tmp_path)) == 2
    standing.close()
    assert puller_of(first).engine.remove(images[0])
    assert len(built(tmp_path)) == 1


def test_a_run_takes_the_options_of_images(rows: Rows, publish: Publish, front: Proxy, tmp_path: Path) -> None:
    """The images have no git, so nothing is measured: that they came and went is what counts."""
    place = f"127.0.0.1:{front.port}"
    own = [publish(shell_layer(), layer({"data": os.urandom(6 * 1024**2)})) for _ in range(3)]
    own = [image.replace(place, "registry.invalid") for image in own]
    command = [sys.executable, "-m", "pytest", str(rows(*own)), "--swe-preds", "base", "-p", "no:cacheprovider"]
    command += ["--swe-run-id", "r", "--swe-retries", "0", "-n0", "--swe-provider", "apptainer"]
    command += ["--swe-image-mirror", f"registry.invalid={place}", "--swe-image-budget", "10m"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    lines = (tmp_path / "swe-results" / "r" / "rewards.jsonl").read_text().splitlines()
    assert len(lines) == 3, done.stdout + done.stderr
    for line in map(json.loads, lines):
        assert line["image_digest"].startswith("sha256:"), line
        assert line["phases_ms"]["pull"] > 0
    assert len(built(tmp_path)) == 1


def test_the_disk_is_looked_at(provider: Callable[..., ApptainerProvider], tmp_path: Path) -> None:
    free = provider().free_disk_mb()
    assert free is not None
    assert abs(free - shutil.disk_usage(tmp_path).free // 1024**2) < 1024
