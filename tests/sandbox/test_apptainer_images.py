"""Images of the provider ``apptainer``: found by one exact path, built once; on a tiny image made of busybox."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import platform
import shutil
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_swe import registry
from pytest_swe.errors import ImageUnavailable, Unsupported, UsageError
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.apptainer import ApptainerProvider
from pytest_swe.sandbox.apptainer_images import full_name
from pytest_swe.sandbox.images.archives import id_in
from pytest_swe.testing.conformance.fixtures import SOON, new_labels, shell

pytestmark = [pytest.mark.apptainer, pytest.mark.busybox]

APPLETS = ("sh", "cat", "id", "ls", "sleep", "true", "env")


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the archive of ``tiny/box:1``, as ``docker save`` writes it."""
    folder = tmp_path_factory.mktemp("images")
    config = {
        "architecture": {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()],
        "os": "linux",
        "config": {"Env": ["PATH=/bin", "GREETING=hello you"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer()).hexdigest()}"]},
    }
    text = json.dumps(config).encode()
    name = f"{hashlib.sha256(text).hexdigest()}.json"
    manifest = [{"Config": name, "RepoTags": ["tiny/box:1"], "Layers": ["layer.tar"]}]
    (folder / "tiny").mkdir()
    with tarfile.open(folder / "tiny" / "box:1.tar", "w") as tar:
        put(tar, name, text)
        put(tar, "layer.tar", layer())
        put(tar, "manifest.json", json.dumps(manifest).encode())
    return folder


@functools.cache
def layer() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.add(str(shutil.which("busybox")), "bin/busybox")
        for name in APPLETS:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
        put(tar, "etc/passwd", b"root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/:/bin/sh\n")
        put(tar, "etc/kept", b"x")
    return out.getvalue()


def put(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


@pytest.fixture
def counted(tmp_path: Path) -> tuple[str, Path]:
    """apptainer, with a file that gets a line for each build."""
    program, log = tmp_path / "counted", tmp_path / "builds"
    program.write_text(
        f"#!/bin/sh\n[ \"$2\" != build ] || echo build >> '{log}'\nexec '{shutil.which('apptainer')}' \"$@\"\n"
    )
    program.chmod(0o755)
    return str(program), log


SPEC = SandboxSpec(image="tiny/box:1", workdir="/work", seconds=300)


@pytest.mark.parametrize("build", ["sif", "directory"])
def test_an_archive_is_built_once_for_all(build: str, images: Path, tmp_path: Path, counted: tuple[str, Path]) -> None:
    program, log = counted

    def live(_: int) -> str:
        # A provider each: as processes of a run, they share nothing but the folder.
        provider = ApptainerProvider(program=program, images=images, state=tmp_path / "state", build=build)
        made = provider.acquire(SPEC, labels=new_labels())
        try:
            assert made.image.digest == f"local:{id_in(images / 'tiny' / 'box:1.tar', 'tiny/box:1')}"
            return shell(made, 'cat /etc/kept; echo "$GREETING"; id -u')
        finally:
            made.close()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(live, range(4))) == {"xhello you\n0\n"}
    assert log.read_text() == "build\n"
    left = sorted(path.suffix for path in (tmp_path / "state" / "apptainer" / "images").glob("box*"))
    assert left == (["", ".json"] if build == "directory" else [".json", ".sif"])
    assert not list((tmp_path / "state" / "apptainer" / "images").glob("building-*"))


def test_a_ready_image_is_taken_as_it_is(images: Path, tmp_path: Path, counted: tuple[str, Path]) -> None:
    program, log = counted
    builder = ApptainerProvider(images=images, state=tmp_path / "state")
    builder.acquire(SPEC, labels=new_labels()).close()
    [built] = (tmp_path / "state" / "apptainer" / "images").glob("box*.sif")
    ready = tmp_path / "ready" / "tiny"
    ready.mkdir(parents=True)
    built.rename(ready / "box:1.sif")
    provider = ApptainerProvider(program=program, images=tmp_path / "ready", state=tmp_path / "other")
    for image in ("tiny/box:1", "docker://tiny/box:1", str(ready / "box:1.sif")):
        made = provider.acquire(SandboxSpec(image=image, workdir="/work", seconds=300), labels=new_labels())
        assert shell(made, "cat /etc/kept") == "x"
        made.close()
    assert not log.exists()


@pytest.mark.parametrize("image", ["tiny/box:10", "tiny/bo", "box:1", "/no/such/file.sif"])
def test_nothing_near_is_taken(image: str, images: Path, tmp_path: Path) -> None:
    provider = ApptainerProvider(images=images, state=tmp_path / "state")
    with pytest.raises(ImageUnavailable) as raised:
        provider.acquire(SandboxSpec(image=image, workdir="/work", seconds=300), labels=new_labels())
    assert "\n" not in str(raised.value)
    folder = tmp_path / "state" / "apptainer"
    assert not list((folder / "images").glob("building-*"))
    assert not list((folder / "sandboxes").glob("*"))


@pytest.mark.parametrize("image", ["", "../x", "a/../b", "a//b", "a\0b", "./a"])
def test_what_is_no_name_is_refused(image: str) -> None:
    with pytest.raises(ImageUnavailable):
        full_name(image)


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("a/b", "a/b:latest"),
        ("a/b:1", "a/b:1"),
        ("docker://a", "a:latest"),
        ("host:5000/a", "host:5000/a:latest"),
        ("a@sha256:0", "a@sha256:0"),
    ],
)
def test_a_name_has_its_tag(image: str, expected: str) -> None:
    assert full_name(image) == expected


def test_what_is_no_archive_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(b"no tar at all" * 100)
    with pytest.raises(UsageError, match="docker save"):
        id_in(tmp_path / "x.tar", "a/b:1")


def test_a_user_that_the_image_cannot_become_is_refused(images: Path, tmp_path: Path) -> None:
    provider = ApptainerProvider(images=images, state=tmp_path / "state")
    made = provider.acquire(SPEC, labels=new_labels())
    with pytest.raises(Unsupported, match=r"setpriv|only root has users"):
        made.exec(["id"], user="ann", timeout=SOON)
    made.close()


@pytest.mark.parametrize("option", ["build=docker", "state=/tmp/a:b"])
def test_an_option_that_cannot_be_used_is_told(option: str) -> None:
    with pytest.raises(UsageError, match=option.partition("=")[0]):
        registry.provider("apptainer", [option])
