"""The Docker provider when the engine is in trouble: not there, slow, dying, or cheated by the candidate."""

from __future__ import annotations

import contextlib
import http.server
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docker.utils
import pytest

from pytest_swe.errors import EngineUnavailable, SandboxLost, SweError
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.docker import DockerProvider

LABELS = {"run": f"trouble-{uuid.uuid4().hex}"}


@pytest.fixture
def spec(test_image: str) -> SandboxSpec:
    return SandboxSpec(image=test_image, workdir="/tmp", seconds=300)


def one_line(error: SweError) -> str:
    assert "\n" not in str(error)
    return str(error)


class Relay:
    """Stands between a client and the engine: holds answers back for ``delay`` seconds, and can cut everything."""

    def __init__(self, path: Path, engine: str, delay: float = 0.0) -> None:
        self.address = f"unix://{path}"
        self.delay = delay
        self.engine = engine
        self._open: list[socket.socket] = []
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def cut(self) -> None:
        """No connection survives this, and no new one is taken."""
        for end in (self._server, *self._open):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in (self._server, *self._open):
            end.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                engine = socket.socket(socket.AF_UNIX)
                engine.connect(self.engine)
                self._open += [client, engine]
                for pair in ((client, engine, 0.0), (engine, client, self.delay)):
                    thread = threading.Thread(target=self._forward, args=pair)
                    self._threads.append(thread)
                    thread.start()

    @staticmethod
    def _forward(source: socket.socket, target: socket.socket, delay: float) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if delay:
                    time.sleep(delay)
                    source.setblocking(False)
                    with contextlib.suppress(BlockingIOError):
                        data += source.recv(65536)
                    source.setblocking(True)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[Relay]:
    host = str(docker.utils.parse_host(docker.utils.kwargs_from_env().get("base_url")))
    made = Relay(tmp_path / "s", host.removeprefix("http+unix://"))
    yield made
    made.cut()


def test_no_engine_is_one_line_with_a_hint(spec: SandboxSpec, tmp_path: Path) -> None:
    provider = DockerProvider(host=f"unix://{tmp_path}/none.sock")
    with pytest.raises(EngineUnavailable) as raised:
        provider.check()
    assert "DOCKER_HOST" in one_line(raised.value)
    assert "none.sock" in str(raised.value)
    with pytest.raises(EngineUnavailable):
        provider.acquire(spec, labels=LABELS)
    with pytest.raises(EngineUnavailable):
        provider.sweep()
    provider.close()


def test_a_socket_that_nobody_listens_on(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "dead"))
    with pytest.raises(EngineUnavailable, match="nothing listens"):
        DockerProvider(host=f"unix://{tmp_path}/dead").check()


def test_something_else_that_listens(tmp_path: Path) -> None:
    class NotDocker(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *_: object) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), NotDocker) as server:
        threading.Thread(target=server.serve_forever).start()
        with pytest.raises(EngineUnavailable) as raised:
            DockerProvider(host=f"tcp://127.0.0.1:{server.server_port}").check()
        server.shutdown()
    one_line(raised.value)


@pytest.mark.docker
def test_output_that_comes_with_the_answer_is_not_lost(relay: Relay, spec: SandboxSpec) -> None:
    """Under load the first frames arrive together with the headers of the answer."""
    provider = DockerProvider(host=relay.address, pull=False)
    sandbox = provider.acquire(spec, labels=LABELS)
    relay.delay = 0.5
    with contextlib.closing(sandbox):
        for _ in range(2):
            result = sandbox.exec(["sh", "-c", "echo out; echo err >&2"], timeout=60)
            assert (result.exit_code, result.stdout, result.stderr) == (0, b"out\n", b"err\n")
    provider.close()


@pytest.mark.docker
def test_an_environment_that_changes_meanwhile_is_never_read(
    relay: Relay, spec: SandboxSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A walk through os.environ fails with KeyError when another thread removes a variable; pytest always does."""

    def walked() -> dict[str, str]:
        raise KeyError("PYTEST_CURRENT_TEST")

    monkeypatch.setattr("urllib.request.getproxies_environment", walked)
    monkeypatch.setattr("requests.utils.getproxies", walked)
    provider = DockerProvider(host=relay.address, pull=False)
    sandbox = provider.acquire(spec, labels={})
    try:
        assert sandbox.exec(["true"], timeout=30).exit_code == 0
    finally:
        sandbox.close()
        provider.close()


def test_an_engine_that_dies_during_a_command(relay: Relay, spec: SandboxSpec) -> None:
    provider = DockerProvider(host=relay.address, pull=False)
    sandbox = provider.acquire(spec, labels=LABELS)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(sandbox.exec, ["sleep", "60"], timeout=60)
        time.sleep(1)
        relay.cut()
        with pytest.raises(EngineUnavailable):
            running.result()
    with pytest.raises(EngineUnavailable):
        sandbox.exec(["true"], timeout=60)
    with pytest.raises(EngineUnavailable):
        sandbox.read_file("/etc/passwd")
    sandbox.close()
    provider.close()
    direct = DockerProvider()
    assert direct.sweep(LABELS) == 1
    direct.close()


@pytest.mark.docker
def test_an_engine_that_came_back_is_used_again(relay: Relay, tmp_path: Path) -> None:
    provider = DockerProvider(host=relay.address)
    line = provider.check()
    relay.cut()
    with pytest.raises(EngineUnavailable):
        provider.check()
    (tmp_path / "s").unlink()
    again = Relay(tmp_path / "s", relay.engine)
    assert provider.check() == line
    provider.close()
    again.cut()


@pytest.mark.docker
def test_a_sandbox_whose_killer_was_replaced(spec: SandboxSpec) -> None:
    """The candidate is root and put another program in place of the shell: its container is killed instead."""
    provider = DockerProvider(pull=False)
    with contextlib.closing(provider.acquire(spec, labels=LABELS)) as sandbox:
        sandbox.exec(["sh", "-c", "cp /bin/true /bin/new && mv /bin/new /bin/sh"], timeout=60)
        result = sandbox.exec(["sleep", "600"], timeout=1)
        assert (result.timed_out, result.exit_code) == (True, None)
        with pytest.raises(SandboxLost):
            sandbox.exec(["true"], timeout=60)
    provider.close()


@pytest.mark.docker
def test_an_engine_remembers_where_it_ran_commands(spec: SandboxSpec) -> None:
    """By that a container which ended, and forgot its commands, is told from an engine that was restarted."""
    provider = DockerProvider(pull=False)
    engine = provider._pool.links[0].engine()
    with contextlib.closing(provider.acquire(spec, labels=LABELS)) as sandbox:
        before = engine.remembers(sandbox.id)
        sandbox.exec(["true"], timeout=60)
        engine.kill(sandbox.id)
        assert (before, engine.remembers(sandbox.id)) == (False, True)
    provider.close()
