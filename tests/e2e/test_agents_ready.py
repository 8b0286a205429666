"""Agents that come along, for real: from their kits, in a sandbox without a network, asking a scripted server.

Kits are made by ``pytest-swe agent-kit``; those in PYTEST_SWE_TEST_KITS are run, mini-swe-agent's must be there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from scripted_model import USAGE, Canned, ScriptedModel, Seen, openai_tool, packed, sse

from .agent_scripts import FIX, ROW
from .conftest import QUICKSTART, run_plugin

KITS = Path(os.environ.get("PYTEST_SWE_TEST_KITS", "/nowhere"))
KEY = "sk-of-the-user-0123456789"


class Scripted(ScriptedModel):
    """Its lists of models are no part of the play."""

    def next_reply(self, seen: Seen) -> Canned:
        if seen.method != "GET":
            return super().next_reply(seen)
        self.seen.append(seen)
        return packed({"object": "list", "data": [{"id": "scripted", "object": "model"}]})


def chat(delta: Mapping[str, Any], reason: str) -> Canned:
    """A stream of chat completions."""
    whole = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    said = {**whole, "choices": [{"index": 0, "delta": {"role": "assistant", **delta}}]}
    end = {**whole, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    return sse(said, end, {**whole, "choices": [], "usage": USAGE}, "[DONE]")


def chats(tool: str, argument: str = "command", **more: str) -> list[Canned]:
    function = {"name": tool, "arguments": json.dumps({argument: FIX, **more})}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    return [chat({"tool_calls": [call]}, "tool_calls"), chat({"content": "done"}, "stop")]


def response(item: Mapping[str, Any]) -> Canned:
    """A stream of OpenAI's responses."""
    usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
    whole = {"id": "r1", "object": "response", "created_at": 1, "status": "completed", "model": "scripted"}
    done = {**whole, "output": [item], "usage": usage}
    begun: dict[str, Any] = {"type": "response.created", "response": {**done, "status": "in_progress", "output": []}}
    events: list[dict[str, Any]] = [
        {"type": f"response.output_item.{what}", "output_index": 0, "item": item} for what in ("added", "done")
    ]
    return sse(begun, *events, {"type": "response.completed", "response": done}, named=True)


def message(block: Mapping[str, Any], delta: Mapping[str, Any], reason: str) -> Canned:
    """A stream of Anthropic's messages, with one block."""
    whole = {"id": "m1", "type": "message", "role": "assistant", "model": "scripted", "content": []}
    begun = {**whole, "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 11, "output_tokens": 1}}
    ended = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        ended,
        {"type": "message_stop"},
    ]
    return sse(*events, named=True)


def codex() -> list[Canned]:
    call = {"type": "function_call", "id": "f1", "call_id": "call_1", "name": "exec_command"}
    text = {"type": "output_text", "text": "done", "annotations": []}
    said = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [text]}
    return [response({**call, "arguments": json.dumps({"cmd": FIX})}), response(said)]


def claude() -> list[Canned]:
    block = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
    given = {"type": "input_json_delta", "partial_json": json.dumps({"command": FIX, "description": "fix"})}
    text = {"type": "text_delta", "text": "done"}
    return [message(block, given, "tool_use"), message({"type": "text", "text": ""}, text, "end_turn")]


def mini() -> list[Canned]:
    end = openai_tool("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"})
    return [openai_tool("bash", {"command": FIX}), end]


#: What each agent's model says.
PLAYS: Mapping[str, Callable[[], list[Canned]]] = {
    "mini-swe-agent": mini,
    "claude-code": claude,
    "codex": codex,
    "opencode": lambda: chats("bash", description="fix"),
    "hermes": lambda: chats("terminal"),
    "openclaw": lambda: chats("exec"),
}
#: Those whose conversations are read.
TOLD = frozenset({"mini-swe-agent", "claude-code", "codex", "opencode"})


@pytest.mark.docker
@pytest.mark.kits
@pytest.mark.usefixtures("images")
@pytest.mark.parametrize("agent", [name for name in PLAYS if name == "mini-swe-agent" or (KITS / name).is_dir()])
def test_a_ready_agent_fixes_a_row(tmp_path: Path, agent: str) -> None:
    protocol = "anthropic" if agent == "claude-code" else "openai"
    with Scripted(PLAYS[agent]()) as model:
        arguments = [
            "--swe-agent",
            agent,
            "--swe-agent-kit",
            str(KITS),
            "--swe-model",
            "org/scripted",
            "--swe-model-url",
        ]
        arguments += [model.url, "--swe-model-protocol", protocol, "--swe-model-key", "MODEL_KEY", "-n0"]
        env = {**os.environ, "MODEL_KEY": KEY}
        done = run_plugin(tmp_path, QUICKSTART, "--swe-instance", ROW, *arguments, env=env)
    line = done.rewards[ROW, f"{agent}+org/scripted"]
    assert line["status"] == "resolved", (line, done.output)
    assert line["network"] == "none"
    assert line["flags"] == []
    usage = line["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (22, 14)
    place = done.directory / line["logs"] / "agent"
    told = [json.loads(text) for text in (place / "calls.jsonl").read_text().splitlines()]
    calls = [call for call in told if "refused" not in call]  # some look for paths that no model has
    assert len(calls) == usage["calls"] >= 2
    assert {seen.json["model"] for seen in model.seen if seen.method == "POST"} == {"org/scripted"}
    assert "def touches" in (done.directory / line["logs"] / "patch.diff").read_text()
    assert [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []
    assert (place / "trajectory.json").exists() == (agent in TOLD)
    if agent in TOLD:
        conversation = json.loads((place / "trajectory.json").read_text())
        called = [call for step in conversation["steps"] for call in step.get("tool_calls", ())]
        assert any("git apply" in json.dumps(call["arguments"]) for call in called)
        assert usage["steps"] >= 2
