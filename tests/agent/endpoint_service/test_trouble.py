"""One route without a sandbox: a real server on loopback is asked, and what it does wrong is dealt with."""

from __future__ import annotations

import json
import threading
import time

import pytest
from scripted_model import Canned, ScriptedModel, Seen, openai_text, packed

from pytest_swe.agent.endpoint.routes import Limits
from pytest_swe.agent.endpoint.wire import Answer

from .asked import FAST, KEY, Make


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
