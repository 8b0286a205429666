"""What is changed in a request, what an answer says was used, and which paths there are. Nothing is sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from scripted_model import ANTHROPIC_USAGE, USAGE, sse

from pytest_swe.agent.base import ModelProtocol, Usage
from pytest_swe.agent.endpoint.bodies import NotAllowed, prepared, usage_in, without_count
from pytest_swe.agent.endpoint.routes import ModelRoute, address, called
from pytest_swe.agent.endpoint.wire import Garbled, request_from
from pytest_swe.errors import UsageError
from pytest_swe.masking import Secrets


def route(protocol: ModelProtocol = "openai", **more: Any) -> ModelRoute:
    return ModelRoute(url=more.pop("url", "http://model:8000"), protocol=protocol, **more)


def sent(document: object, chosen: ModelRoute | None = None, call: str = "chat/completions") -> Any:
    return json.loads(prepared(chosen or route(), call, json.dumps(document).encode()).body)


@pytest.mark.parametrize(
    ("protocol", "url", "call", "expected"),
    [
        ("openai", "https://api.openai.com/v1", "responses", "https://api.openai.com/v1/responses"),
        ("openai", "http://host:8000", "chat/completions", "http://host:8000/v1/chat/completions"),
        ("openai", "http://host:8000/", "models", "http://host:8000/v1/models"),
        ("openai", "https://gate/v1beta/openai/", "models", "https://gate/v1beta/openai/models"),
        ("anthropic", "https://api.anthropic.com", "messages", "https://api.anthropic.com/v1/messages"),
        ("anthropic", "https://gate/anthropic/v1/", "messages", "https://gate/anthropic/v1/messages"),
    ],
)
def test_where_a_call_goes(protocol: ModelProtocol, url: str, call: str, expected: str) -> None:
    assert address(route(protocol, url=url), call) == expected


@pytest.mark.parametrize(
    "url", ["model:8000", "ftp://model", "http://", "http://me:secret@model", "http://model/?key=1", "http://a b", ""]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="policy model"):
        route(url=url)


@pytest.mark.parametrize("target", ["/v1/chat/completions", "/chat/completions", "//v1/chat/completions"])
def test_clients_add_v1_or_do_not(target: str) -> None:
    assert called(target, method="POST", protocol="openai") == "chat/completions"


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", "/v1/files"),
        ("GET", "/v1/chat/completions"),
        ("DELETE", "/v1/models"),
        ("POST", "/v1/../admin"),
        ("POST", "/v1/chat/completions/../../admin"),
        ("POST", "/v1/chat%2fcompletions"),
        ("POST", "/v1/messages"),
        ("POST", ""),
    ],
)
def test_other_paths_are_no_calls(method: str, target: str) -> None:
    assert called(target, method=method, protocol="openai") is None


def test_the_chosen_model_is_asked_whatever_the_client_names() -> None:
    asked = prepared(route(model="chosen"), "responses", b'{"model": "other", "model": "third", "input": "\\ud83d"}')
    assert json.loads(asked.body) == {"model": "chosen", "input": "\ud83d"}
    assert asked.body.count(b'"model"') == 1
    assert asked.asked_model == "third"


def test_without_a_chosen_model_the_client_chooses() -> None:
    asked = prepared(route(), "responses", b'{"model": "other"}')
    assert json.loads(asked.body) == {"model": "other"}
    assert asked.asked_model == ""


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b"{", b"[" * 100_000, b'{"a":' * 100_000], ids=range(6))
def test_what_is_no_object_is_not_sent(body: bytes) -> None:
    with pytest.raises(NotAllowed, match="JSON"):
        prepared(route(), "chat/completions", body)


@pytest.mark.parametrize(
    ("protocol", "document"),
    [
        ("openai", {"tools": [{"type": "function"}, {"type": "web_search_preview"}]}),
        ("openai", {"tools": [{"type": "mcp", "server_url": "http://elsewhere"}]}),
        ("openai", {"tools": [{"type": "code_interpreter"}]}),
        ("openai", {"tools": [{"type": "namespace", "tools": [{"type": "function"}, {"type": "web_search"}]}]}),
        ("openai", {"tools": [{"type": "namespace", "tools": [{"type": "namespace", "tools": []}]}]}),
        ("openai", {"tools": [{"type": "namespace", "tools": []}]}),
        ("openai", {"web_search_options": {"user_location": None}}),
        ("anthropic", {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}),
        ("anthropic", {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]}),
        ("anthropic", {"mcp_servers": [{"url": "http://elsewhere"}]}),
    ],
)
def test_tools_that_run_at_the_provider_are_not_sent(protocol: ModelProtocol, document: dict[str, Any]) -> None:
    with pytest.raises(NotAllowed, match="outside of the sandbox"):
        sent(document, route(protocol))
    assert sent(document, route(protocol, hosted_tools=True)) == document


@pytest.mark.parametrize(
    ("protocol", "tool"),
    [
        ("openai", {"type": "function", "function": {"name": "web_search"}}),
        ("openai", {"type": "custom", "name": "apply_patch"}),
        ("openai", {"type": "local_shell"}),
        ("openai", {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "f"}]}),
        ("anthropic", {"name": "web_search", "input_schema": {}}),
        ("anthropic", {"type": "custom", "name": "x"}),
        ("anthropic", {"type": "bash_20250124", "name": "bash"}),
        ("anthropic", {"type": "text_editor_20250728", "name": "edit"}),
    ],
)
def test_tools_that_the_client_runs_are_sent(protocol: ModelProtocol, tool: dict[str, Any]) -> None:
    assert sent({"tools": [tool]}, route(protocol)) == {"tools": [tool]}


def test_a_stream_is_asked_what_it_used_and_the_client_does_not_see_that() -> None:
    asked = prepared(route(), "chat/completions", b'{"stream": true, "stream_options": {"other": 1}}')
    assert json.loads(asked.body)["stream_options"] == {"other": 1, "include_usage": True}
    assert asked.counted
    stream = sse({"choices": [{"delta": {"content": "hi"}}], "usage": None}, {"choices": [], "usage": USAGE}, "[DONE]")
    assert isinstance(stream.body, bytes)
    assert usage_in("openai", stream.body) == Usage(input_tokens=11, output_tokens=7)
    assert without_count(stream.body) == sse({"choices": [{"delta": {"content": "hi"}}], "usage": None}, "[DONE]").body


@pytest.mark.parametrize(
    "document", [{"stream": True, "stream_options": {"include_usage": True}}, {"stream": False}, {}]
)
def test_other_requests_are_not_asked(document: dict[str, Any]) -> None:
    assert sent(document) == document


@pytest.mark.parametrize(
    ("protocol", "events", "expected"),
    [
        ("openai", [{"usage": USAGE}], Usage(input_tokens=11, output_tokens=7)),
        (
            "openai",
            [{"usage": {**USAGE, "prompt_tokens_details": {"cached_tokens": 4}, "cost": 0.25}}],
            Usage(input_tokens=11, output_tokens=7, cached_tokens=4, cost_usd=0.25),
        ),
        (
            "openai",
            [
                {"type": "response.created", "response": {"usage": None}},
                {
                    "response": {
                        "usage": {"input_tokens": 3, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 1}}
                    }
                },
            ],
            Usage(input_tokens=3, output_tokens=2, cached_tokens=1),
        ),
        ("anthropic", [{"usage": ANTHROPIC_USAGE}], Usage(input_tokens=16, output_tokens=7, cached_tokens=5)),
        (
            "anthropic",
            [
                {"type": "message_start", "message": {"usage": {**ANTHROPIC_USAGE, "output_tokens": 1}}},
                {"type": "message_delta", "usage": {"output_tokens": 40}},
            ],
            Usage(input_tokens=16, output_tokens=40, cached_tokens=5),
        ),
        ("openai", [{"usage": {"prompt_tokens": -5, "completion_tokens": True, "cost": "x"}}], Usage()),
        ("openai", [{"error": {"message": "no"}}], Usage()),
    ],
)
def test_what_an_answer_says_was_used(protocol: ModelProtocol, events: list[dict[str, Any]], expected: Usage) -> None:
    if len(events) == 1:
        assert usage_in(protocol, json.dumps(events[0]).encode()) == expected
    streamed = sse(*events).body
    assert isinstance(streamed, bytes)
    assert usage_in(protocol, streamed) == expected


@pytest.mark.parametrize(
    "printed",
    [
        b"",
        b"{}\n",
        b"[1]\n",
        b"no json\n",
        b"[" * 200_000 + b"\n",
        b"x" * 1_000_000,
        b'{"id":"a","method":"POST","path":"/","headers":{},"length":3}\nab',
        b'{"id":"a","method":"POST","path":"/","headers":{},"length":30}\n' + b"a" * 30,
        b'{"id":"a","method":"POST","path":7,"headers":{},"length":0}\n',
        b'{"id":"a","method":"POST","path":"/","headers":[],"length":0}\n',
    ],
    ids=range(10),
)
def test_what_is_no_request_is_garbled(printed: bytes) -> None:
    with pytest.raises(Garbled):
        request_from(printed, limit=20)


def test_keys_are_masked_as_they_are_and_as_json_writes_them() -> None:
    secrets = Secrets(['sk-"quoted"-key', "sk-plain-key", "short"])
    found = secrets.masked(json.dumps(['sk-"quoted"-key', "short"]).encode() + b' sk-plain-key sk-"quoted"-key')
    assert found == b'["[key]", "short"] [key] [key]'
