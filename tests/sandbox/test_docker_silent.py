"""An engine that takes connections and never says a word: asked once, and then left alone for a while."""

from __future__ import annotations

import contextlib
import socket
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_swe.errors import EngineUnavailable
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox import docker_transport
from pytest_swe.sandbox.docker import DockerProvider


class Silent:
    """Listens at ``address`` and keeps what it accepted open; ``accepted`` are its connections."""

    def __init__(self, path: Path) -> None:
        self.address = f"unix://{path}"
        self.accepted: list[socket.socket] = []
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        for end in (self._server, *self.accepted):
            end.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self.accepted.append(self._server.accept()[0])


@pytest.fixture
def silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Silent]:
    monkeypatch.setattr(docker_transport, "FIRST_ANSWER", 0.5)
    made = Silent(tmp_path / "s")
    yield made
    made.close()


def test_each_sandbox_is_refused_but_only_the_first_waits(silent: Silent) -> None:
    provider = DockerProvider(host=silent.address, pull=False, patience=0)
    tries = []
    for _ in range(5):
        with pytest.raises(EngineUnavailable, match="timed out") as raised:
            provider.acquire(SandboxSpec(image="any:1"), labels={})
        assert "restart the engine, or name another" in raised.value.hint
        tries.append(len(silent.accepted))
    assert tries == tries[:1] * 5
    provider.close()


@pytest.mark.docker
def test_a_pool_goes_on_with_the_others(silent: Silent, test_image: str) -> None:
    own = DockerProvider()
    engine = own._pool.links[0].engine().endpoint.address
    labels = {"run": f"silent-{uuid.uuid4().hex}"}
    provider = DockerProvider(hosts=[silent.address, engine], pull=False)
    line = provider.check()
    assert line.startswith("left out: the Docker engine does not answer")
    assert f"no answer came from {silent.address} in time" in line
    assert engine in line
    tries = len(silent.accepted)
    for _ in range(3):
        with contextlib.closing(provider.acquire(SandboxSpec(image=test_image), labels=labels)) as made:
            assert made.exec(["true"], timeout=60).exit_code == 0
    assert len(silent.accepted) == tries
    provider.close()
    own.close()
