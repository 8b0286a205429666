"""Services of a task that ask a model of this host: what they reach, and what nobody in the group can read."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import pytest
from scripted_model import Canned, ScriptedModel, openai_text

from pytest_swe.agent.base import AgentRun, AgentTask, McpServer, ModelProtocol
from pytest_swe.agent.endpoint.routes import ModelRoute
from pytest_swe.dataset.source import open_dataset
from pytest_swe.harness.harbor import HarborHarness, task_of
from pytest_swe.model import Candidate
from pytest_swe.policy import Policy
from pytest_swe.reward import Reward
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.trial.setting import TrialSetting
from pytest_swe.trial.trial import Trial
from pytest_swe.trial.values import ComposeValue

pytestmark = [pytest.mark.docker, pytest.mark.compose]

KEY = "sk-planted-for-the-user-" + uuid.uuid4().hex

#: Passes on what it is asked to the model that it was given.
ASKER = """
import http.server, json, os, urllib.error, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        url = os.environ["MODEL_URL"] + "/v1/chat/completions"
        body = json.dumps({"messages": [{"role": "user", "content": self.path}]}).encode()
        try:
            said = urllib.request.urlopen(url, body).read()
        except urllib.error.HTTPError as error:
            said = error.read()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(said)
http.server.HTTPServer(("", 8000), Handler).serve_forever()
"""

COMPOSE = """
services:
  main:
    depends_on: [side, idle]
  side:
    image: {image}
    command: {command}
    environment: {{MODEL_URL: "${{MODEL_URL}}", MODE: "${{MODE:-unset}}"}}
    volumes: ["./asker.py:/asker.py:ro"]
  idle:
    image: {image}
    command: ["sleep", "1000"]
"""

ASK = "import urllib.request as u; print(u.urlopen('http://side:8000/' + '{}', timeout=300).read().decode())"


@dataclass
class Visitor:
    """An agent on this host, with a look at the engine behind the sandbox's back."""

    visit: Callable[[Sandbox], object] = lambda sandbox: None
    name: str = "visitor"
    protocols: frozenset[ModelProtocol] = frozenset()
    mcp: bool = True
    seen: dict[str, Any] = field(default_factory=dict)
    servers: tuple[McpServer, ...] = ()

    def install(self, sandbox: Sandbox, task: AgentTask) -> None:
        """Nothing."""

    def run(self, sandbox: Sandbox, task: AgentTask) -> AgentRun:
        self.servers = task.mcp_servers
        self.visit(sandbox)
        return AgentRun()


@dataclass(frozen=True)
class Group:
    """All containers of the group that ``main`` is of."""

    engine: docker.APIClient
    main: str

    def containers(self) -> dict[str, str]:
        labels = self.engine.inspect_container(self.main)["Config"]["Labels"]
        project = f"com.docker.compose.project={labels['com.docker.compose.project']}"
        found = self.engine.containers(all=True, filters={"label": project})
        return {each["Labels"]["com.docker.compose.service"]: each["Id"] for each in found}

    def run(self, container: str, *argv: str) -> str:
        made = self.engine.exec_create(container, list(argv), user="root")
        said: bytes = self.engine.exec_start(made["Id"])
        return said.decode("utf-8", "replace")


def standing(engine: docker.APIClient, label: str) -> list[str]:
    """Containers of one trial."""
    return [each["Id"] for each in engine.containers(all=True, filters={"label": f"pytest-swe.test={label}"})]


@pytest.fixture(scope="module")
def provider() -> Iterator[DockerProvider]:
    made = DockerProvider(pull=False)
    yield made
    made.close()


@pytest.fixture(scope="module")
def engine() -> Iterator[docker.APIClient]:
    client = docker.DockerClient.from_env().api
    yield client
    client.close()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER_KEY", KEY)


@pytest.fixture
def user() -> Iterator[ScriptedModel]:
    with ScriptedModel([openai_text("what a user says")]) as made:
        yield made


@dataclass(frozen=True)
class Done:
    reward: Reward
    label: str
    place: Path


RunTask = Callable[..., Done]


