"""Small images in a real registry, and a client that remembers how long it was told to wait instead of waiting."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import shutil
import tarfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import pytest
from registries import Proxy, proxy, registry

from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.images.pull import Puller, PullPolicy

Publish = Callable[..., str]


@pytest.fixture(scope="session")
def engine() -> Iterator[docker.APIClient]:
    client = docker.DockerClient.from_env().api
    yield client
    client.close()


@pytest.fixture(scope="session")
def registry_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with registry(tmp_path_factory.mktemp("registry")) as port:
        yield port


@pytest.fixture
def front(registry_port: int) -> Iterator[Proxy]:
    """The proxy, which passes everything on until it is told otherwise."""
    with proxy(registry_port) as made:
        yield made


def inspected(engine: docker.APIClient, image: str) -> dict[str, Any]:
    found: dict[str, Any] = engine.inspect_image(image)  # type: ignore[no-untyped-call]
    return found


def layer(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o755
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def shell_layer() -> bytes:
    """All that a sandbox needs."""
    busybox = shutil.which("busybox")
    assert busybox
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.add(busybox, "bin/busybox")
        for name in ("sh", "sleep", "cat", "true"):
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
    return out.getvalue()


def saved(name: str, layers: list[bytes], architecture: str) -> bytes:
    """An image as ``docker save`` writes it."""
    ids = ["sha256:" + hashlib.sha256(each).hexdigest() for each in layers]
    about: dict[str, Any] = {"architecture": architecture, "os": "linux", "config": {}}
    about["rootfs"] = {"type": "layers", "diff_ids": ids}
    about["history"] = [{"created": "2024-01-01T00:00:00Z"} for _ in layers]
    names = [f"{number}.tar" for number in range(len(layers))]
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": names}]
    parts = dict(zip(names, layers, strict=True))
    parts |= {"config.json": json.dumps(about).encode(), "manifest.json": json.dumps(manifest).encode()}
    return layer(parts)


@pytest.fixture
def publish(engine: docker.APIClient, registry_port: int, front: Proxy) -> Iterator[Publish]:
    """Put an image of some layers into the registry; returns its name through the proxy. The engine has it no more."""
    made: list[str] = []

    def put(*layers: bytes) -> str:
        path = f"tiny-{uuid.uuid4().hex}"
        direct = f"127.0.0.1:{registry_port}/{path}:1"
        unique = layer({f"unique-{path}": b""})
        engine.load_image(saved(direct, [*layers, unique], str(engine.version()["Arch"])))  # type: ignore[no-untyped-call]
        for line in engine.push(direct, stream=True, decode=True):
            assert "error" not in line, line
        engine.remove_image(direct)
        made.append(f"127.0.0.1:{front.port}/{path}:1")
        return made[-1]

    yield put
    for name in made:
        with contextlib.suppress(docker.errors.NotFound):
            engine.remove_image(name, force=True)


@dataclass
class Client:
    """A puller of this test, and the waits that it was asked for."""

    provider: DockerProvider
    waits: list[float] = field(default_factory=list)

    @property
    def images(self) -> Puller:
        [connect] = self.provider.images().values()
        return connect()


MakeClient = Callable[..., Client]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[MakeClient]:
    """Make a client with a policy of its own. What it notes about this host is in the test's directory."""
    made: list[Client] = []

    def make(**policy: Any) -> Client:
        waits: list[float] = []
        settings = {"directory": tmp_path / "state", "wanted": frozenset, "sleep": waits.append, **policy}
        made.append(Client(DockerProvider(policy=PullPolicy(**settings)), waits))
        return made[-1]

    yield make
    for each in made:
        each.provider.close()
