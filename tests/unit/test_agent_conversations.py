"""Conversations of agents as ATIF: what each prints, as it was seen, and what is no conversation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_swe.agent.trajectory import Format, trajectory_of

CLAUDE = [
    {"type": "system", "subtype": "init", "tools": ["Bash"]},
    "[claude-code:unrecognized_model] {}",
    {"type": "assistant", "message": {"id": "m1", "content": [{"type": "text", "text": "look"}]}},
    {
        "type": "assistant",
        "message": {
            "id": "m1",
            "content": [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}],
        },
    },
    {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a.py"}]}},
    {"type": "assistant", "message": {"id": "m2", "content": [{"type": "text", "text": "done"}]}},
    {"type": "result", "subtype": "success"},
]
CODEX = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "item.completed", "item": {"id": "i0", "type": "error", "message": "no metadata"}},
    {"type": "item.completed", "item": {"id": "i1", "type": "agent_message", "text": "look"}},
    {"type": "item.started", "item": {"id": "c1", "type": "command_execution", "command": "ls"}},
    {
        "type": "item.completed",
        "item": {"id": "c1", "type": "command_execution", "command": "ls", "aggregated_output": "a.py", "exit_code": 0},
    },
    {"type": "item.completed", "item": {"id": "i2", "type": "agent_message", "text": "done"}},
]
OPENCODE = [
    {"type": "text", "part": {"messageID": "m1", "text": "look"}},
    {
        "type": "tool_use",
        "part": {
            "messageID": "m1",
            "tool": "bash",
            "callID": "c1",
            "state": {"input": {"command": "ls"}, "output": "a.py"},
        },
    },
    {"type": "text", "part": {"messageID": "m2", "text": "done"}},
]
OPENHANDS = [
    "Agent is working",
    {
        "kind": "ActionEvent",
        "thought": [{"type": "text", "text": "look"}],
        "action": {"command": "ls"},
        "tool_name": "terminal",
        "tool_call_id": "c1",
        "llm_response_id": "m1",
    },
    {"kind": "ObservationEvent", "tool_call_id": "c1", "observation": {"content": [{"type": "text", "text": "a.py"}]}},
    {"kind": "MessageEvent", "source": "agent", "llm_message": {"content": [{"type": "text", "text": "done"}]}},
]
CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
MESSAGES = [
    {"role": "system", "content": "rules"},
    {"role": "user", "content": "do it"},
    {"role": "assistant", "content": "look", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    {"role": "exit", "content": "over"},
    {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
]


def lines(events: list[Any]) -> bytes:
    return "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in events).encode()


def read(raw: bytes, form: Format) -> tuple[list[Any], int]:
    found, steps = trajectory_of(raw, form, agent="a", model="m", instruction="do it")
    assert found is not None
    assert found["agent"] == {"name": "a", "version": "", "model_name": "m"}
    listed = found["steps"]
    assert isinstance(listed, list)
    assert [step["step_id"] for step in listed if isinstance(step, dict)] == [*range(1, len(listed) + 1)]
    return listed, steps


@pytest.mark.parametrize(
    ("form", "events"),
    [
        ("claude-events", CLAUDE),
        ("codex-events", CODEX),
        ("opencode-events", OPENCODE),
        ("openhands-events", OPENHANDS),
    ],
)
def test_events_of_each_agent(form: Format, events: list[Any]) -> None:
    steps, count = read(lines(events), form)
    assert steps[0] == {"step_id": 1, "source": "user", "message": "do it"}
    said = [step["message"] for step in steps[1:]]
    assert [text for text in said if text] == ["look", "done"]
    calls = [call for step in steps for call in step.get("tool_calls", ())]
    assert [(call["tool_call_id"], call["arguments"]) for call in calls] == [("c1", {"command": "ls"})]
    results = [result for step in steps for result in step.get("observation", {}).get("results", ())]
    assert results == [{"source_call_id": "c1", "content": "a.py"}]
    assert count == (3 if form == "codex-events" else 2)  # codex does not say which answer of the model an item is of


@pytest.mark.parametrize("wrapped", [False, True])
def test_messages_of_chat_completions(wrapped: bool) -> None:
    steps, count = read(json.dumps({"messages": MESSAGES} if wrapped else MESSAGES).encode(), "openai-messages")
    assert [step["source"] for step in steps] == ["system", "user", "agent", "agent"]
    assert steps[2]["tool_calls"] == [{"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}}]
    assert steps[3]["message"] == "done"
    assert count == 2


def test_arguments_that_are_no_json_stay_text() -> None:
    call = {"id": 1, "function": {"name": "bash", "arguments": "{ls"}}
    steps, _ = read(
        json.dumps([{"role": "assistant", "content": None, "tool_calls": [call, "x"]}]).encode(), "openai-messages"
    )
    assert steps[0]["tool_calls"] == [
        {"tool_call_id": "1", "function_name": "bash", "arguments": {"text": "{ls"}},
        {"tool_call_id": "", "function_name": "", "arguments": {"text": None}},
    ]


@pytest.mark.parametrize("form", ["openai-messages", "atif", "claude-events", "codex-events", "opencode-events"])
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff\xfe",
        b"[1, 2]",
        b"{}",
        b"null",
        b"[" * 100_000,
        b'{"type": "assistant", "message": 3}',
        b'{"item": []}',
    ],
    ids=range(8),
)
def test_what_is_no_conversation_is_none(form: Format, raw: bytes) -> None:
    assert trajectory_of(raw, form, agent="a", model="m", instruction="x") == (None, 0)


def test_infinity_can_be_written_again() -> None:
    found, _ = trajectory_of(
        b'{"steps": [{"source": "agent", "cost": NaN}]}', "atif", agent="a", model="", instruction=""
    )
    assert json.loads(json.dumps(found, allow_nan=False)) == {"steps": [{"source": "agent", "cost": None}]}
