"""Questions to a simulated user, counted at its model's route."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_model import Canned, ScriptedModel, anthropic_text, openai_text

from pytest_swe.agent.endpoint.connection import Connections
from pytest_swe.agent.endpoint.gate import PLANNED_PORTS, ModelGate
from pytest_swe.agent.endpoint.questions import Asked, question_of
from pytest_swe.agent.endpoint.routes import Limits, ModelRoute
from pytest_swe.agent.endpoint.wire import Answer, Request
from pytest_swe.errors import UsageError

Messages = list[dict[str, Any]]

SYSTEM = {"role": "system", "content": "you are a user"}
FIRST = {"role": "user", "content": "What do you want?"}
REPLY = {"role": "assistant", "content": "A thing."}
SECOND = {"role": "user", "content": "Is it done?"}
TOOL_CALL = {"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]}
TOOL = {"role": "tool", "tool_call_id": "1", "content": "a diff"}


class Simulator:
    """Asks the user's model as a simulator does."""

    def __init__(self, gate: ModelGate) -> None:
        self.gate = gate
        self.service = gate._services["user"]
        self.connections = Connections()

    def ask(self, messages: Messages, call: str = "chat/completions", **more: Any) -> Answer:
        body = json.dumps({"model": "m", "messages": messages, **more}).encode()
        path = f"/{self.service.prefix}/v1/{call}"
        return self.service.answer(Request(id="1", method="POST", path=path, body=body), self.connections)


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    return tmp_path / "calls.jsonl"


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel([openai_text("A thing.")]) as made:
        yield made


Make = Callable[..., Simulator]


@pytest.fixture
def simulator(calls: Path) -> Iterator[Make]:
    made: list[ModelGate] = []

    def make(url: str, questions: int | None = None, protocol: Any = "openai") -> Simulator:
        route = ModelRoute(url=url, protocol=protocol, route="user")
        made.append(ModelGate([route], calls_file=calls, limits=Limits(questions=questions, attempts=1)))
        return Simulator(made[-1])

    yield make
    for gate in made:
        gate.close()


def test_calls_that_go_on_with_a_question_are_that_question(model: ScriptedModel, simulator: Make) -> None:
    asked = simulator(model.url)
    asked.ask([SYSTEM, FIRST])
    asked.ask([SYSTEM, FIRST, TOOL_CALL, TOOL])
    asked.ask([SYSTEM, FIRST, {"role": "system", "content": "what the tools found"}])
    assert asked.gate.questions == Asked(asked=1, answered=1)
    asked.ask([SYSTEM, FIRST, REPLY, SECOND])
    # The same words again, later: another question.
    asked.ask([SYSTEM, FIRST, REPLY, SECOND, REPLY, SECOND])
    assert asked.gate.questions == Asked(asked=3, answered=3)


def test_what_the_model_did_not_answer_is_asked_and_not_answered(simulator: Make) -> None:
    with ScriptedModel([Canned(status=400), openai_text("A thing.")]) as model:
        asked = simulator(model.url)
        asked.ask([FIRST])
        assert asked.gate.questions == Asked(asked=1, answered=0)
        asked.ask([FIRST])
        assert asked.gate.questions == Asked(asked=1, answered=1)


def test_over_the_limit_the_answer_says_so_and_the_model_is_not_asked(
    model: ScriptedModel, simulator: Make, calls: Path
) -> None:
    asked = simulator(model.url, questions=1)
    asked.ask([SYSTEM, FIRST])
    answer = asked.ask([SYSTEM, FIRST, REPLY, SECOND])
    said = json.loads(answer.body)["choices"][0]["message"]["content"]
    assert answer.status == 200
    assert "no more questions: 1 were allowed" in said
    # What goes on with the first question still passes.
    assert (
        json.loads(asked.ask([SYSTEM, FIRST, TOOL_CALL, TOOL]).body)["choices"][0]["message"]["content"] == "A thing."
    )
    assert len(model.seen) == 2
    assert asked.gate.questions == Asked(asked=2, answered=1, over_limit=1, limit=1)
    lines = [json.loads(line) for line in calls.read_text().splitlines()]
    assert [line.get("refused", False) for line in lines] == [False, True, False]
    assert {line["train"] for line in lines} == {False}


def test_no_question_at_all_may_be_allowed(model: ScriptedModel, simulator: Make) -> None:
    asked = simulator(model.url, questions=0)
    assert b"no more questions" in asked.ask([FIRST]).body
    assert not model.seen


def test_a_stream_over_the_limit_is_refused_in_words(model: ScriptedModel, simulator: Make) -> None:
    answer = simulator(model.url, questions=0).ask([FIRST], stream=True)
    assert answer.status == 429
    assert b"no more questions" in answer.body


def test_anthropics_messages_are_counted_alike(simulator: Make) -> None:
    with ScriptedModel([anthropic_text("A thing.")]) as model:
        asked = simulator(model.url, questions=1, protocol="anthropic")
        result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "a diff"}]}
        assert asked.ask([FIRST], "messages").status == 200
        assert asked.ask([FIRST, {"role": "assistant", "content": []}, result], "messages").status == 200
        assert asked.gate.questions == Asked(asked=1, answered=1, limit=1)
        over = json.loads(asked.ask([FIRST, REPLY, SECOND], "messages").body)
        assert "no more questions" in over["content"][0]["text"]
        assert len(model.seen) == 2


def test_turns_of_responses_are_known_by_what_they_follow() -> None:
    def question(**document: Any) -> str:
        return question_of("openai", "responses", json.dumps(document).encode())

    one = question(input="What do you want?")
    assert one
    assert one != question(input="What do you want?", previous_response_id="r1")
    assert question(input=[{"type": "function_call_output", "output": "x"}], previous_response_id="r1") == ""
    assert question_of("openai", "embeddings", b'{"input": "a text"}') == ""
    assert question_of("openai", "chat/completions", b"no JSON") == ""


def test_the_agents_own_route_counts_no_questions(model: ScriptedModel) -> None:
    gate = ModelGate([ModelRoute(url=model.url, protocol="openai")], limits=Limits(questions=0))
    service = gate._services["policy"]
    body = json.dumps({"messages": [FIRST]}).encode()
    request = Request(id="1", method="POST", path=f"/{service.prefix}/v1/chat/completions", body=body)
    assert service.answer(request, Connections()).status == 200
    assert gate.questions == Asked()


def test_a_plan_is_the_address_that_will_be_opened(model: ScriptedModel, simulator: Make) -> None:
    gate = simulator(model.url).gate
    plan = gate.planned("user")
    assert plan.port in PLANNED_PORTS
    assert plan.endpoint.url == f"http://127.0.0.1:{plan.port}/{gate._services['user'].prefix}"
    with pytest.raises(UsageError, match="there is no policy model"):
        gate.planned("policy")
