"""What a trial carries from one place to another: conversations, artifacts, evidence of sidecars, skills."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from scripted_model import ScriptedModel, openai_text, packed

from pytest_swe.agent.base import AgentRun, AgentTask, ModelProtocol
from pytest_swe.agent.command import CommandAgent
from pytest_swe.agent.endpoint.routes import ModelRoute
from pytest_swe.model import JSON
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.docker import DockerProvider

from .conftest import Try
from .rooms import DOCKERFILE, LABELS, tried, write

pytestmark = pytest.mark.docker

STORY: dict[str, JSON] = {
    "schema_version": "ATIF-v1.7",
    "steps": [{"step_id": 1, "source": "agent", "message": "done"}],
}
#: A reward only for a verifier that finds the conversation.
READS = """#!/bin/bash
cd /logs/agent
python3 -c 'import json; print(len(json.load(open("trajectory.json"))["steps"]))' > /logs/verifier/reward.txt
"""
SEPARATE = '[verifier]\nenvironment_mode = "separate"\n'


class Telling(CommandAgent):
    """An agent that tells its conversation itself."""

    def run(self, sandbox: Sandbox, task: AgentTask) -> AgentRun:
        done = super().run(sandbox, task)
        return AgentRun(exit_code=done.exit_code, output=done.output, trajectory=STORY)


@pytest.mark.parametrize("toml", ["", SEPARATE], ids=["shared", "separate"])
@pytest.mark.parametrize("how", ["told", "left"])
def test_the_conversation_reaches_the_verifier(toml: str, how: str, trial: Try) -> None:
    leave = f"printf '%s' '{json.dumps(STORY)}' > /logs/agent/trajectory.json"
    agent = Telling("true") if how == "told" else CommandAgent(leave)
    done = trial({"task.toml": toml, "tests/test.sh": READS}, agent)
    assert done.reward.status == "resolved", str(done)
    assert json.loads(done.text("agent/trajectory.json")) == STORY


def test_what_is_no_conversation_does_not_cross(trial: Try) -> None:
    done = trial(
        {"task.toml": SEPARATE, "tests/test.sh": READS}, CommandAgent("echo '[1]' > /logs/agent/trajectory.json")
    )
    assert done.reward.status == "error"
    assert "RewardFileEmptyError" in done.reward.detail


def test_history_and_skills_reach_the_agent(trial: Try) -> None:
    files = {
        "task.toml": '[environment]\nskills_dir = "/skills"\n',
        "trajectory.json": json.dumps(STORY),
        "tests/test.sh": "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n",
    }
    done = trial(files, CommandAgent('cat "$SWE_HISTORY"; echo; echo "$SWE_SKILLS"'))
    assert done.text("agent/output.txt") == f"{json.dumps(STORY)}\n/skills\n"


def test_artifacts_cross_as_they_are_and_nothing_else_does(trial: Try) -> None:
    files = {
        "task.toml": f'artifacts = ["out/run.sh", "/app/dir"]\n{SEPARATE}',
        "tests/test.sh": """#!/bin/bash
