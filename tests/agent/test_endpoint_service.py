"""One route without a sandbox: a real server on loopback is asked, and what it does wrong is dealt with."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_model import (
    Canned,
    ScriptedModel,
    Seen,
    anthropic_text,
    openai_stream,
    openai_text,
    packed,
)

from pytest_swe.agent.endpoint.connection import Connections
from pytest_swe.agent.endpoint.gate import ModelGate
from pytest_swe.agent.endpoint.routes import Limits, ModelRoute
from pytest_swe.agent.endpoint.service import Service
from pytest_swe.agent.endpoint.wire import Answer, Request
from pytest_swe.errors import UsageError

KEY = "sk-planted-0123456789"
FAST = Limits(first_pause=0.01, call_seconds=20)


class Asked:
    """A gate's service, and what asking it gives."""

    def __init__(self, gate: ModelGate, service: Service, calls: Path) -> None:
        self.gate = gate
        self.service = service
        self.calls = calls
        self.connections = Connections()
        gate._connections.append(self.connections)

    def ask(
        self, document: object = None, call: str = "v1/chat/completions", method: str = "POST", **more: str
    ) -> Answer:
        body = json.dumps({"model": "m"} if document is None else document).encode() if method == "POST" else b""
        return self.service.answer(
            Request(id="1", method=method, path=f"/{self.service.prefix}/{call}", headers=more, body=body),
            self.connections,
        )

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.calls.read_text().splitlines()]


Make = Callable[..., Asked]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setenv("A_KEY", KEY)
    made: list[ModelGate] = []

    def build(url: str, limits: Limits = FAST, **route: Any) -> Asked:
        chosen = ModelRoute(**{"url": url, "protocol": "openai", "key_variable": "A_KEY", **route})
        gate = ModelGate([chosen], calls_file=tmp_path / "calls.jsonl", limits=limits)
        made.append(gate)
        return Asked(gate, gate._services[chosen.route], tmp_path / "calls.jsonl")

    yield build
    for gate in made:
        gate.close()


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


def test_a_busy_server_is_asked_again(make: Make) -> None:
    replies = [
        Canned(status=429, headers={"Retry-After": "0"}),
        Canned(status=503),
        Canned(resets=True),
        openai_text("hi"),
    ]
    with ScriptedModel(replies) as model:
        asked = make(model.url)
        assert json.loads(asked.ask().body)["choices"][0]["message"]["content"] == "hi"
        assert len(model.seen) == 4
        assert (asked.gate.counts().retries, asked.gate.counts().failed, asked.gate.trouble) == (3, 0, None)
        assert asked.lines()[0]["attempts"] == 4


def test_a_server_that_stays_busy_says_so_to_the_client(make: Make) -> None:
    body = b'{"error": {"message": "slow down"}}'
    with ScriptedModel([Canned(status=429, body=body, headers={"Retry-After": "0", "Set-Cookie": "a=b"})]) as model:
        asked = make(model.url)
        answer = asked.ask()
        assert (answer.status, answer.body, answer.headers["retry-after"]) == (429, body, "0")
        assert "set-cookie" not in answer.headers
        assert len(model.seen) == FAST.attempts
        trouble = asked.gate.trouble
        assert trouble is not None
        assert trouble.provokable
        assert "429" in trouble.detail


def test_a_long_wait_is_the_clients(make: Make) -> None:
    with ScriptedModel([Canned(status=429, headers={"Retry-After": "3600"})]) as model:
        answer = make(model.url).ask()
        assert (answer.status, answer.headers["retry-after"], len(model.seen)) == (429, "3600", 1)


def test_a_mistake_of_the_client_is_no_trouble(make: Make) -> None:
    with ScriptedModel([packed({"error": {"message": "no such tool"}}, status=400)]) as model:
        asked = make(model.url)
        assert asked.ask().status == 400
        assert (len(model.seen), asked.gate.trouble, asked.gate.counts().failed) == (1, None, 0)


