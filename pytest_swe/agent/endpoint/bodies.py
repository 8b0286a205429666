"""The JSON of a call: what is changed in a request before it is sent, and what an answer says was used. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_swe.agent.base import ModelProtocol, Usage
from pytest_swe.agent.endpoint.routes import ModelRoute
from pytest_swe.model import JSON

#: Tools that the client runs; any other of a protocol is run by the provider, with a network of its own.
#: https://platform.openai.com/docs/guides/tools https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/overview
CLIENT_TOOLS: Mapping[ModelProtocol, tuple[str, ...]] = {
    "openai": ("function", "custom", "local_shell", "shell", "apply_patch", "computer"),
    "anthropic": ("custom", "bash", "text_editor", "computer", "memory"),
}

#: Fields of a request that have the provider go somewhere, or act on what is stored there.
HOSTED_FIELDS = ("mcp_servers", "web_search_options", "container")

#: Calls whose stream tells what was used only when asked.
#: https://platform.openai.com/docs/api-reference/chat/create#chat-create-stream_options
_SILENT = ("chat/completions", "completions")

#: More tokens than any call has.
_MOST = 10**12


class NotAllowed(ValueError):
    """A request that is not sent; the message is for the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A request as it is sent. ``asked_model``: what the client named, where that is another model.

    ``counted``: the stream was asked what it used, for which the client had not asked.
    """

    body: bytes = b""
    asked_model: str = ""
    counted: bool = False


def prepared(route: ModelRoute, call: str, body: bytes) -> Prepared:
    """A body as it is sent. Raises NotAllowed for what is no JSON object, and for tools that the provider would run."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotAllowed("the body is no JSON") from error
    if not isinstance(document, dict):
        raise NotAllowed("the body is no JSON object")
    hosted = "" if route.hosted_tools else _hosted(document, route.protocol)
    if hosted:
        raise NotAllowed(f"{hosted} runs at the provider, outside of the sandbox, and is not allowed here")
    asked = document.get("model")
    if route.model:
        document["model"] = route.model
    options = document.get("stream_options") or {}
    counted = call in _SILENT and document.get("stream") is True and isinstance(options, dict)
    counted = counted and options.get("include_usage") is not True
    if counted:
        document["stream_options"] = {**options, "include_usage": True}
    try:
        # Written anew always: of a name that is there twice, another reader may take the other value.
        sent = json.dumps(document).encode("ascii")
    except (ValueError, RecursionError) as error:
        raise NotAllowed("the body cannot be written again as JSON") from error
    differs = isinstance(asked, str) and route.model not in ("", asked)
    return Prepared(body=sent, asked_model=str(asked)[:200] if differs else "", counted=counted)


def without_count(body: bytes) -> bytes:
    """A stream of chat completions without the last event, which holds nothing but what was used."""
    events = body.split(b"\n\n")
    return b"\n\n".join(event for event in events if not _is_count(event))


def usage_in(protocol: ModelProtocol, body: bytes) -> Usage:
    """What one answer says was used; nothing where it does not say. Streams say it in parts; the last word counts."""
    said: dict[str, JSON] = {}
    for document in _documents(body):
        said.update({name: value for name, value in _said(document).items() if value is not None})
    cached = _number(said.get("cache_read_input_tokens"))
    if protocol == "anthropic":
        # Anthropic's input_tokens are those that no cache had to do with.
        fresh = _number(said.get("input_tokens")) + _number(said.get("cache_creation_input_tokens"))
        return Usage(
            input_tokens=fresh + cached, output_tokens=_number(said.get("output_tokens")), cached_tokens=cached
        )
    details = said.get("prompt_tokens_details") or said.get("input_tokens_details")
    cost = said.get("cost")
    return Usage(
        input_tokens=_number(said.get("prompt_tokens")) or _number(said.get("input_tokens")),
        output_tokens=_number(said.get("completion_tokens")) or _number(said.get("output_tokens")),
        cached_tokens=_number(details.get("cached_tokens")) if isinstance(details, dict) else 0,
        cost_usd=float(cost) if isinstance(cost, (int, float)) and not isinstance(cost, bool) and cost >= 0 else None,
    )


def _hosted(document: Mapping[str, JSON], protocol: ModelProtocol) -> str:
    for name in HOSTED_FIELDS:
        if document.get(name):
            return name
    return next((f"the tool {kind[:60]}" for kind in _kinds(document) if not _is_clients(kind, protocol)), "")


def _kinds(document: Mapping[str, JSON]) -> Iterator[str]:
    """The kinds of the tools in a request. A ``namespace`` is a name around tools, and none itself but in another."""
    for tool in _tools(document):
        inner = _tools(tool) if tool.get("type") == "namespace" else ()
        yield from (str(each["type"]) for each in inner or (tool,) if each.get("type") is not None)


def _tools(holder: Mapping[str, JSON]) -> list[dict[str, JSON]]:
    tools = holder.get("tools")
    return [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []


def _is_clients(kind: str, protocol: ModelProtocol) -> bool:
    """Anthropic's kinds carry a date (``bash_20250124``), OpenAI's may say ``_preview``."""
    name, _, version = kind.rpartition("_")
    known = CLIENT_TOOLS[protocol]
    return (
        kind in known
        or (name in known and (version.isdigit() or version == "preview"))
        or kind == "computer_use_preview"
    )


def _documents(body: bytes) -> Iterator[dict[str, JSON]]:
    """The JSON objects of an answer: itself, or the data of its events."""
    whole = _object(body)
    if whole is not None:
        yield whole
        return
    for line in body.splitlines():
        found = _object(line[5:]) if line.startswith(b"data:") else None
        if found is not None:
            yield found


def _said(document: Mapping[str, JSON]) -> dict[str, JSON]:
    for holder in (document, document.get("response"), document.get("message")):
        usage = holder.get("usage") if isinstance(holder, dict) else None
        if isinstance(usage, dict):
            return usage
    return {}


def _is_count(event: bytes) -> bool:
    data = b"".join(line[5:] for line in event.splitlines() if line.startswith(b"data:"))
    found = _object(data) or {}
    return found.get("choices") == [] and isinstance(found.get("usage"), dict)


def _object(data: bytes) -> dict[str, JSON] | None:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _number(value: JSON) -> int:
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST
    return int(value) if known and isinstance(value, int) else 0
