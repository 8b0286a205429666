"""Images that the Docker provider cannot have, or cannot start; and pulls from a registry that is in the test."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import http.server
import io
import json
import tarfile
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest
import tenacity

from pytest_swe.errors import ImageUnavailable, SandboxStartFailed, SweError
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox import docker_start
from pytest_swe.sandbox.docker import DockerProvider

pytestmark = pytest.mark.docker

Load = Callable[[dict[str, bytes], str], str]
LABELS = {"run": f"images-{uuid.uuid4().hex}"}


@pytest.fixture
def engine() -> Iterator[docker.APIClient]:
    client = docker.DockerClient.from_env().api
    yield client
    client.close()


@pytest.fixture
def spec(test_image: str) -> SandboxSpec:
    return SandboxSpec(image=test_image, workdir="/tmp", seconds=300)


def one_line(error: SweError) -> str:
    assert "\n" not in str(error)
    return str(error)


@pytest.mark.filterwarnings("ignore:docker-credential")
def test_credentials_that_cannot_be_read(spec: SandboxSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text('{"credsStore": "there-is-no-such-helper"}')
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    provider = DockerProvider()
    with pytest.raises(ImageUnavailable) as raised:
        provider.acquire(dataclasses.replace(spec, image="127.0.0.1:9/no/image:1"), labels=LABELS)
    assert "there-is-no-such-helper" in one_line(raised.value)
    provider.close()


def test_a_missing_image_is_one_line(spec: SandboxSpec) -> None:
    provider = DockerProvider(pull=False)
    with pytest.raises(ImageUnavailable) as raised:
        provider.acquire(dataclasses.replace(spec, image="no.such/image:1"), labels=LABELS)
    assert "docker pull no.such/image:1" in one_line(raised.value)
    provider.close()


@pytest.mark.parametrize("image", ["Upper/Case", "a b", "", "x:y:z", "-"])
def test_a_name_that_is_no_image_is_one_line(spec: SandboxSpec, image: str) -> None:
    provider = DockerProvider()
    with pytest.raises(ImageUnavailable) as raised:
        provider.acquire(dataclasses.replace(spec, image=image), labels=LABELS)
    one_line(raised.value)
    provider.close()


def tar_of(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o755
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def digest(blob: bytes) -> str:
    return "sha256:" + hashlib.sha256(blob).hexdigest()


def image_of(files: dict[str, bytes], architecture: str) -> tuple[bytes, bytes]:
    """Layer and configuration of an image."""
    layer = tar_of(files)
    about = {
        "architecture": architecture,
        "os": "linux",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
    }
    return layer, json.dumps(about).encode()


@pytest.fixture
def architecture(engine: docker.APIClient) -> str:
    return str(engine.version()["Arch"])


@pytest.fixture
def loaded(engine: docker.APIClient) -> Iterator[Load]:
    """Make an image of a few files for an architecture, without a registry; removed after the test."""
    made: list[str] = []

    def make(files: dict[str, bytes], architecture: str) -> str:
        name = f"pytest-swe/trouble-{uuid.uuid4().hex}:1"
        layer, config = image_of(files, architecture)
        manifest = json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
        parts = {"config.json": config, "layer.tar": layer, "manifest.json": manifest}
        list(engine.load_image(tar_of(parts)))  # type: ignore[no-untyped-call]
        made.append(name)
        return name

    yield make
    for name in made:
        engine.remove_image(name, force=True)


def test_an_image_without_a_shell(spec: SandboxSpec, loaded: Load, architecture: str) -> None:
    provider = DockerProvider(pull=False)
    image = loaded({"etc/nothing": b""}, architecture)
    with pytest.raises(SandboxStartFailed) as raised:
        provider.acquire(dataclasses.replace(spec, image=image), labels=LABELS)
    assert "an image needs /bin/sh" in one_line(raised.value)
    assert provider.sweep(LABELS) == 0
    provider.close()


#: A program for RISC-V, as far as the kernel reads it.
FOREIGN_PROGRAM = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xf3\x00" + bytes(200)


def test_an_image_of_another_architecture(spec: SandboxSpec, loaded: Load) -> None:
    image = loaded({"bin/sh": FOREIGN_PROGRAM}, "riscv64")
    provider = DockerProvider(pull=False)
    with pytest.raises(ImageUnavailable) as raised:
        provider.acquire(dataclasses.replace(spec, image=image), labels=LABELS)
    assert "linux/riscv64" in one_line(raised.value)
    assert provider.sweep(LABELS) == 0
    provider.close()


def test_an_image_whose_first_process_ends_at_once(spec: SandboxSpec, loaded: Load, architecture: str) -> None:
    """Programs of another machine in an image that says it is for this one."""
    image = loaded({"bin/sh": FOREIGN_PROGRAM}, architecture)
    provider = DockerProvider(pull=False)
    with pytest.raises(SandboxStartFailed) as raised:
        sandbox = provider.acquire(dataclasses.replace(spec, image=image), labels=LABELS)
        sandbox.exec(["true"], timeout=60)
    assert "architecture" in one_line(raised.value)
    assert "exec format error" in str(raised.value)
    assert provider.sweep(LABELS) == 1
    provider.close()


class Registry:
    """A registry with one image of nothing, which first answers ``refusals`` times with one HTTP status."""

    def __init__(self, architecture: str, refusals: int, status: int, code: str) -> None:
        layer, config = image_of({"nothing": b""}, architecture)
        manifest = json.dumps(
            {
                "schemaVersion": 2,
                "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
                "config": self._part("application/vnd.docker.container.image.v1+json", config),
                "layers": [self._part("application/vnd.docker.image.rootfs.diff.tar", layer)],
            }
        ).encode()
        blobs = {digest(blob): blob for blob in (layer, config, manifest)}
        self.asked = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if "/manifests/" in self.path and self.command == "HEAD":
                    outer.asked += 1
                if "/manifests/" in self.path and outer.asked <= refusals:
                    body, kind = json.dumps({"errors": [{"code": code, "message": "slow down"}]}).encode(), "json"
                    return self._answer(status, body, f"application/{kind}")
                if "/manifests/" in self.path:
                    return self._answer(200, manifest, "application/vnd.docker.distribution.manifest.v2+json")
                found = blobs.get(self.path.rpartition("/")[2], b"")
                return self._answer(200, found, "application/octet-stream")

            do_HEAD = do_GET

            def _answer(self, status: int, body: bytes, kind: str) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Docker-Content-Digest", digest(body))
                self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.image = f"127.0.0.1:{self._server.server_port}/tiny-{uuid.uuid4().hex}:1"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @staticmethod
    def _part(kind: str, blob: bytes) -> dict[str, str | int]:
        return {"mediaType": kind, "size": len(blob), "digest": digest(blob)}


OpenRegistry = Callable[[int, int, str], Registry]


@pytest.fixture
def registry(architecture: str) -> Iterator[OpenRegistry]:
    with contextlib.ExitStack() as stack:

        def make(refusals: int, status: int, code: str) -> Registry:
            made = Registry(architecture, refusals, status, code)
            stack.callback(made.close)
            return made

        yield make


@pytest.fixture
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker_start, "PULL_WAIT", tenacity.wait_none())


@pytest.mark.usefixtures("without_waiting")
@pytest.mark.parametrize(("status", "code"), [(429, "TOOMANYREQUESTS"), (503, "UNAVAILABLE")])
def test_a_pull_is_tried_again(
    registry: OpenRegistry,
    spec: SandboxSpec,
    engine: docker.APIClient,
    status: int,
    code: str,
) -> None:
    """The image has no shell: that it does not start shows that it came."""
    made = registry(2, status, code)
    provider = DockerProvider()
    try:
        with pytest.raises(SandboxStartFailed, match="/bin/sh"):
            provider.acquire(dataclasses.replace(spec, image=made.image), labels=LABELS)
        assert made.asked == 3
    finally:
        provider.close()
        engine.remove_image(made.image)


@pytest.mark.usefixtures("without_waiting")
def test_a_pull_ends_with_one_line(registry: OpenRegistry, spec: SandboxSpec) -> None:
    made = registry(99, 429, "TOOMANYREQUESTS")
    provider = DockerProvider(pull_tries=3)
    with pytest.raises(ImageUnavailable) as raised:
        provider.acquire(dataclasses.replace(spec, image=made.image), labels=LABELS)
    assert made.asked == 3
    assert "limits pulls" in one_line(raised.value)
    provider.close()


def test_what_is_not_there_is_asked_for_once(registry: OpenRegistry, spec: SandboxSpec) -> None:
    made = registry(99, 404, "MANIFEST_UNKNOWN")
    provider = DockerProvider()
    with pytest.raises(ImageUnavailable) as raised:
        provider.acquire(dataclasses.replace(spec, image=made.image), labels=LABELS)
    assert made.asked == 1
    one_line(raised.value)
    provider.close()
