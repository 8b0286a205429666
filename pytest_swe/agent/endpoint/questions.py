"""How many questions a simulated user is asked, as its model sees it.

A simulator may call its model several times for one question (tools of its own, another try), and always sends what it
was asked before. So a question is known by all that the other side has said so far: calls with the same are one
question. Nobody in a sandbox can answer past this, since the answers come from here.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_swe.agent.base import ModelProtocol
from pytest_swe.agent.endpoint.wire import Answer, refusal
from pytest_swe.model import JSON

CHAT = "chat/completions"
MESSAGES = "messages"
RESPONSES = "responses"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Questions of one item: all, those that the model answered, and those beyond ``limit`` (None: there is none)."""

    asked: int = 0
    answered: int = 0
    over_limit: int = 0
    limit: int | None = None

    def to_json(self) -> dict[str, JSON]:
        """As it stands on a reward line."""
        return {"asked": self.asked, "answered": self.answered, "over_limit": self.over_limit, "limit": self.limit}


class Questions:
    """Counts, and lets ``limit`` different questions pass. For many threads."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._passed: set[str] = set()
        self._answered: set[str] = set()
        self._over: set[str] = set()

    def passes(self, question: str) -> bool:
        """Whether a call for ``question`` may be sent; those of a question that passed once always may."""
        with self._lock:
            if question in self._passed:
                return True
            if self._limit is not None and len(self._passed) >= self._limit:
                self._over.add(question)
                return False
            self._passed.add(question)
            return True

    def was_answered(self, question: str) -> None:
        """Its model answered a call for it."""
        with self._lock:
            self._answered.add(question)

    @property
    def counted(self) -> Asked:
        with self._lock:
            over = len(self._over)
            return Asked(
                asked=len(self._passed) + over, answered=len(self._answered), over_limit=over, limit=self._limit
            )

    def no_more(self, call: str, body: bytes) -> Answer:
        """What a simulator gets beyond the limit: where it can be said so, a turn of its model that says it."""
        text = f"The user answers no more questions: {self._limit} were allowed, and all of them have been asked."
        document = _object(body)
        if document.get("stream") or call not in (CHAT, MESSAGES):
            return refusal(429, "limit_reached", text)
        model = str(document.get("model") or "")
        return _answer(_completion(text, model) if call == CHAT else _message(text, model))


def question_of(protocol: ModelProtocol, call: str, body: bytes) -> str:
    """What a call's question is known by; empty for a call that is no turn of a user's."""
    document = _object(body)
    known = (CHAT, RESPONSES) if protocol == "openai" else (MESSAGES,)
    if call not in known:
        return ""
    said = document.get("input") if call == RESPONSES else document.get("messages")
    turns = [said] if isinstance(said, str) else [*_turns(said)]
    if not turns:
        return ""
    text = json.dumps([document.get("previous_response_id"), turns], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _turns(messages: JSON) -> Iterator[JSON]:
    """What the other side said; results of the simulator's own tools are none of it."""
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, dict) or message.get("role") != "user":
            continue
        content = message.get("content")
        if isinstance(content, list):
            content = [part for part in content if not (isinstance(part, dict) and part.get("type") == "tool_result")]
        if content:
            yield content


def _object(body: bytes) -> dict[str, JSON]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _answer(document: Mapping[str, JSON]) -> Answer:
    return Answer(status=200, headers={"content-type": "application/json"}, body=json.dumps(document).encode("ascii"))


def _completion(text: str, model: str) -> dict[str, JSON]:
    """https://platform.openai.com/docs/api-reference/chat/object"""
    choice: dict[str, JSON] = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    used: dict[str, JSON] = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    whole: dict[str, JSON] = {"id": "no-more", "object": "chat.completion", "created": 0, "model": model}
    return {**whole, "choices": [choice], "usage": used}


def _message(text: str, model: str) -> dict[str, JSON]:
    """https://docs.anthropic.com/en/api/messages"""
    whole: dict[str, JSON] = {"id": "no-more", "type": "message", "role": "assistant", "model": model}
    used: dict[str, JSON] = {"input_tokens": 0, "output_tokens": 0}
    said: JSON = [{"type": "text", "text": text}]
    return {**whole, "content": said, "stop_reason": "end_turn", "stop_sequence": None, "usage": used}