[ "$(/app/out/run.sh)" = ran ] && [ -d /app/dir/empty ] && [ ! -e /app/other ] && [ ! -e /app/dir/link ] && r=1
echo ${r:-0} > /logs/verifier/reward.txt
""",
    }
    script = (
        "mkdir -p out dir/empty; printf '#!/bin/sh\\necho ran\\n' > out/run.sh; chmod 755 out/run.sh; touch other; "
        "ln -s /etc/passwd dir/link"
    )
    done = trial(files, CommandAgent(script))
    assert done.reward.status == "resolved", str(done)
    assert (done.place / "artifacts" / "app" / "dir" / "empty").is_dir()
    assert (done.place / "artifacts" / "out" / "run.sh").stat().st_mode & 0o111


def test_a_container_that_is_kept_stands(tmp_path: Path, engine_provider: DockerProvider) -> None:
    """With its work in it, and it goes when it is discarded."""
    files = {"task.toml": "", "instruction.md": "-", "environment/Dockerfile": DOCKERFILE}
    root = write(
        tmp_path / "kept-task", {**files, "tests/test.sh": "#!/bin/bash\necho 0 > /logs/verifier/reward.txt\n"}
    )
    seen: list[str] = []

    def look(container: str) -> None:
        argv = ["docker", "exec", container, "cat", "/app/work"]
        seen.append(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)

    agent = CommandAgent("echo mine > /app/work")
    labels = {**LABELS, "instance": tmp_path.name}
    done = tried(root, tmp_path / "kept", engine_provider, agent, kept=look, labels=labels)
    assert done.reward.status == "unresolved"
    assert seen == ["mine\n"]
    argv = ["docker", "ps", "-aq", "--filter", f"label=pytest-swe.instance={tmp_path.name}"]
    assert subprocess.run(argv, check=True, capture_output=True, text=True).stdout == ""


def test_an_attempt_does_not_add_to_an_earlier_one(trial: Try) -> None:
    """The first attempt writes no reward and is tried again; its files stand apart."""
    crash = "#!/bin/bash\n[ -e /app/ok ] && echo 0 > /logs/verifier/reward.txt; touch /logs/verifier/mark\n"
    done = trial({"tests/test.sh": crash}, CommandAgent("true"))
    assert done.reward.reason == "verifier_failed"
    assert len(done.reward.attempts) == 1
    assert (done.place / "earlier" / "1" / "verifier" / "mark").is_file()
    assert (done.place / "verifier" / "mark").is_file()


class Idle:
    """An agent that cannot use MCP servers."""

    name = "idle"
    protocols: frozenset[ModelProtocol] = frozenset()
    mcp = False

    def install(self, sandbox: Sandbox, task: AgentTask) -> None:
        """Nothing."""

    def run(self, sandbox: Sandbox, task: AgentTask) -> AgentRun:
        """Nothing."""
        return AgentRun()


def test_a_task_that_asks_for_what_cannot_be_starts_nothing(trial: Try) -> None:
    mcp = '[[environment.mcp_servers]]\nname = "m"\nurl = "http://m/mcp"\n'
    files = {"tests/test.sh": "#!/bin/bash\n"}
    refused = [
        trial({**files, "task.toml": mcp}, Idle(), mcp="required"),
        trial({**files, "task.toml": '[verifier.env]\nKEY = "${NOT_GIVEN}"\n'}, Idle()),
        trial({**files, "task.toml": '[agent]\nnetwork_mode = "no-network"\n'}, Idle()),
        trial(
            {**files, "task.toml": f'{SEPARATE}network_mode = "allowlist"\nallowed_hosts = ["a.example"]\n'},
            Idle(),
        ),
    ]
    assert [each.reward.status for each in refused] == ["error"] * 4
    assert "NOT_GIVEN" in refused[1].reward.detail
    assert [each for each in refused if "acquire" in each.reward.phases_ms] == []


def test_a_value_of_this_host_that_a_verifier_prints_is_kept_nowhere(trial: Try) -> None:
    key = "sk-value-of-this-host"
    files = {
        "task.toml": '[verifier]\nenv = { KEY = "${KEY}" }\n',
        "tests/test.sh": '#!/bin/bash\necho "key: $KEY"\necho "$KEY" > /logs/verifier/notes\n'
        'echo "not a number: $KEY" > /logs/verifier/reward.txt\n',
    }
    done = trial(files, CommandAgent("true"), given={"KEY": key})
    assert "key: [key]" in done.text("verifier/test-stdout.txt")
    assert key not in done.reward.model_dump_json()
    assert not [path for path in done.place.rglob("*") if path.is_file() and key in path.read_text()]


#: Asks twice, whatever is said.
ASKS_TWICE = """
python3 - <<'END'
import json, os, urllib.error, urllib.request
for _ in range(2):
    body = json.dumps({"messages": [{"role": "user", "content": "hello"}]}).encode()
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    try:
        urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"})).read()
    except urllib.error.HTTPError:
        pass
END
"""


def test_a_model_that_fails_leaves_the_usage_so_far(trial: Try) -> None:
    refused = packed({"error": "no"}, status=401)
    with ScriptedModel([openai_text("yes"), refused]) as model:
        route = ModelRoute(url=model.url, protocol="openai", model="m")
        files = {"tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n"}
        done = trial(files, CommandAgent(ASKS_TWICE), route=route, model="m", network="none")
    assert (done.reward.status, done.reward.reason) == ("error", "model_unavailable"), str(done)
    assert done.reward.usage is not None
    assert (done.reward.usage["calls"], done.reward.usage["input_tokens"]) == (2, 11)
