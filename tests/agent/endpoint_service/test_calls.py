"""The calls of one route: their limits, their count, and the file in which each is a line."""

from __future__ import annotations

from scripted_model import Canned, ScriptedModel, openai_stream, openai_text

from pytest_swe.agent.endpoint.routes import Limits

from .asked import Make


def test_calls_are_limited(make: Make) -> None:
    with ScriptedModel() as model:
        asked = make(model.url, calls=2)
        assert [asked.ask().status for _ in range(4)] == [200, 200, 429, 429]
        answer = asked.ask()
        assert (answer.headers["x-should-retry"], b"limit of 2 calls" in answer.body) == ("false", True)
        assert len(model.seen) == 2
        assert (asked.gate.counts().over_limit, asked.gate.usage().calls, asked.gate.trouble) == (3, 2, None)


def test_tokens_are_limited_streams_too(make: Make) -> None:
    with ScriptedModel([openai_stream("one two")]) as model:
        asked = make(model.url, tokens=30)
        assert [asked.ask({"stream": True}).status for _ in range(3)] == [200, 200, 429]
        assert (asked.gate.usage().input_tokens, asked.gate.usage().output_tokens) == (22, 14)


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
