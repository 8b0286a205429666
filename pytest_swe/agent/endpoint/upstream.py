"""The model's own server: asked with the real key, again when it is busy or broken, and given up after a while."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from dataclasses import dataclass, replace

import tenacity

from pytest_swe.agent.endpoint.connection import Connections, NoConnection, Reply, TooLong
from pytest_swe.agent.endpoint.keys import key_of
from pytest_swe.agent.endpoint.meter import Trouble
from pytest_swe.agent.endpoint.routes import Limits, ModelRoute, address
from pytest_swe.agent.endpoint.wire import one_line
from pytest_swe.sandbox.images.retry_after import retry_after

#: Headers of a client that are passed on, and those of an answer that go back. All others are dropped: keys, cookies,
#: what belongs to one connection only.
ASKED = ("accept", "content-type", "anthropic-version", "anthropic-beta", "openai-beta")
ANSWERED = ("content-type", "retry-after", "retry-after-ms", "x-should-retry", "x-request-id", "request-id")
ANTHROPIC_VERSION = "2023-06-01"

#: What is worth another attempt. 529 is Anthropic's "overloaded". https://docs.anthropic.com/en/api/errors
AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
#: Our key, or its account, is at fault; or the agent asked for what that key may not have, or cannot pay.
REFUSED = frozenset({401, 402})

#: A longer Retry-After is the client's to wait for. Seconds.
LONGEST_WAIT = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a call: a reply, or (``reply`` None) why there is none."""

    reply: Reply | None = None
    trouble: Trouble | None = None
    again: bool = False
    attempts: int = 1


class Upstream:
    """One route's server. Raises UsageError when the key's variable is not set."""

    def __init__(self, route: ModelRoute, limits: Limits) -> None:
        self.key = key_of(route)
        self._route = route
        self._limits = limits

    def call(
        self, connections: Connections, method: str, call: str, headers: Mapping[str, str], body: bytes
    ) -> Outcome:
        """Ask until there is an answer that counts, no attempt is left, or ``connections`` are cancelled."""
        limits = self._limits
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(limits.attempts)
            | tenacity.stop_after_delay(limits.call_seconds)
            | tenacity.stop_when_event_set(connections.cancelled),
            wait=self._pause,
            retry=tenacity.retry_if_result(_is_worth_another),
            sleep=tenacity.sleep_using_event(connections.cancelled),
            retry_error_callback=_last,
        )
        sent = {**{name: one_line(headers[name]) for name in ASKED if name in headers}, **self._own_headers(headers)}
        outcome = retrying(self._once, connections, method, address(self._route, call), sent, body)
        return replace(outcome, attempts=int(retrying.statistics.get("attempt_number", 1)))

    def _own_headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        # What is not compressed can be read here, recorded, and cleared of keys.
        own = {"accept-encoding": "identity", "user-agent": "pytest-swe"}
        if self._route.protocol == "anthropic":
            own["anthropic-version"] = one_line(headers.get("anthropic-version", ANTHROPIC_VERSION))
            return own | ({"x-api-key": self.key} if self.key else {})
        return own | ({"authorization": f"Bearer {self.key}"} if self.key else {})

    def _once(
        self, connections: Connections, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> Outcome:
        limits = self._limits
        try:
            reply = connections.exchange(
                method, url, headers, body, seconds=limits.call_seconds, limit=limits.response_bytes
            )
        except NoConnection as error:
            return Outcome(trouble=Trouble(f"the model's server cannot be reached: {error}", False), again=True)
        except TimeoutError:
            detail = f"the model's server did not answer within {limits.call_seconds:g} s"
            return Outcome(trouble=Trouble(detail, True))
        except TooLong:
            return Outcome(trouble=Trouble(f"the answer is larger than {limits.response_bytes} bytes", True))
        except (OSError, http.client.HTTPException) as error:
            detail = f"the model's server broke off: {str(error) or type(error).__name__}"
            return Outcome(trouble=Trouble(detail, True), again=True)
        return _judged(reply)

    def _pause(self, state: tenacity.RetryCallState) -> float:
        first = self._limits.first_pause
        usual = tenacity.wait_exponential(multiplier=first, max=20) + tenacity.wait_random(0, first / 4)
        outcome: Outcome = state.outcome.result() if state.outcome else Outcome()
        return _told(outcome) or usual(state)


def _judged(reply: Reply) -> Outcome:
    encoding = reply.headers.get("content-encoding", "identity")
    if encoding != "identity":
        return Outcome(trouble=Trouble(f"the model's server answers in {encoding[:20]}, unasked", False))
    if 300 <= reply.status < 400:
        detail = f"the model's server redirects (status {reply.status}); name the address where it ends"
        return Outcome(trouble=Trouble(detail, False))
    if reply.status in REFUSED:
        return Outcome(reply=reply, trouble=Trouble(f"the model's server refuses our key: status {reply.status}", True))
    if reply.status in AGAIN or reply.status >= 500:
        detail = f"the model's server answers with status {reply.status}"
        return Outcome(reply=reply, trouble=Trouble(detail, True), again=reply.status in AGAIN)
    return Outcome(reply=reply)


def _is_worth_another(outcome: Outcome) -> bool:
    return outcome.again and (_told(outcome) or 0.0) <= LONGEST_WAIT


def _told(outcome: Outcome) -> float | None:
    """Seconds that the upstream asks to wait for."""
    headers = outcome.reply.headers if outcome.reply else {}
    return retry_after(headers.get("retry-after"), headers.get("date"))


def _last(state: tenacity.RetryCallState) -> Outcome:
    found: Outcome = state.outcome.result() if state.outcome else Outcome()
    return found
