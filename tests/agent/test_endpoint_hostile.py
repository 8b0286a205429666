"""An agent that is root in its sandbox attacks the endpoint: it harms itself, the host goes on."""

from __future__ import annotations

import ast
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from endpoint_parts import PROCESSES, ask, shell
from scripted_model import Canned, ScriptedModel

import pytest_swe.agent.endpoint
from pytest_swe.agent.endpoint.connection import Connections
from pytest_swe.agent.endpoint.gate import ModelGate
from pytest_swe.agent.endpoint.routes import Limits, ModelRoute
from pytest_swe.agent.endpoint.wire import Request
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.docker import DockerProvider

SCRIPTS = Path(pytest_swe.agent.endpoint.__file__).parent

KILL_RELAY = """
for place in /proc/[0-9]*; do
  grep -q relay.py $place/cmdline && test ${place#/proc/} != $$ && kill -9 ${place#/proc/}
done; true
"""
REPLACE = "for place in /pytest-swe/model-*; do cat >$place/errand.py; done"


@pytest.fixture(scope="module")
def provider() -> Iterator[DockerProvider]:
    made = DockerProvider(pull=False)
    yield made
    made.close()


@pytest.fixture
def sandbox(provider: DockerProvider, test_image: str) -> Iterator[Sandbox]:
    made = provider.acquire(SandboxSpec(image=test_image, workdir="/"), labels={"instance": "hostile"})
    yield made
    made.close()


@pytest.fixture
def gates() -> Iterator[Callable[..., ModelGate]]:
    made: list[ModelGate] = []

    def make(url: str, limits: Limits | None = None, calls: int | None = None) -> ModelGate:
        made.append(ModelGate([ModelRoute(url=url, protocol="openai", calls=calls)], limits=limits))
        return made[-1]

    yield make
    for gate in made:
        gate.close()


Gates = Callable[..., ModelGate]


def pump_has_ended() -> bool:
    return not [thread for thread in threading.enumerate() if thread.name == "swe-model-pump"]