def test_a_dead_server_is_the_environments_until_it_answers_again(make: Make) -> None:
    with ScriptedModel() as model:
        asked = make(model.url)
    answer = asked.ask()
    assert (answer.status, answer.headers["x-should-retry"]) == (502, "false")
    trouble = asked.gate.trouble
    assert trouble is not None
    assert not trouble.provokable
    assert "cannot be reached" in trouble.detail
    assert asked.gate.counts().failed == 1


def test_trouble_that_is_over_is_none(make: Make) -> None:
    with ScriptedModel([Canned(status=500), openai_text("back")]) as model:
        asked = make(model.url, Limits(attempts=1))
        found = [(asked.ask().status, asked.gate.trouble is None) for _ in range(2)]
        assert found == [(500, False), (200, True)]
        assert asked.gate.counts().failed == 1


def test_a_refused_key_is_our_own_trouble(make: Make) -> None:
    with ScriptedModel([packed({"error": f"bad key {KEY}"}, status=401, headers={"X-Request-Id": KEY})]) as model:
        asked = make(model.url)
        answer = asked.ask()
        assert (answer.status, len(model.seen)) == (401, 1)
        assert KEY.encode() not in answer.body + repr(answer.headers).encode()
        trouble = asked.gate.trouble
        assert trouble is not None
        assert trouble.provokable
        assert asked.gate.is_broken  # our own request was refused as well
        assert KEY not in asked.calls.read_text()
        assert "[key]" in asked.calls.read_text()


@pytest.mark.parametrize("status", [401, 402])
def test_a_key_that_is_refused_for_one_request_alone_is_not_broken(make: Make, status: int) -> None:
    """A key without the scope of embeddings, or too little money for so many tokens: an agent can ask for that."""

    class Picky(ScriptedModel):
        def next_reply(self, seen: Seen) -> Canned:
            self.seen.append(seen)
            if seen.path.endswith("embeddings") or seen.json.get("max_tokens"):
                return packed({"error": "no"}, status=status)
            return openai_text("ok")

    for call, body in (
        ("v1/embeddings", {"model": "m", "input": "x"}),
        ("v1/chat/completions", {"model": "m", "messages": [], "max_tokens": 999999}),
    ):
        with Picky() as model:
            asked = make(model.url)
            assert asked.ask(body, call=call).status == status
            assert asked.gate.trouble is not None
            assert not asked.gate.is_broken


def test_a_redirect_is_not_followed(make: Make) -> None:
    with (
        ScriptedModel() as elsewhere,
        ScriptedModel([Canned(status=307, headers={"Location": elsewhere.url})]) as model,
    ):
        asked = make(model.url)
        assert asked.ask().status == 502
        assert elsewhere.seen == []
        assert asked.gate.trouble is not None


@pytest.mark.parametrize("reply", [Canned(delay=30), Canned(drip=0.1, body=b"x" * 1000)], ids=["silent", "dripping"])
def test_a_slow_server_is_given_up(make: Make, reply: Canned) -> None:
    with ScriptedModel([reply]) as model:
        asked = make(model.url, Limits(call_seconds=0.5))
        answer = asked.ask()
        assert answer.status == 502
        assert b"within 0.5 s" in answer.body
        assert len(model.seen) == 1


def test_an_answer_that_ends_early_is_asked_for_again(make: Make) -> None:
    with ScriptedModel([Canned(body=b'{"half": 1', claims=100), openai_text("whole")]) as model:
        asked = make(model.url)
        assert b"whole" in asked.ask().body
        assert asked.gate.counts().retries == 1


def test_an_answer_without_end_is_cut(make: Make) -> None:
    with ScriptedModel([Canned(body=b"x" * 300_000)]) as model:
        answer = make(model.url, Limits(response_bytes=100_000)).ask()
        assert answer.status == 502
        assert len(answer.body) < 1000


