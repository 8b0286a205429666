"""Agents that ask a model: matrices, attempts, what is refused, a server that fails; with a scripted server here."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from scripted_model import Canned, ScriptedModel, Seen, openai_text, packed

from .agent_scripts import FIX, ROW
from .conftest import QUICKSTART, Finished, run_plugin

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("images")]

KEY = "sk-of-the-user-0123456789"
ENV: Mapping[str, str] = {**os.environ, "MODEL_KEY": KEY}

#: Asks once, and does what it is told: yes fixes, what else there is does not.
ASKS = (
    """
import json, os, sys, urllib.request
told = {"role": "user", "content": open(os.environ["SWE_INSTRUCTION"]).read()}
body = json.dumps({"model": "any", "messages": [told]})
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body.encode(),
    {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
try:
    said = json.load(urllib.request.urlopen(request, timeout=100))["choices"][0]["message"]["content"]
except urllib.error.HTTPError as error:
    said = error.read().decode()
print("SAID", said)
sys.exit(0 if said == "yes" else 7)
"""
).strip()
ASKING = f"python3 - <<'END_OF_AGENT' || exit 0\n{ASKS}\nEND_OF_AGENT\n{FIX}"


@pytest.fixture
def yes() -> Iterator[ScriptedModel]:
    with ScriptedModel([openai_text("yes")]) as model:
        yield model


def options(model: ScriptedModel | str, *agents: str, models: tuple[str, ...] = ("m1",)) -> list[str]:
    url = model if isinstance(model, str) else model.url
    named = [word for text in agents or (f"command:{ASKING}",) for word in ("--swe-agent", text)]
    asked = [word for name in models for word in ("--swe-model", name)]
    return [*named, *asked, "--swe-model-url", url, "--swe-model-key", "MODEL_KEY", "--swe-instance", ROW]


def run(place: Path, *arguments: str, run_id: str = "r") -> Finished:
    return run_plugin(place, QUICKSTART, *arguments, env=ENV, run_id=run_id)


def files_with(place: Path, text: str) -> list[Path]:
    return [path for path in place.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def test_agents_times_models(tmp_path: Path, yes: ScriptedModel) -> None:
    arguments = options(yes, f"command:{ASKING}", "command:true", models=("m1", "org/m2"))
    done = run(tmp_path, *arguments, "-n2", "--junitxml", "junit.xml")
    found = {model: line["status"] for (_, model), line in done.rewards.items()}
    assert found == {
        "command+m1": "resolved",
        "command+org/m2": "resolved",
        "command-2+m1": "unresolved",
        "command-2+org/m2": "unresolved",
    }, done.output
    junit = (tmp_path / "junit.xml").read_text()
    assert all(f'name="{ROW}@{model}"' in junit for model in found)
    assert sorted(seen.json["model"] for seen in yes.seen) == ["m1", "org/m2"]
    assert {seen.headers["authorization"] for seen in yes.seen} == {f"Bearer {KEY}"}
    line = done.rewards[ROW, "command+m1"]
    assert (line["usage"]["calls"], line["usage"]["input_tokens"], line["usage"]["output_tokens"]) == (1, 11, 7)
    assert (line["agent"]["name"], line["agent"]["model"]) == ("command", "m1")
    calls = (done.directory / line["logs"] / "agent" / "calls.jsonl").read_text().splitlines()
    assert [(json.loads(call)["train"], json.loads(call)["asked_model"]) for call in calls] == [(True, "any")]
    assert files_with(tmp_path, KEY) == []


def test_attempts_and_pass_at_k(tmp_path: Path) -> None:
    with ScriptedModel([openai_text("yes"), openai_text("no"), openai_text("yes")]) as model:
        done = run(tmp_path, *options(model), "--swe-attempts", "3", "-n0")
    lines = [json.loads(line) for line in (done.directory / "rewards.jsonl").read_text().splitlines()]
    assert [(line["repeat"], line["status"]) for line in lines] == [(0, "resolved"), (1, "unresolved"), (2, "resolved")]
    assert len({line["logs"] for line in lines}) == 3
    assert "pass@1 66.7%" in done.output
    assert "pass@2 100.0%" in done.output


def test_a_class_of_the_users(tmp_path: Path, yes: ScriptedModel) -> None:
    (tmp_path / "mine.py").write_text(
        "from pytest_swe.agent.base import AgentRun\n"
        "class Mine:\n"
        "    name, protocols, mcp = 'mine', frozenset({'openai'}), False\n"
        "    def install(self, sandbox, task):\n"
        "        sandbox.write_file('/tmp/told', task.instruction.encode())\n"
        "    def run(self, sandbox, task):\n"
        f"        done = sandbox.exec(['sh', '-c', {FIX!r}], cwd=task.workdir, timeout=task.timeout)\n"
        "        return AgentRun(exit_code=done.exit_code, output=task.arguments['word'].encode())\n"
    )
    env = {**ENV, "PYTHONPATH": str(tmp_path)}
    arguments = [*options(yes, "mine:Mine"), "--swe-agent-arg", "word=hello", "-p", "no:xdist"]
    done = run_plugin(tmp_path, QUICKSTART, *arguments, env=env)
    line = done.rewards[ROW, "mine+m1"]
    assert line["status"] == "resolved", done.output
    assert (done.directory / line["logs"] / "agent" / "output.txt").read_text() == "hello"


def test_a_run_goes_on_where_its_server_had_failed(tmp_path: Path) -> None:
    broken = run(tmp_path, *options("http://127.0.0.1:9"), "--swe-retries", "0", "-n0")
    line = broken.rewards[ROW, "command+m1"]
    assert (line["status"], line["reason"], line["reward"]) == ("error", "model_unavailable", None), broken.output
    assert line["fault"] == "environment"
    with ScriptedModel([openai_text("yes")]) as model:
        again = [*options(model), "--swe-resume", "-n0"]
        gone_on = run(tmp_path, *again)
        assert gone_on.rewards[ROW, "command+m1"]["status"] == "resolved", gone_on.output
        assert len(model.seen) == 1
        known = run(tmp_path, *again)
        assert known.rewards[ROW, "command+m1"]["status"] == "resolved", known.output
        assert len(model.seen) == 1
    place = gone_on.directory / line["logs"]
    assert (place / "agent" / "calls.jsonl").is_file()
    assert (place / "earlier" / "1" / "agent").is_dir()


def test_an_attempt_without_a_patch_stays_on_the_line(tmp_path: Path) -> None:
    """An agent that cannot be installed at first: the line of what came later tells of it."""
    (tmp_path / "mine.py").write_text(
        "from pytest_swe.agent.base import AgentRun, AgentSetupFailed\n"
        "tried = []\n"
        "class Mine:\n"
        "    name, protocols, mcp = 'mine', frozenset(), False\n"
        "    def install(self, sandbox, task):\n"
        "        tried.append(1)\n"
        "        if len(tried) == 1:\n"
        "            raise AgentSetupFailed('no room yet')\n"
        "    def run(self, sandbox, task):\n"
        f"        done = sandbox.exec(['sh', '-c', {FIX!r}], cwd=task.workdir, timeout=task.timeout)\n"
        "        return AgentRun(exit_code=done.exit_code)\n"
    )
    options = ["--swe-instance", ROW, "--swe-agent", "mine:Mine", "-p", "no:xdist"]
    done = run_plugin(tmp_path, QUICKSTART, *options, env={**ENV, "PYTHONPATH": str(tmp_path)})
    line = done.rewards[ROW, "mine"]
    assert line["status"] == "resolved", done.output
    assert [(attempt["reason"], attempt["detail"]) for attempt in line["attempts"]] == [
        ("agent_setup_failed", "no room yet")
    ]


def test_a_server_that_only_fails_is_the_environments(tmp_path: Path) -> None:
    with ScriptedModel([packed({"error": {"message": "overloaded"}}, status=503)]) as model:
        done = run(tmp_path, *options(model), "--swe-retries", "0", "-n0")
    line = done.rewards[ROW, "command+m1"]
    assert (line["status"], line["reason"], line["reward"]) == ("error", "model_unavailable", None), done.output


def test_a_server_that_fails_at_the_agents_request_alone_is_the_agents(tmp_path: Path) -> None:
    def body(seen: Seen) -> bytes:
        whole = openai_text("yes").body
        assert isinstance(whole, bytes)
        return whole

    class Picky(ScriptedModel):
        def next_reply(self, seen: Seen) -> Canned:
            self.seen.append(seen)
            is_ours = seen.json["messages"][0]["content"] == "Say ok."
            return Canned(body=body) if is_ours else packed({"error": {"message": "too much"}}, status=500)

    with Picky() as model:
        done = run(tmp_path, *options(model), "--swe-retries", "0", "-n0")
    line = done.rewards[ROW, "command+m1"]
    assert (line["status"], line["reason"], line["reward"]) == ("unresolved", "model_failed", 0.0), done.output
    assert [attempt["reason"] for attempt in line["attempts"]] == ["model_failed"]
    assert (line["usage"]["calls"], line["usage"]["input_tokens"]) == (1, 0)  # of the last attempt


def test_a_limit_of_calls_is_the_agents_affair(tmp_path: Path, yes: ScriptedModel) -> None:
    """It asks on and on, as who wants the server to refuse everybody; what it left is judged."""
    greedy = ASKS.replace(
        "sys.exit(0 if", 'said == "yes" and os.execv(sys.executable, [sys.executable, __file__]);sys.exit(0 if'
    )
    agent = f"command:cat > /tmp/a.py <<'END_OF_AGENT'\n{greedy}\nEND_OF_AGENT\npython3 /tmp/a.py\n{FIX}"
    done = run(tmp_path, *options(yes, agent), "--swe-model-calls", "3", "-n0")
    line = done.rewards[ROW, "command+m1"]
    assert (line["status"], line["usage"]["calls"], len(yes.seen)) == ("resolved", 3, 3), done.output
    assert "model_limit_reached" in line["flags"]
    output = (done.directory / line["logs"] / "agent" / "output.txt").read_text()
    assert "the limit of 3 calls is reached" in output


def test_processes_are_limited_as_the_option_says(tmp_path: Path) -> None:
    look = "cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null; :"
    done = run(tmp_path, "--swe-agent", f"command:{look}", "--swe-instance", ROW, "--swe-pids", "77", "-n0")
    line = done.rewards[ROW, "command"]
    assert (done.directory / line["logs"] / "agent" / "output.txt").read_text() == "77\n", done.output
    assert line["limits"]["pids"] == 77


def test_what_cannot_be_is_said_at_once(tmp_path: Path) -> None:
    done = run_plugin(tmp_path, QUICKSTART, "--swe-agent", "mini-swe-agnt", "--collect-only", "-n0")
    assert done.status == 4, done.output
    assert "no agent 'mini-swe-agnt': did you mean 'mini-swe-agent'?" in done.output
