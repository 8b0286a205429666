"""What agents leave of their conversations, as one format: ATIF, the Agent Trajectory Interchange Format.

Each agent writes its own; a reader makes steps of it. What cannot be read gives no trajectory, never an error: the
file was the agent's to write. https://harborframework.com/docs/trajectory-format
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, cast, get_args

from pytest_swe.agent.conversations import Events, messages_of
from pytest_swe.model import JSON

#: ``openai-messages``: messages of chat completions, as a list or under ``messages``. ``atif``: it is one already. All
#: others are events, one JSON object a line; lines that are none are left out.
Format = Literal["openai-messages", "atif"] | Events

VERSION = "ATIF-v1.7"
#: More steps are not kept.
MOST_STEPS = 10_000


def trajectory_of(
    raw: bytes, form: Format, *, agent: str, model: str, instruction: str
) -> tuple[dict[str, JSON] | None, int]:
    """The conversation and how many steps the agent made; (None, 0) where there is nothing that can be read."""
    try:
        if form in get_args(Events):
            told: JSON = {"role": "user", "content": instruction}
            documents: JSON = [told, *messages_of(_objects(raw), cast("Events", form))]
        else:
            documents = _document(raw)
    except (ValueError, RecursionError):
        return None, 0
    if form == "atif":
        steps = documents.get("steps") if isinstance(documents, dict) else None
        return (documents, _count(steps)) if isinstance(documents, dict) and isinstance(steps, list) else (None, 0)
    found = list(_steps(_messages(documents)))[:MOST_STEPS]
    listed: list[JSON] = [{"step_id": number, **step} for number, step in enumerate(found, 1)]
    if not _count(listed):
        return None, 0
    document: dict[str, JSON] = {
        "schema_version": VERSION,
        "agent": {"name": agent, "version": "", "model_name": model},
        "steps": listed,
    }
    return document, _count(listed)


def _document(raw: bytes) -> JSON:
    # Python reads Infinity and NaN, which are no JSON and could not be written again.
    return cast("JSON", json.loads(raw, parse_constant=lambda name: None))


def _objects(raw: bytes) -> Iterator[Mapping[str, JSON]]:
    for line in raw.splitlines():
        try:
            found = _document(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


def _count(steps: object) -> int:
    found = steps if isinstance(steps, list) else []
    return sum(isinstance(step, Mapping) and step.get("source") == "agent" for step in found)


def _messages(document: JSON) -> Iterable[Mapping[str, JSON]]:
    if isinstance(document, dict):
        document = document.get("messages") or []
    for each in document if isinstance(document, list) else ():
        if isinstance(each, dict):
            yield each


#: Roles of messages as sources of steps; a tool's answer is an observation of the step before.
_SOURCES = {"system": "system", "developer": "system", "user": "user", "assistant": "agent"}


def _steps(messages: Iterable[Mapping[str, JSON]]) -> Iterator[dict[str, JSON]]:
    last: dict[str, JSON] | None = None
    results: list[JSON] = []
    for message in messages:
        role = str(message.get("role"))
        if role in ("tool", "function") and last is not None:
            results.append({"source_call_id": message.get("tool_call_id"), "content": _text(message.get("content"))})
            last["observation"] = {"results": results}
            continue
        if role not in _SOURCES:
            continue
        if last is not None:
            yield last
        last, results = {"source": _SOURCES[role], "message": _text(message.get("content"))}, []
        calls = [_call(call) for call in _list(message.get("tool_calls"))]
        if calls:
            last["tool_calls"] = calls
    if last is not None:
        yield last


def _call(call: JSON) -> JSON:
    found = call if isinstance(call, dict) else {}
    function = found.get("function")
    function = function if isinstance(function, dict) else {}
    given = function.get("arguments")
    try:
        arguments = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        arguments = None
    return {
        "tool_call_id": str(found.get("id") or ""),
        "function_name": str(function.get("name") or ""),
        "arguments": arguments if isinstance(arguments, dict) else {"text": given},
    }


def _text(content: JSON) -> str:
    if isinstance(content, str):
        return content
    parts = [part for part in _list(content) if isinstance(part, dict)]
    return "\n".join(str(part.get("text", "")) for part in parts)


def _list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []
