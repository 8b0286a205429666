"""One route without a sandbox: what of a request goes to the model, and what of its answer comes back."""

from __future__ import annotations

import pytest
from scripted_model import ScriptedModel, anthropic_text, openai_stream, packed

from pytest_swe.agent.endpoint.gate import ModelGate
from pytest_swe.agent.endpoint.routes import Limits, ModelRoute
from pytest_swe.agent.endpoint.wire import Request
from pytest_swe.errors import UsageError

from .asked import KEY, Make


def test_the_key_goes_to_the_model_and_the_clients_own_goes_nowhere(make: Make) -> None:
    with ScriptedModel() as model:
        asked = make(model.url)
        headers = {"authorization": "Bearer mine", "x-api-key": "mine", "cookie": "a=b", "host": "elsewhere"}
        assert asked.ask(**headers, accept="text/x").status == 200
        seen = model.seen[0].headers
        assert seen["authorization"] == f"Bearer {KEY}"
        assert seen["accept"] == "text/x"
        assert not {"x-api-key", "cookie"} & seen.keys()
        assert seen["host"] == model.url.removeprefix("http://")


def test_anthropics_protocol_has_its_own_headers(make: Make) -> None:
    with ScriptedModel([anthropic_text("hi")]) as model:
        asked = make(model.url, protocol="anthropic")
        assert asked.ask(call="v1/messages?beta=true", **{"anthropic-beta": "tools"}).status == 200
        seen = model.seen[0]
        assert (seen.path, seen.headers["x-api-key"], seen.headers["anthropic-beta"]) == ("/v1/messages", KEY, "tools")
        assert seen.headers["anthropic-version"] == "2023-06-01"
        assert "authorization" not in seen.headers
        assert asked.gate.usage().cached_tokens == 5


@pytest.mark.parametrize(
    "path",
    ["/", "/v1/chat/completions", "/0/policy/v1/chat/completions", "/{}x/v1/models", "/{}/v1/files", "/{}/../{}/v1"],
)
def test_what_is_not_the_items_own_path_is_never_sent(make: Make, path: str) -> None:
    with ScriptedModel() as model:
        asked = make(model.url)
        full = path.replace("{}", asked.service.prefix)
        assert (
            asked.service.answer(Request(id="1", method="POST", path=full, body=b"{}"), asked.connections).status == 404
        )
        assert model.seen == []
        assert asked.gate.counts().refused == 1


def test_a_stream_arrives_as_it_came(make: Make) -> None:
    with ScriptedModel([openai_stream("one two")]) as model:
        answer = make(model.url).ask({"stream": True})
        assert answer.headers["content-type"] == "text/event-stream"
        assert [line for line in answer.body.split(b"\n\n") if line][-1] == b"data: [DONE]"
        assert b"usage" not in answer.body


@pytest.mark.parametrize("value", [None, "", "  ", "k\u00e9y-0123456", "two\nlines-12"])
def test_a_key_that_is_none_is_refused_by_the_name_of_its_variable(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("A_KEY", value) if value is not None else monkeypatch.delenv("A_KEY", raising=False)
    with pytest.raises(UsageError, match="A_KEY") as refused:
        ModelGate([ModelRoute(url="http://model", protocol="openai", key_variable="A_KEY")])
    assert not value or value.strip() == "" or value not in str(refused.value)


def test_a_proxy_is_used_unless_the_host_is_exempt(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModel() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "exempt.test")
        assert make("http://model.test:81/v1").ask().status == 200
        assert proxy.seen[0].path == "http://model.test:81/v1/chat/completions"
        assert make("http://a.exempt.test:81", Limits(attempts=1, call_seconds=5)).ask().status == 502
        assert len(proxy.seen) == 1


def test_models_are_listed(make: Make) -> None:
    with ScriptedModel([packed({"data": []})]) as model:
        assert make(model.url).ask(call="v1/models", method="GET").status == 200
        assert (model.seen[0].method, model.seen[0].path, model.seen[0].body) == ("GET", "/v1/models", b"")