def test_closing_ends_a_call_under_way_and_that_is_no_trouble(make: Make) -> None:
    with ScriptedModel([Canned(delay=30)]) as model:
        asked = make(model.url, Limits(call_seconds=600))
        answers: list[Answer] = []
        thread = threading.Thread(target=lambda: answers.append(asked.ask()))
        thread.start()
        while not model.seen:
            time.sleep(0.01)
        asked.gate.close()
        thread.join(20)
        assert not thread.is_alive()
        assert answers[0].status == 502
        assert asked.gate.trouble is None


def test_calls_are_limited(make: Make) -> None:
    with ScriptedModel() as model:
        asked = make(model.url, Limits(calls=2))
        assert [asked.ask().status for _ in range(4)] == [200, 200, 429, 429]
        answer = asked.ask()
        assert (answer.headers["x-should-retry"], b"limit of 2 calls" in answer.body) == ("false", True)
        assert len(model.seen) == 2
        assert (asked.gate.counts().over_limit, asked.gate.usage().calls, asked.gate.trouble) == (3, 2, None)


def test_tokens_are_limited_streams_too(make: Make) -> None:
    with ScriptedModel([openai_stream("one two")]) as model:
        asked = make(model.url, Limits(tokens=30))
        assert [asked.ask({"stream": True}).status for _ in range(3)] == [200, 200, 429]
        assert (asked.gate.usage().input_tokens, asked.gate.usage().output_tokens) == (22, 14)


def test_a_stream_arrives_as_it_came(make: Make) -> None:
    with ScriptedModel([openai_stream("one two")]) as model:
        answer = make(model.url).ask({"stream": True})
        assert answer.headers["content-type"] == "text/event-stream"
        assert [line for line in answer.body.split(b"\n\n") if line][-1] == b"data: [DONE]"
        assert b"usage" not in answer.body


def test_each_call_is_one_line(make: Make) -> None:
    replies = [
        openai_text("hi"),
        Canned(body=b"\xff\xfe", content_type="application/octet-stream"),
        openai_stream("a b"),
    ]
    with ScriptedModel(replies) as model:
        asked = make(model.url, model="chosen")
        asked.ask({"model": "other", "messages": []})
        asked.ask()
        asked.ask({"stream": True})
        asked.ask(call="v1/files")
    first, second, third, fourth = asked.lines()
    assert (first["route"], first["train"], first["status"], first["call"]) == ("policy", True, 200, "chat/completions")
    assert (first["asked_model"], first["request"]["model"]) == ("other", "other")
    assert first["response"]["choices"][0]["message"]["content"] == "hi"
    assert first["usage"] == {"input_tokens": 11, "output_tokens": 7, "cached_tokens": 0}
    assert second["response_base64"] == "//4="
    assert third["response_text"].endswith("data: [DONE]\n\n")
    assert (fourth["refused"], fourth["status"], fourth["train"]) == (True, 404, False)
    assert model.seen[0].json["model"] == "chosen"
    assert asked.calls.stat().st_mode & 0o777 == 0o600


def test_the_users_calls_are_not_for_training(make: Make) -> None:
    with ScriptedModel() as model:
        asked = make(model.url, route="user")
        asked.ask()
        assert (asked.lines()[0]["route"], asked.lines()[0]["train"]) == ("user", False)
        assert (asked.gate.usage("user").calls, asked.gate.usage().calls) == (1, 0)


def test_the_file_is_bounded(make: Make) -> None:
    with ScriptedModel([openai_text("x" * 5000)]) as model:
        asked = make(model.url, Limits(body_bytes=1000, file_bytes=2000))
        for _ in range(20):
            asked.ask()
        assert asked.calls.stat().st_size <= 2000
        assert asked.lines()[0]["response_left_out"] > 5000


def test_refusals_do_not_fill_the_file(make: Make) -> None:
    with ScriptedModel() as model:
        asked = make(model.url)
        for _ in range(300):
            asked.ask(call="v1/files")
        assert len(asked.lines()) == 100
        assert asked.gate.counts().refused == 300


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