@pytest.fixture
def run_task(tmp_path: Path, provider: DockerProvider, test_image: str) -> RunTask:
    """A trial of a task with services; ``files`` are laid over its own."""

    def run(agent: Visitor, files: Mapping[str, str] | None = None, **setting: Any) -> Done:
        command = json.dumps(["python3", "/asker.py"])
        config = f'[environment]\ndocker_image = "{test_image}"\nnetwork_mode = "no-network"\n'
        own = {
            "task.toml": config,
            "instruction.md": "Visit.\n",
            "environment/docker-compose.yaml": COMPOSE.format(image=test_image, command=command),
            "environment/asker.py": ASKER,
            "tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
        }
        root = tmp_path / "task"
        for name, text in {**own, **(files or {})}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        dataset = open_dataset(str(root))
        ref = dataset.refs[0]
        instance = HarborHarness().instance(dataset.load(ref), dataset.origin(ref))
        label = uuid.uuid4().hex
        trial = Trial(
            instance,
            Candidate(model="visitor", source="agent"),
            task=task_of(instance),
            setting=TrialSetting(agent=agent, **setting),
            provider=provider,
            place=tmp_path / "place",
            policy=Policy(retries=0, pace=0.0),
            labels={"test": label},
        )
        return Done(trial.run().reward, label, tmp_path / "place")

    return run


def values(model: str = "user", **more: str) -> dict[str, ComposeValue]:
    address = ComposeValue(model=model, secret=True)  # type: ignore[arg-type]
    return {"MODEL_URL": address, **{name: ComposeValue(text=text) for name, text in more.items()}}


def route(url: str) -> ModelRoute:
    return ModelRoute(url=url, protocol="openai", model="a-user", key_variable="USER_KEY", route="user")


def ask(sandbox: Sandbox, words: str = "hello") -> str:
    done = sandbox.exec(["python3", "-c", ASK.format(words)], timeout=300)
    assert done.exit_code == 0, done
    return done.stdout.decode()


def test_a_service_reaches_its_model_and_its_key_is_nowhere(
    run_task: RunTask, engine: docker.APIClient, user: ScriptedModel
) -> None:
    def visit(main: Sandbox) -> None:
        agent.seen["answer"] = ask(main)
        group = Group(engine, main.id)
        found = group.containers()
        agent.seen["services"] = sorted(found)
        label = engine.inspect_container(main.id)["Config"]["Labels"]["pytest-swe.test"]
        agent.seen["standing"] = len(standing(engine, label))
        agent.seen["side"] = group.run(found["side"], "printenv", "MODEL_URL", "MODE").split()
        for name, container in found.items():
            planted = group.run(container, "sh", "-c", f"echo {KEY} > /planted")
            assert planted == ""
            holders = 'grep -rlsFI --exclude-dir=proc --exclude-dir=sys --exclude-dir=dev "$0" / ; true'
            agent.seen[f"files of {name}"] = group.run(container, "sh", "-c", holders, KEY).split()
            told = group.run(container, "sh", "-c", "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline")
            agent.seen[f"processes of {name}"] = (KEY in told, agent.seen["side"][0] in told)
            agent.seen[f"inspect of {name}"] = KEY in json.dumps(engine.inspect_container(container))
        agent.seen["main"] = main.exec(["sh", "-c", "export -p"], timeout=60).stdout.decode()

    agent = Visitor(visit)
    done = run_task(agent, user_route=route(user.url), compose_values=values(MODE="fast"))
    assert done.reward.status == "resolved", done.reward
    assert "what a user says" in agent.seen["answer"]
    assert agent.seen["services"] == ["idle", "main", "side"]
    assert agent.seen["standing"] == 3
    address, mode = agent.seen["side"]
    assert mode == "fast"
    assert address.startswith("http://127.0.0.1:")
    assert address not in agent.seen["main"]
    for name in agent.seen["services"]:
        assert agent.seen[f"files of {name}"] == ["/planted"], name
        assert agent.seen[f"processes of {name}"] == (False, name == "side")
        assert not agent.seen[f"inspect of {name}"], name
    assert [seen.headers["authorization"] for seen in user.seen] == [f"Bearer {KEY}"]

    (call,) = [json.loads(line) for line in (done.place / "calls.jsonl").read_text().splitlines()]
    assert (call["route"], call["train"]) == ("user", False)
    assert done.reward.agent is not None
    told = done.reward.agent["user"]
    assert isinstance(told, dict)
    assert told["model"] == "a-user"
    assert told["questions"] == {"asked": 1, "answered": 1, "over_limit": 0, "limit": None}
    assert done.reward.network == "none"
    assert not standing(engine, done.label)


