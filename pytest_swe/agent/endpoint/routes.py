"""Where a model is, what of it may be asked, and how much. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from pytest_swe.agent.base import ModelProtocol
from pytest_swe.errors import UsageError

#: ``policy`` is the model that is measured or trained, ``user`` the one that plays a user.
RouteName = Literal["policy", "user"]

#: What the two protocols are made of, as method and path behind ``/v1/``. All else is refused here, never sent.
#: https://platform.openai.com/docs/api-reference https://docs.anthropic.com/en/api/overview
CALLS: Mapping[ModelProtocol, frozenset[tuple[str, str]]] = {
    "openai": frozenset(
        {
            ("POST", "chat/completions"),
            ("POST", "responses"),
            ("POST", "completions"),
            ("POST", "embeddings"),
            ("GET", "models"),
        }
    ),
    "anthropic": frozenset({("POST", "messages"), ("POST", "messages/count_tokens"), ("GET", "models")}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRoute:
    """One model behind the endpoint.

    ``url`` is what its clients call the base URL: with ``/v1`` or without. ``key_variable`` names the environment
    variable that holds its key, None where it needs none. ``model`` is asked for whatever the client names; empty
    leaves that to the client. ``hosted_tools``: requests may ask for tools that the provider runs (search, fetch,
    code), which reach what a sandbox without a network does not. One item may send ``calls`` of them, and use
    ``tokens`` in and out together (looked at before each call); None is no limit.

    Raises UsageError for an address that is none.
    """

    url: str
    protocol: ModelProtocol
    model: str = ""
    key_variable: str | None = None
    route: RouteName = "policy"
    hosted_tools: bool = False
    calls: int | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        problem = _problem(self.url)
        if problem:
            raise UsageError(
                f"the address of the {self.route} model {problem}", hint="write it like http://127.0.0.1:8000/v1"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What each of an item's routes bears. None is no limit.

    ``request_bytes`` and ``response_bytes`` of one call; ``parallel`` calls at a time; ``call_seconds`` for one call
    with all its ``attempts``; ``first_pause`` seconds before the second of them. ``body_bytes`` of one body and
    ``file_bytes`` of all are recorded. ``questions`` that the route ``user`` answers, see
    `pytest_swe.agent.endpoint.questions`.
    """

    request_bytes: int = 16 * 1024 * 1024
    response_bytes: int = 16 * 1024 * 1024
    parallel: int = 8
    call_seconds: float = 900.0
    attempts: int = 4
    first_pause: float = 1.0
    body_bytes: int = 16 * 1024 * 1024
    file_bytes: int = 1024 * 1024 * 1024
    questions: int | None = None


def called(target: str, *, method: str, protocol: ModelProtocol) -> str | None:
    """The call behind ``/v1/`` that a path (after the prefix) means, or None. Clients add ``/v1`` or do not."""
    name = target.lstrip("/").removeprefix("v1/")
    return name if (method, name) in CALLS[protocol] else None


def address(route: ModelRoute, call: str) -> str:
    """The upstream's URL of a call.

    OpenAI's clients take a base URL up to what precedes ``chat/completions``; a bare host means its ``/v1``.
    Anthropic's take it without ``/v1``.
    """
    base = route.url.rstrip("/")
    if route.protocol == "openai":
        return f"{base}/{call}" if urlsplit(base).path else f"{base}/v1/{call}"
    return f"{base.removesuffix('/v1')}/v1/{call}"


def _problem(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        return f"cannot be read: {error}"
    if parts.scheme not in ("http", "https") or not host:
        return "is neither http:// nor https://"
    if parts.username is not None or parts.query or parts.fragment:
        return "holds a user, a query or a fragment; a key belongs in an environment variable"
    if not url.isascii() or any(letter.isspace() for letter in url) or port == 0:
        return "holds what no address holds"
    return ""
