"""The control of a model's server: does it fail at a small request of ours too, or only at the agent's?

An agent can make a server fail (a request that is too much for it), and nothing measured must not be for sale.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from pytest_swe.agent.base import ModelProtocol
from pytest_swe.agent.endpoint.connection import Connections
from pytest_swe.agent.endpoint.routes import Limits, ModelRoute
from pytest_swe.agent.endpoint.upstream import Upstream
from pytest_swe.model import JSON

#: Seconds for the request with its attempts.
LONGEST = 120.0

#: Of a path that the server does not have: says nothing of the key.
NOT_THERE = 404

_WORD = "Say ok."
_MESSAGES: JSON = [{"role": "user", "content": _WORD}]
#: What each call needs besides the model. 16 is the fewest tokens that OpenAI's responses allow.
#: https://platform.openai.com/docs/api-reference https://docs.anthropic.com/en/api/messages
_BODIES: Mapping[str, Mapping[str, JSON]] = {
    "chat/completions": {"messages": _MESSAGES},
    "responses": {"input": _WORD, "max_output_tokens": 16},
    "completions": {"prompt": _WORD, "max_tokens": 1},
    "embeddings": {"input": _WORD},
    "messages": {"messages": _MESSAGES, "max_tokens": 16},
    "messages/count_tokens": {"messages": _MESSAGES},
}


#: What a key that works is good for, where it may be refused for one kind of request, or one that costs too much.
_USUAL: Mapping[ModelProtocol, tuple[str, ...]] = {
    "openai": ("chat/completions", "responses"),
    "anthropic": ("messages",),
}


class Probe:
    """Asks the server of ``route``. ``call`` is the kind of request; one that the agent had no answer to.

    ``refused``: its key was, or its account.
    """

    def __init__(self, route: ModelRoute, limits: Limits) -> None:
        self._route = route
        self._upstream = Upstream(route, replace(limits, call_seconds=min(limits.call_seconds, LONGEST)))
        self.call = "models"
        self.refused = False

    def fails(self) -> bool:
        """Whether there is no answer that counts. An answer that refuses the request (status 400) is one."""
        if self._answers(self.call):
            return False
        return not (self.refused and any(self._answers(call) for call in _USUAL[self._route.protocol]))

    def _answers(self, kind: str) -> bool:
        needs = _BODIES.get(kind)
        body = b"" if needs is None else json.dumps({"model": self._route.model, **needs}).encode()
        method = "POST" if body else "GET"
        outcome = self._upstream.call(Connections(), method, kind, {"content-type": "application/json"}, body)
        return outcome.trouble is None and outcome.reply is not None and outcome.reply.status != NOT_THERE