def soon(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + 240
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return holds()


@pytest.mark.docker
def test_a_relay_that_is_killed_comes_back(sandbox: Sandbox, gates: Gates) -> None:
    with ScriptedModel() as model:
        gate = gates(model.url)
        with gate.opened(sandbox) as opened:
            shell(sandbox, KILL_RELAY)
            assert soon(lambda: ask(opened)[0].status == 200)
            # So does one that died of a command's time-out, with which everything in a sandbox ends.
            assert sandbox.exec(["sleep", "60"], timeout=0.1).timed_out
            assert soon(lambda: ask(opened)[0].status == 200)
        assert any("started anew" in note for note in gate.notes)
        assert gate.trouble is None


@pytest.mark.docker
@pytest.mark.parametrize(
    "script",
    [
        b"print('no request')",
        b"import sys; sys.stdout.write('x' * 20_000_000)",
        b"import sys; sys.exit(11)",
        b"import os; os.write(1, b'{\"length\": -1}\\n')",
        b"import os; os.kill(os.getpid(), 9)",
    ],
    ids=["words", "flood", "gone", "header", "killed"],
)
def test_errands_that_lie_are_given_up(sandbox: Sandbox, gates: Gates, script: bytes) -> None:
    with ScriptedModel() as model:
        gate = gates(model.url)
        with gate.opened(sandbox):
            sandbox.exec(["sh", "-c", REPLACE], stdin=script, timeout=60)
            # Its command that waits is the old script still.
            shell(sandbox, KILL_RELAY)
            assert soon(pump_has_ended)
        assert gate.notes[-1] == "the model endpoint has given the sandbox up"
        assert len(gate.notes) < 60
        assert model.seen == []


@pytest.mark.docker
def test_a_flood_waits_outside_of_the_host(sandbox: Sandbox, gates: Gates) -> None:
    busy, most = [0], [0]
    lock = threading.Lock()

    def body(seen: object) -> bytes:
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        time.sleep(0.1)
        with lock:
            busy[0] -= 1
        return b"{}"

    with ScriptedModel([Canned(body=body)]) as model:
        with gates(model.url, Limits(parallel=3), calls=6).opened(sandbox) as opened:
            found = [one.status for one in ask(opened, count=120, parallel=120)]
        assert set(found) <= {0, 200, 429, 503}
        assert found.count(200) == 6
        assert len(model.seen) == 6
        assert most[0] <= 3


@pytest.mark.docker
def test_endless_bodies_and_idle_connections_cost_the_host_nothing(sandbox: Sandbox, gates: Gates) -> None:
    idle = """
import socket, sys, time
made = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(200)]
for number, one in enumerate(made):
    one.sendall((b"POST / HTTP/1.1\\r\\nContent-Length: 1000\\r\\n\\r\\nabc", b"POST / HT", b"")[number % 3])
print("idle", flush=True)
time.sleep(300)
"""
    with ScriptedModel() as model, gates(model.url, Limits(request_bytes=1_000_000)).opened(sandbox) as opened:
        port = opened.endpoint.url.split(":")[2].split("/")[0]
        shell(
            sandbox, f"python3 -c '{idle}' {port} >/tmp/idle 2>&1 & while ! grep -q idle /tmp/idle; do sleep 0.1; done"
        )
        assert ask(opened)[0].status == 200
        # A length of two gigabytes is refused before anything of it is read.
        told = ask(opened, b"x", headers={"Content-Length": "2000000000"})[0]
        assert told.status in (413, 0)
        large = ask(opened, b"0123456789", times_body=150_000)[0]
        assert (large.status, "1000000 bytes" in large.body) == (413, True)
        assert ask(opened, b"0123456789", times_body=150_000, chunked=True)[0].status == 413
        assert ask(opened)[0].status == 200
        assert len(model.seen) == 2


@pytest.mark.docker
def test_a_sandbox_that_goes_away_ends_the_pump(sandbox: Sandbox, gates: Gates) -> None:
    with ScriptedModel() as model:
        gate = gates(model.url)
        with gate.opened(sandbox):
            sandbox.close()
            assert soon(pump_has_ended)
        assert gate.notes


@pytest.mark.docker
def test_a_relay_that_is_stopped_is_ended_all_the_same(sandbox: Sandbox, gates: Gates) -> None:
    with ScriptedModel() as model, gates(model.url).opened(sandbox) as opened:
        assert ask(opened)[0].status == 200
        shell(sandbox, KILL_RELAY.replace("-9", "-STOP"))
    assert "relay.py" not in shell(sandbox, PROCESSES)
    assert "model-" not in shell(sandbox, "ls -A /pytest-swe")


@pytest.mark.docker
def test_a_name_of_the_relay_can_be_anything(sandbox: Sandbox, gates: Gates) -> None:
    """What else may stand where the socket and the directory were: the host reads none of it."""
    with ScriptedModel() as model, gates(model.url).opened(sandbox):
        shell(sandbox, "cd /pytest-swe/model-* && rm socket && mkfifo socket && ln -sf /dev/zero pid; " + KILL_RELAY)
        shell(sandbox, "cd /pytest-swe && for place in model-*; do mv $place kept; ln -s /proc $place; done")
    assert sandbox.exec(["true"], timeout=60).exit_code == 0


@pytest.mark.parametrize("value", ["a\r\nX-Other: b", "\ud800", "\0", "x" * 100_000, "é"], ids=range(5))
def test_no_request_breaks_the_service(gates: Gates, value: str) -> None:
    with ScriptedModel() as model:
        gate = gates(model.url)
        service = gate._services["policy"]
        headers = {"accept": value, "content-type": value, "anthropic-version": value}
        path = f"/{service.prefix}/v1/chat/completions"
        asked = Request(id=value, method="POST", path=path, headers=headers, body=json.dumps({value: value}).encode())
        assert service.answer(asked, Connections()).status == 200
        assert (
            service.answer(Request(id=value, method=value, path=value, headers=headers, body=b""), Connections()).status
            == 404
        )
        assert "x-other" not in model.seen[0].headers
        assert model.seen[0].json == {value: value}


@pytest.mark.parametrize("name", ["relay.py", "errand.py"])
def test_what_runs_inside_needs_an_old_python_and_nothing_else(name: str) -> None:
    tree = ast.parse((SCRIPTS / name).read_text(), feature_version=(3, 6))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.module in ("_socket",)
        if isinstance(node, ast.Import):
            assert not {alias.name.split(".")[0] for alias in node.names} & {"pytest_swe", "__future__"}
