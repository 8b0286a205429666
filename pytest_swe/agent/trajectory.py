"""What agents leave of their conversations, as one format: ATIF, the Agent Trajectory Interchange Format.

Each agent writes its own; a reader here makes steps of it. What cannot be read gives no trajectory, never an error:
the file was the agent's to write.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from pytest_swe.model import JSON

#: ``openai-messages``: messages of chat completions, as a list or under ``messages``. ``json-lines``: events, one JSON
#: object a line, of which those with a role and a content count. ``atif``: it is one already.
Format = Literal["openai-messages", "json-lines", "claude-events", "codex-events", "opencode-events", "atif"]

VERSION = "ATIF-v1.7"
#: More steps are not kept.
MOST_STEPS = 10_000


def trajectory_of(
    raw: bytes, form: Format, *, agent: str, model: str, instruction: str
) -> tuple[dict[str, JSON] | None, int]:
    """The conversation and how many steps the agent made; (None, 0) where there is nothing that can be read."""
    try:
        if form not in ("openai-messages", "atif"):
            documents: JSON = [json.loads(line) for line in raw.splitlines() if line.strip()]
        else:
            documents = json.loads(raw)
    except (ValueError, RecursionError):
        return None, 0
    if form == "atif":
        steps = documents.get("steps") if isinstance(documents, dict) else None
        return (documents, _count(steps)) if isinstance(documents, dict) and isinstance(steps, list) else (None, 0)
    found = list(_steps(_messages(documents)))[:MOST_STEPS]
    if not found:
        return None, 0
    listed: list[JSON] = [{"step_id": number, **step} for number, step in enumerate(found, 1)]
    document: dict[str, JSON] = {
        "schema_version": VERSION,
        "agent": {"name": agent, "model_name": model},
        "steps": listed,
    }
    return document, _count(listed)


def _count(steps: object) -> int:
    found = steps if isinstance(steps, list) else []
    return sum(isinstance(step, Mapping) and step.get("source") == "agent" for step in found)


def _messages(document: JSON) -> Iterable[Mapping[str, JSON]]:
    if isinstance(document, dict):
        document = document.get("messages") or document.get("trajectory") or []
    for each in document if isinstance(document, list) else ():
        if isinstance(each, dict):
            inner = each.get("message")
            yield inner if isinstance(inner, dict) else each


#: Roles of messages as sources of steps; a tool's answer is an observation of the step before.
_SOURCES = {"system": "system", "user": "user", "assistant": "agent"}


def _steps(messages: Iterable[Mapping[str, JSON]]) -> Iterator[dict[str, JSON]]:
    last: dict[str, JSON] | None = None
    for message in messages:
        role = str(message.get("role"))
        if role in ("tool", "function") and last is not None:
            last["observation"] = {"results": [{"content": _text(message.get("content"))}]}
            continue
        source = _SOURCES.get(role)
        if source is None:
            continue
        if last is not None:
            yield last
        last = {"source": source, "message": _text(message.get("content"))}
        calls = message.get("tool_calls")
        if isinstance(calls, list) and calls:
            last["tool_calls"] = calls
    if last is not None:
        yield last


def _text(content: JSON) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))
