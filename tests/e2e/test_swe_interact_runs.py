"""A task in the shape of SWE-Interact, run as a user runs it: steps, a simulated user, its model on this host."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from scripted_model import Canned, ScriptedModel, Seen, openai_text, openai_tool

from .conftest import ROOT, Finished, run_plugin

pytestmark = pytest.mark.compose

TASKS = ROOT / "datasets" / "swe-interact"
KIT = Path(__file__).parent / "interact_kit"
USER_KEY = "sk-planted-for-the-user-0123456789"
POLICY_KEY = "sk-planted-for-the-policy-0123456789"
WANTED = "A function split in bill.py, in whole cents; what is left over goes to the last people, one cent each."


def as_the_user(seen: Seen) -> bytes:
    """What the maintainer's model answers: it looks at the repository before it agrees to what is there."""
    last = seen.json["messages"][-1]
    if last["role"] == "tool":
        reply = openai_text("ship it" if "def split" in last["content"] else "I see no such function")
    elif "review" in last["content"]:
        reply = openai_tool("run_repo_command", {"command": "git show HEAD"})
    else:
        reply = openai_text("Yes." if "Do you agree" in last["content"] else WANTED)
    assert isinstance(reply.body, bytes)
    return reply.body


@dataclass(frozen=True)
class Models:
    policy: ScriptedModel
    user: ScriptedModel


@pytest.fixture
def models() -> Iterator[Models]:
    policy, user = ScriptedModel([openai_text("hello")]), ScriptedModel([Canned(body=as_the_user)])
    with policy, user:
        yield Models(policy, user)


@pytest.fixture(params=[pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("docker", "podman")])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run_agent(place: Path, models: Models, *more: str) -> Finished:
    # fmt: off
    arguments: list[str | Path] = [
        TASKS, "--swe-agent", "command:python3 $SWE_KIT/agent.py", "--swe-agent-kit", KIT,
        "--swe-model", "scripted", "--swe-model-url", models.policy.url, "--swe-model-key", "POLICY_KEY",
        "--swe-user-model", "maintainer", "--swe-user-model-url", models.user.url, "--swe-user-model-key", "USER_KEY",
        "--swe-compose-var", "LITELLM_BASE_URL=model:user", "--swe-mcp", "required", *more,
    ]
    # fmt: on
    env = {**os.environ, "USER_KEY": USER_KEY, "POLICY_KEY": POLICY_KEY}
    return run_plugin(place, *arguments, env=env, timeout=1200)


def line_of(done: Finished) -> dict[str, Any]:
    assert len(done.rewards) == 1, done.output
    (line,) = done.rewards.values()
    return line


def logs_of(done: Finished) -> Path:
    return done.directory / str(line_of(done)["logs"])


def printed(done: Finished, step: str) -> str:
    return (logs_of(done) / "steps" / step / "agent" / "output.txt").read_text()


def calls_of(done: Finished) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (logs_of(done) / "calls.jsonl").read_text().splitlines()]


def everything_below(place: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file())


STEPS = ["01_plan", "02_implement", "03_handoff", "04_write_tests", "05_test_handoff"]


def test_an_agent_that_asks_its_user_resolves_the_task(tmp_path: Path, models: Models, provider: str) -> None:
    done = run_agent(tmp_path, models, "--swe-provider", provider)
    line = line_of(done)
    assert (line["status"], line["reward"]) == ("resolved", 1.0), (line, done.output)
    assert [step["name"] for step in line["steps"]] == STEPS
    assert "review: ship it" in printed(done, "02_implement")

    # The user and the network stand on the line.
    assert line["network"] == "none"
    assert line["agent"]["mcp"] == ["user-server"]
    user = line["agent"]["user"]
    assert user["model"] == "maintainer"
    assert user["questions"] == {"asked": 3, "answered": 3, "over_limit": 0, "limit": None}
    assert user["calls"] == 4
    assert line["usage"]["calls"] == 1

    # No step sees what belongs to the grader, and none gets at the user's model or key.
    for step in STEPS:
        saw = json.loads(printed(done, step).splitlines()[0])
        assert (saw["graders"], saw["verifier"], saw["user_route"]) == ([], [], 404), step
    saw = json.loads(printed(done, "02_implement").splitlines()[0])
    assert (saw["files"], saw["processes"]) == ([saw["planted_file"]], [saw["planted_process"]])

    # The keys went to the models they are of, and are in no file of the run.
    assert {seen.headers["authorization"] for seen in models.user.seen} == {f"Bearer {USER_KEY}"}
    assert {seen.headers["authorization"] for seen in models.policy.seen} == {f"Bearer {POLICY_KEY}"}
    kept = everything_below(tmp_path)
    assert USER_KEY.encode() not in kept
    assert POLICY_KEY.encode() not in kept
    assert USER_KEY not in done.output

    sent = [call for call in calls_of(done) if "refused" not in call]
    assert {(call["route"], call["train"]) for call in sent} == {("user", False), ("policy", True)}
    assert sum(call["route"] == "user" for call in sent) == 4

    artifacts = logs_of(done) / "steps" / "05_test_handoff" / "artifacts"
    said = next(artifacts.rglob("conversation.jsonl")).read_text().splitlines()
    assert [json.loads(one)["answer"] for one in said] == [WANTED, "Yes.", "ship it"]
    assert "def split" in next(artifacts.rglob("model.patch")).read_text()

    told = json.loads((done.directory / "run.json").read_text())
    assert told["options"]["user_model"] == "maintainer"
    assert told["networks"] == {"none": 1}
    assert told["user_models"] == ["maintainer"]


@pytest.mark.docker
def test_an_agent_that_guesses_does_not(tmp_path: Path, models: Models) -> None:
    done = run_agent(tmp_path, models, "--swe-agent-arg", "behaviour=guess")
    line = line_of(done)
    assert (line["status"], line["reward"]) == ("unresolved", 0.0), done.output
    assert line["agent"]["user"]["questions"]["asked"] == 0
    assert not models.user.seen


@pytest.mark.docker
def test_over_the_cap_the_tool_says_so(tmp_path: Path, models: Models) -> None:
    done = run_agent(tmp_path, models, "--swe-agent-arg", "behaviour=pester", "--swe-user-questions", "2")
    line = line_of(done)
    assert line["status"] == "resolved", (line, done.output)
    assert "third: The user answers no more questions: 2 were allowed" in printed(done, "01_plan")
    assert line["agent"]["user"]["questions"] == {"asked": 3, "answered": 2, "over_limit": 1, "limit": 2}
    assert len(models.user.seen) == 2


@pytest.mark.docker
def test_the_tasks_own_solution_resolves_it_and_nothing_does_not_three_times(tmp_path: Path) -> None:
    controls = ["--swe-agent", "oracle", "--swe-agent", "nop", "--swe-attempts", "3"]
    run_id = f"interact-{uuid.uuid4().hex[:8]}"
    done = run_plugin(tmp_path, TASKS, *controls, timeout=1200, run_id=run_id)
    lines = [json.loads(line) for line in (done.directory / "rewards.jsonl").read_text().splitlines()]
    found = Counter((line["model"], line["status"]) for line in lines)
    assert found == {("gold", "resolved"): 3, ("nop", "unresolved"): 3}, done.output
    for what in (["ps", "-a"], ["network", "ls"], ["volume", "ls"], ["images"]):
        command = ["docker", *what, "-q", "--filter", f"label=pytest-swe.run={run_id}"]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "", what
