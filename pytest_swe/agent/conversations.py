"""What ready agents print of their work, as messages of chat completions: one shape for `pytest_swe.agent.trajectory`.

Each reader takes the events of one agent, JSON objects of its making, and leaves out what it does not know.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from pytest_swe.model import JSON

Event = Mapping[str, JSON]
Message = dict[str, JSON]

#: Agents with events of their own.
Events = Literal["claude-events", "codex-events", "opencode-events", "openhands-events"]


def messages_of(events: Iterable[Event], form: Events) -> Iterator[Message]:
    """The messages that ``events`` tell of. What one answer of the model said in several events is one message."""
    last: tuple[str, Message] | None = None
    for key, message in READERS[form](events):
        if last is not None and key and key == last[0] and message["role"] == "assistant":
            _join(last[1], message)
            continue
        if last is not None:
            yield last[1]
        last = key, message
    if last is not None:
        yield last[1]


def _claude(events: Iterable[Event]) -> Iterator[tuple[str, Message]]:
    """``claude --output-format stream-json``: https://docs.claude.com/en/docs/claude-code/headless"""
    for event in events:
        inner = _object(event.get("message"))
        blocks = [_object(block) for block in _list(inner.get("content"))]
        if event.get("type") == "assistant":
            said = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
            calls = [
                _call(block.get("id"), block.get("name"), block.get("input"))
                for block in blocks
                if block.get("type") == "tool_use"
            ]
            if said or calls:
                yield str(inner.get("id", "")), _assistant("\n".join(map(str, said)), calls)
        elif event.get("type") == "user":
            for block in blocks:
                if block.get("type") == "tool_result":
                    yield "", _tool(block.get("tool_use_id"), block.get("content"))


def _codex(events: Iterable[Event]) -> Iterator[tuple[str, Message]]:
    """``codex exec --json``: https://developers.openai.com/codex/noninteractive"""
    for event in events:
        item = _object(event.get("item"))
        kind = item.get("type")
        if event.get("type") != "item.completed" or kind in (None, "error", "reasoning", "todo_list"):
            continue
        if kind == "agent_message":
            yield "", _assistant(str(item.get("text", "")), [])
            continue
        results = ("aggregated_output", "result", "error", "exit_code", "status")
        asked: dict[str, JSON] = {name: value for name, value in item.items() if name not in (*results, "id", "type")}
        yield "", _assistant("", [_call(item.get("id"), kind, asked)])
        yield "", _tool(item.get("id"), next((item[name] for name in results if item.get(name) is not None), ""))


def _opencode(events: Iterable[Event]) -> Iterator[tuple[str, Message]]:
    """``opencode run --format json``: https://opencode.ai/docs/cli"""
    for event in events:
        part = _object(event.get("part"))
        key = str(part.get("messageID", ""))
        if event.get("type") == "text":
            yield key, _assistant(str(part.get("text", "")), [])
        elif event.get("type") == "tool_use":
            state = _object(part.get("state"))
            yield key, _assistant("", [_call(part.get("callID"), part.get("tool"), state.get("input"))])
            yield "", _tool(part.get("callID"), state.get("output") or state.get("error") or "")


def _openhands(events: Iterable[Event]) -> Iterator[tuple[str, Message]]:
    """``openhands --headless --json``: https://docs.openhands.dev/openhands/usage/cli/headless"""
    for event in events:
        kind = event.get("kind")
        if kind == "ActionEvent":
            said = "\n".join(str(_object(part).get("text", "")) for part in _list(event.get("thought")))
            call = _call(event.get("tool_call_id"), event.get("tool_name"), event.get("action"))
            yield str(event.get("llm_response_id", "")), _assistant(said, [call])
        elif kind == "ObservationEvent":
            found = _object(event.get("observation"))
            yield "", _tool(event.get("tool_call_id"), found.get("content"))
        elif kind == "MessageEvent" and event.get("source") == "agent":
            yield "", _assistant("", []) | {"content": _object(event.get("llm_message")).get("content")}


READERS: Mapping[Events, Callable[[Iterable[Event]], Iterator[tuple[str, Message]]]] = {
    "claude-events": _claude,
    "codex-events": _codex,
    "opencode-events": _opencode,
    "openhands-events": _openhands,
}


def _assistant(text: str, calls: list[JSON]) -> Message:
    return {"role": "assistant", "content": text, "tool_calls": calls}


def _call(number: JSON, name: JSON, arguments: JSON) -> JSON:
    return {"id": str(number or ""), "function": {"name": str(name), "arguments": json.dumps(arguments)}}


def _tool(number: JSON, content: JSON) -> Message:
    return {"role": "tool", "tool_call_id": str(number or ""), "content": content}


def _join(first: Message, more: Message) -> None:
    first["content"] = "\n".join(filter(None, (str(first["content"]), str(more["content"]))))
    first["tool_calls"] = [*_list(first["tool_calls"]), *_list(more["tool_calls"])]


def _object(value: JSON) -> Mapping[str, JSON]:
    return value if isinstance(value, dict) else {}


def _list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []
