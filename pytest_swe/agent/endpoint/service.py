"""One route of one item: what becomes of a request, from its path to the answer. For many threads."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Mapping
from itertools import count

from pytest_swe.agent.base import Usage
from pytest_swe.agent.endpoint import bodies
from pytest_swe.agent.endpoint.connection import Connections
from pytest_swe.agent.endpoint.meter import Meter
from pytest_swe.agent.endpoint.probe import Probe
from pytest_swe.agent.endpoint.questions import Questions, question_of
from pytest_swe.agent.endpoint.recorder import Recorder
from pytest_swe.agent.endpoint.routes import Limits, ModelRoute, called
from pytest_swe.agent.endpoint.upstream import ANSWERED, REFUSED, Outcome, Upstream
from pytest_swe.agent.endpoint.wire import Answer, Request, one_line, refusal
from pytest_swe.masking import Secrets
from pytest_swe.model import JSON

#: Refused requests that are written down; a client in a loop makes any number of them.
REFUSALS_WRITTEN = 100


class Service:
    """Answers the requests of one route. ``prefix`` is what their paths begin with; nobody else knows it."""

    def __init__(
        self,
        route: ModelRoute,
        limits: Limits,
        upstream: Upstream,
        *,
        recorder: Recorder,
        keys: Secrets,
    ) -> None:
        self.route = route
        self.prefix = f"{secrets.token_hex(16)}/{route.route}"
        self.meter = Meter(route)
        self.questions = Questions(limits.questions) if route.route == "user" else None
        self._probe = Probe(route, limits)
        self._upstream = upstream
        self._recorder = recorder
        self._keys = keys
        self._numbers = count(1)
        self._refusals = count(1)

    def answer(self, request: Request, connections: Connections) -> Answer:
        """What the client of ``request`` gets; never an exception of the request's making."""
        call = self._called(request)
        if call is None:
            return self._refused(request, refusal(404, "not_found", "the model endpoint has no such path"))
        try:
            sent = bodies.prepared(self.route, call, request.body) if request.method == "POST" else bodies.Prepared()
        except bodies.NotAllowed as error:
            return self._refused(request, refusal(400, "invalid_request_error", str(error)))
        question = question_of(self.route.protocol, call, sent.body) if self.questions is not None else ""
        if self.questions is not None and question and not self.questions.passes(question):
            return self._refused(request, self.questions.no_more(call, sent.body))
        over = self.meter.admit()
        if over:
            return self._refused(request, refusal(429, "limit_reached", over), counted=True)
        answer = self._sent(request, connections, call, sent)
        if self.questions is not None and question and answer.status == 200:
            self.questions.was_answered(question)
        return answer

    def is_broken(self) -> bool:
        """Whether the server fails at a request of ours too, of the kind that failed last."""
        return self._probe.fails()

    def _called(self, request: Request) -> str | None:
        path = request.path.partition("?")[0].lstrip("/")
        prefix, rest = path[: len(self.prefix)], path[len(self.prefix) :]
        if not hmac.compare_digest(prefix.encode("utf-8", "replace"), self.prefix.encode()) or not rest.startswith("/"):
            return None
        return called(rest, method=request.method, protocol=self.route.protocol)

    def _sent(self, request: Request, connections: Connections, call: str, sent: bodies.Prepared) -> Answer:
        begun, clock = time.time(), time.monotonic()
        outcome = self._upstream.call(connections, request.method, call, request.headers, sent.body)
        body = outcome.reply.body if outcome.reply else b""
        usage = bodies.usage_in(self.route.protocol, body)
        # What the end of the agent broke off says nothing about the model's server.
        trouble = None if connections.cancelled.is_set() else outcome.trouble
        self.meter.done(usage, attempts=outcome.attempts, trouble=trouble)
        if trouble is not None:
            self._probe.call = call
            self._probe.refused = outcome.reply is not None and outcome.reply.status in REFUSED
        answer = self._answered(outcome, bodies.without_count(body) if sent.counted else body)
        facts: dict[str, JSON] = {
            "number": next(self._numbers),
            "call": call,
            "time": round(begun, 3),
            "seconds": round(time.monotonic() - clock, 3),
            "attempts": outcome.attempts,
            "usage": _shown(usage),
        }
        if sent.asked_model:
            facts["asked_model"] = sent.asked_model
        if outcome.trouble is not None:
            facts["trouble"] = outcome.trouble.detail
        self._write(facts, request, answer)
        return answer

    def _answered(self, outcome: Outcome, body: bytes) -> Answer:
        """The upstream's own answer, errors too, without any key that it may repeat; or what there is in its place."""
        if outcome.reply is None:
            detail = outcome.trouble.detail if outcome.trouble else "no answer"
            return refusal(502, "upstream_failed", self._keys.masked_text(detail))
        kept = {name: outcome.reply.headers[name] for name in ANSWERED if name in outcome.reply.headers}
        headers = {name: self._keys.masked_text(one_line(value)) for name, value in kept.items()}
        return Answer(status=outcome.reply.status, headers=headers, body=self._keys.masked(body))

    def _refused(self, request: Request, answer: Answer, *, counted: bool = False) -> Answer:
        if not counted:
            self.meter.refuse()
        if next(self._refusals) <= REFUSALS_WRITTEN:
            self._write(
                {"time": round(time.time(), 3), "refused": True, "path": one_line(request.path)}, request, answer
            )
        return answer

    def _write(self, facts: Mapping[str, JSON], request: Request, answer: Answer) -> None:
        train = self.route.route == "policy" and "refused" not in facts
        whose: dict[str, JSON] = {"route": self.route.route, "train": train, "status": answer.status}
        self._recorder.write({**whose, **facts}, request=request.body, response=answer.body)


def _shown(usage: Usage) -> JSON:
    shown: dict[str, JSON] = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
    }
    return shown | ({} if usage.cost_usd is None else {"cost_usd": usage.cost_usd})
