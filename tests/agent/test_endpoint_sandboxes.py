"""The endpoint where agents are: in real sandboxes of several providers, with no network."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from endpoint_parts import PROCESSES, ask, shell
from scripted_model import Canned, ScriptedModel, openai_stream, openai_text, packed

from pytest_swe.agent.endpoint.gate import ModelGate
from pytest_swe.agent.endpoint.routes import Limits, ModelRoute
from pytest_swe.errors import Unsupported, UsageError
from pytest_swe.model import SandboxSpec, Tree
from pytest_swe.sandbox.base import Sandbox, SandboxProvider
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.local import LocalProvider
from pytest_swe.sandbox.podman import PodmanProvider

KEY = "sk-planted-in-the-host-0123456789"


def containers(make: Callable[[], SandboxProvider], image: str) -> Iterator[Sandbox]:
    provider = make()
    sandbox = provider.acquire(SandboxSpec(image=image, workdir="/"), labels={"instance": "endpoint"})
    yield sandbox
    sandbox.close()
    provider.close()


def directories(folder: Path, *, isolate: bool) -> Iterator[Sandbox]:
    tree = folder / "tree"
    tree.mkdir()
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=trunk"]

    def git(*arguments: str) -> bytes:
        return subprocess.run(["git", *identity, *arguments], cwd=tree, capture_output=True, check=True).stdout

    git("init")
    git("commit", "--allow-empty", "-m", "base")
    commit = git("rev-parse", "HEAD").decode().strip()
    (folder / "export").write_bytes(git("fast-export", "--all"))
    spec = SandboxSpec(image="none", tree=Tree(export=folder / "export", commit=commit), trusted=True)
    sandbox = LocalProvider(state=folder / "state", isolate=isolate).acquire(spec, labels={"instance": "endpoint"})
    yield sandbox
    sandbox.close()


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("docker", marks=pytest.mark.docker),
        pytest.param("podman", marks=pytest.mark.podman),
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
        "plain",
    ],
)
def sandbox(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, test_image: str
) -> Iterator[Sandbox]:
    """One for all tests of a provider: each opens an endpoint of its own and leaves nothing."""
    if request.param == "docker":
        yield from containers(lambda: DockerProvider(pull=False), test_image)
    elif request.param == "podman":
        yield from containers(lambda: PodmanProvider(pull=False), test_image)
    else:
        yield from directories(tmp_path_factory.mktemp("local"), isolate=request.param == "bubblewrap")


@pytest.fixture
def docker_sandbox(test_image: str) -> Iterator[Sandbox]:
    yield from containers(lambda: DockerProvider(pull=False), test_image)


Make = Callable[..., ModelGate]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setenv("A_KEY", KEY)
    made: list[ModelGate] = []

    def build(*urls: str, limits: Limits | None = None, **route: str) -> ModelGate:
        names = ("policy", "user")
        routes = [
            ModelRoute(url=url, protocol="openai", key_variable="A_KEY", route=name, **route)  # type: ignore[arg-type]
            for name, url in zip(names, urls, strict=False)
        ]
        made.append(ModelGate(routes, calls_file=tmp_path / "calls.jsonl", limits=limits or Limits(first_pause=0.01)))
        return made[-1]

    yield build
    for gate in made:
        gate.close()


def test_an_agent_reaches_its_model(sandbox: Sandbox, make: Make) -> None:
    with ScriptedModel([openai_text("first"), openai_text("second"), Canned(status=400, body=b"no")]) as model:
        gate = make(model.url, model="chosen")
        with gate.opened(sandbox) as opened:
            assert opened.endpoint.model == "chosen"
            assert opened.endpoint.url.endswith("/policy")
            got = ask(opened, headers={"Authorization": "Bearer none"}, count=3)
            assert [one.status for one in got] == [200, 200, 400]
            assert [one.json["choices"][0]["message"]["content"] for one in got[:2]] == ["first", "second"]
            assert got[2].body == "no"
            # A second command, with other things than a chat: a list by GET, a path that is none.
            assert ask(opened, b"", call="/models", method="GET")[0].status == 400
            assert ask(opened, call="/v1/files")[0].status == 404
        assert model.seen[0].headers["authorization"] == f"Bearer {KEY}"
        assert (gate.usage().calls, gate.counts().refused, gate.trouble, gate.notes) == (4, 1, None, ())


def test_what_was_opened_leaves_nothing(sandbox: Sandbox, make: Make) -> None:
    before = shell(sandbox, "ls -A /pytest-swe 2>/dev/null || ls -A $SWE_ROOT/pytest-swe")
    with ScriptedModel() as model, make(model.url).opened(sandbox) as opened:
        assert ask(opened)[0].status == 200
    script = "sh -c 'sleep 0.1'; ls -A /pytest-swe 2>/dev/null || ls -A $SWE_ROOT/pytest-swe"
    assert shell(sandbox, script).split() == [name for name in before.split() if "model-" not in name]
    running = shell(sandbox, PROCESSES)
    assert "relay.py" not in running
    assert "errand.py" not in running
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("swe-model")]


def test_large_and_binary_bodies_pass(sandbox: Sandbox, make: Make) -> None:
    text = "x" * 10_000_000
    answer = bytes(range(256)) * 40_000
    with ScriptedModel([Canned(body=answer, content_type="application/octet-stream")]) as model:
        with make(model.url).opened(sandbox) as opened:
            got = ask(opened, json.dumps({"input": text}).encode(), call="/v1/responses")[0]
        assert (got.status, got.length) == (200, len(answer))
        assert got.body.encode("latin-1") == answer[:100_000]
        assert model.seen[0].json["input"] == text


def test_several_calls_are_under_way_at_a_time(sandbox: Sandbox, make: Make) -> None:
    together = threading.Barrier(4, timeout=60)

    def body(seen: object) -> bytes:
        together.wait()
        return b"{}"

    with ScriptedModel([Canned(body=body)]) as model, make(model.url).opened(sandbox) as opened:
        assert [one.status for one in ask(opened, count=4, parallel=4)] == [200] * 4


@pytest.mark.docker
def test_a_stream_arrives_whole(docker_sandbox: Sandbox, make: Make) -> None:
    with ScriptedModel([openai_stream("one two")]) as model, make(model.url).opened(docker_sandbox) as opened:
        got = ask(opened, b'{"stream": true}', chunked=True)[0]
        assert got.headers["content-type"] == "text/event-stream"
        assert got.body.endswith("data: [DONE]\n\n")
        assert model.seen[0].json["stream"] is True


def test_each_route_has_its_own_address(sandbox: Sandbox, make: Make) -> None:
    with ScriptedModel([openai_text("policy")]) as model, ScriptedModel([openai_text("user")]) as user:
        gate = make(model.url, user.url)
        with gate.opened(sandbox) as first, gate.opened(sandbox, "user") as second:
            assert ask(first)[0].json["choices"][0]["message"]["content"] == "policy"
            assert ask(second)[0].json["choices"][0]["message"]["content"] == "user"
            # The agent knows one of the two: with its own it cannot guess the other's.
            guessed = first.endpoint.url.replace("/policy", "/user")
            assert ask(first, url=guessed)[0].status == 404
        assert (len(model.seen), len(user.seen)) == (1, 1)


def test_the_key_is_nowhere_inside(sandbox: Sandbox, make: Make, tmp_path: Path) -> None:
    with ScriptedModel([packed({"said": KEY})]) as model, make(model.url).opened(sandbox) as opened:
        assert ask(opened)[0].json == {"said": "[key]"}
        seen = shell(opened.sandbox, "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; true")
        assert KEY not in seen
        place = "$(ls -d /pytest-swe 2>/dev/null || echo $SWE_ROOT/pytest-swe)"
        found = shell(
            opened.sandbox, f"grep -rl --binary-files=text '{KEY[:20]}' -D skip {place}/model-* ${{TMPDIR:-/tmp}}; true"
        )
        assert found == ""
    assert KEY not in (tmp_path / "calls.jsonl").read_text()
    assert model.seen[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_route_that_is_not_there_is_refused(sandbox: Sandbox, make: Make) -> None:
    with pytest.raises(UsageError, match="--swe-user-model-url"), make("http://model").opened(sandbox, "user"):
        pass


def test_a_sandbox_without_an_interpreter_is_refused_by_name(sandbox: Sandbox, make: Make) -> None:
    with (
        pytest.raises(Unsupported, match="python3"),
        make("http://model").opened(sandbox, pythons=("/none/python3", "/bin/false")),
    ):
        pass
    assert "model-" not in shell(sandbox, "ls -A /pytest-swe 2>/dev/null || ls -A $SWE_ROOT/pytest-swe")


@pytest.mark.docker
def test_docker_is_told_no_key_and_the_network_stays_off(docker_sandbox: Sandbox, make: Make) -> None:
    with ScriptedModel() as model, make(model.url).opened(docker_sandbox) as opened:
        assert ask(opened)[0].status == 200
        inspected = subprocess.run(["docker", "inspect", docker_sandbox.id], capture_output=True, check=True).stdout
        assert KEY.encode() not in inspected
        assert list(json.loads(inspected)[0]["NetworkSettings"]["Networks"]) == ["none"]
        reach = "import socket; socket.create_connection(('%s', %s), 5)"
        host, port = model.url.removeprefix("http://").split(":")
        direct = docker_sandbox.exec(["python3", "-c", reach % (host, port)], timeout=60)
        assert b"ConnectionRefusedError" in direct.stderr
        outside = docker_sandbox.exec(["python3", "-c", reach % ("192.0.2.1", 80)], timeout=60)
        assert b"unreachable" in outside.stderr.lower()
        assert shell(docker_sandbox, "cat /proc/net/dev | tail -n +3 | cut -d: -f1").split() == ["lo"]


@pytest.mark.docker
def test_a_user_without_rights_can_ask_but_not_look_into_the_relay(docker_sandbox: Sandbox, make: Make) -> None:
    with ScriptedModel() as model, make(model.url).opened(docker_sandbox) as opened:
        url = f"{opened.endpoint.url}/v1/chat/completions"
        ask_it = f"import urllib.request as u; print(u.urlopen('{url}', b'{{}}').status)"
        assert docker_sandbox.exec(["python3", "-c", ask_it], user="nobody", timeout=60).stdout == b"200\n"
        assert "ermission denied" in shell(docker_sandbox, "ls /pytest-swe/model-*/", user="nobody")


@pytest.mark.docker
def test_the_relay_waits_through_a_long_silence(
    docker_sandbox: Sandbox, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_swe.agent.endpoint.line.WAIT", 0.2)
    with ScriptedModel() as model, make(model.url).opened(docker_sandbox) as opened:
        time.sleep(2)
        assert ask(opened)[0].status == 200


@pytest.mark.docker
def test_an_agent_that_is_ended_takes_its_call_along(docker_sandbox: Sandbox, make: Make) -> None:
    with ScriptedModel([Canned(delay=120), openai_text("again")]) as model:
        gate = make(model.url)
        with gate.opened(docker_sandbox) as opened:
            script = f"import urllib.request as u; u.urlopen('{opened.endpoint.url}/v1/completions', b'{{}}')"
            docker_sandbox.exec(["sh", "-c", f'python3 -c "{script}" >/dev/null 2>&1 &'], timeout=60)
            while not model.seen:
                time.sleep(0.01)
        assert gate.notes == ()
        assert gate.trouble is None
        with gate.opened(docker_sandbox) as opened:
            assert ask(opened)[0].status == 200