def test_the_agent_does_not_reach_the_users_model(run_task: RunTask, user: ScriptedModel) -> None:
    """Not by the service's own address, nor by its name: the relay is on that service's loopback alone."""

    def visit(main: Sandbox) -> None:
        address = Group(client, main.id)
        side = address.containers()["side"]
        url = address.run(side, "printenv", "MODEL_URL").strip()
        port = url.split(":")[2].split("/")[0]
        for host in ("127.0.0.1", "side", "idle"):
            reach = f"import urllib.request as u; u.urlopen('{url.replace('127.0.0.1', host)}/v1/models', timeout=20)"
            agent.seen[host] = main.exec(["python3", "-c", reach], timeout=120).exit_code
        agent.seen["inside"] = address.run(
            side, "python3", "-c", f"import socket; socket.create_connection(('127.0.0.1', {port}), 9); print('open')"
        )

    client = docker.DockerClient.from_env().api
    with contextlib.closing(client):
        agent = Visitor(visit)
        run_task(agent, user_route=route(user.url), compose_values=values())
    assert agent.seen == {"127.0.0.1": 1, "side": 1, "idle": 1, "inside": "open\n"}
    assert not user.seen


def test_a_users_model_that_fails_is_no_measurement(run_task: RunTask) -> None:
    with ScriptedModel([Canned(status=401)]) as broken:
        done = run_task(Visitor(ask), user_route=route(broken.url), compose_values=values())
    assert (done.reward.status, done.reward.reason) == ("error", "model_unavailable")


def test_a_value_that_nobody_gives_is_refused_before_anything_starts(
    run_task: RunTask, engine: docker.APIClient, provider: DockerProvider
) -> None:
    agent = Visitor(lambda main: agent.seen.update(started=True))
    done = run_task(agent)
    assert done.reward.status == "error"
    assert "${MODEL_URL} has no value" in done.reward.detail
    assert "--swe-compose-var MODEL_URL=VALUE" in done.reward.detail
    assert "acquire" in done.reward.phases_ms
    assert not agent.seen
    assert not standing(engine, done.label)


def with_server(image: str) -> dict[str, str]:
    config = f'[environment]\ndocker_image = "{image}"\nnetwork_mode = "no-network"\n'
    config += '[[environment.mcp_servers]]\nname = "side"\ntransport = "streamable-http"\n'
    return {"task.toml": f'{config}url = "http://side:8000/mcp"\nheaders = {{ x-token = "${{TOKEN}}" }}\n'}


@pytest.mark.parametrize("mcp", ["off", "optional", "required"])
def test_servers_are_handed_to_an_agent_that_can_use_them(run_task: RunTask, test_image: str, mcp: str) -> None:
    agent = Visitor()
    plain = {"MODEL_URL": ComposeValue(text="http://nowhere")}
    done = run_task(agent, with_server(test_image), mcp=mcp, compose_values=plain, given={"TOKEN": "t"})
    assert done.reward.status == "resolved", done.reward
    server = McpServer(name="side", transport="streamable-http", url="http://side:8000/mcp", headers={"x-token": "t"})
    assert agent.servers == (() if mcp == "off" else (server,))
    assert done.reward.agent is not None
    assert done.reward.agent["mcp"] == ([] if mcp == "off" else ["side"])
    assert "user" not in done.reward.agent


@pytest.mark.parametrize(
    ("can", "given", "problem"),
    [
        (False, {"TOKEN": "t"}, "agent visitor cannot use MCP servers, and --swe-mcp is required"),
        (True, {}, "the task needs TOKEN from your environment"),
    ],
)
def test_what_a_server_needs_is_looked_at_before_anything_starts(
    run_task: RunTask, test_image: str, can: bool, given: dict[str, str], problem: str
) -> None:
    agent = Visitor(lambda main: agent.seen.update(started=True), mcp=can)
    done = run_task(agent, with_server(test_image), mcp="required", compose_values=values(), given=given)
    assert (done.reward.status, done.reward.reason) == ("error", "unsupported")
    assert problem in done.reward.detail
    assert "acquire" not in done.reward.phases_ms
    assert not agent.seen


def test_a_service_that_cannot_run_the_relay_is_named(run_task: RunTask, user: ScriptedModel, test_image: str) -> None:
    script = "rm -f /usr/bin/python3* /usr/local/bin/python3*; exec sleep 1000"
    compose = COMPOSE.format(image=test_image, command=json.dumps(["sh", "-c", script]))
    files = {"environment/docker-compose.yaml": compose}
    done = run_task(Visitor(), files, user_route=route(user.url), compose_values=values())
    assert (done.reward.status, done.reward.reason) == ("error", "unsupported")
    assert "service side cannot reach its model: the model endpoint needs python3" in done.reward.detail
