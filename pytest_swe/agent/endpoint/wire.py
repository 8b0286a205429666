"""What passes between the host and the relay in a sandbox: requests out, answers back. Pure.

What comes out of a sandbox is whatever the agent wants it to be; see `relay` for the form it should have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_swe.model import JSON

#: Bytes of the line before a body: the relay's server takes a hundred headers of 64 KiB, nobody needs them.
LONGEST_HEADER = 256 * 1024


class Garbled(ValueError):
    """What came out of the sandbox is no request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of an agent's client. Names of headers are lower case; ``path`` is as it was sent, with its query."""

    id: str
    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the client gets."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


def request_from(printed: bytes, *, limit: int) -> Request:
    """What ``relay.py take`` printed. Raises Garbled for anything but one whole request of at most ``limit`` bytes."""
    end = printed.find(b"\n", 0, LONGEST_HEADER)
    if end < 0:
        raise Garbled("no header")
    try:
        header = json.loads(printed[:end])
    except (ValueError, RecursionError) as error:
        raise Garbled("the header is no JSON") from error
    if not isinstance(header, dict):
        raise Garbled("the header is no object")
    texts = [header.get(name) for name in ("id", "method", "path")]
    headers = header.get("headers")
    body = printed[end + 1 :]
    if header.get("length") != len(body) or len(body) > limit:
        raise Garbled("the body has another length")
    if not all(isinstance(text, str) and len(text) < LONGEST_HEADER for text in texts) or not isinstance(headers, dict):
        raise Garbled("the header lacks a field")
    return Request(
        id=str(texts[0]),
        method=str(texts[1]),
        path=str(texts[2]),
        headers={str(name).lower(): str(value) for name, value in headers.items()},
        body=body,
    )


def answer_frame(request: Request, answer: Answer) -> bytes:
    """What ``relay.py give`` takes."""
    header: dict[str, JSON] = {
        "id": request.id,
        "status": answer.status,
        "headers": dict(answer.headers),
        "length": len(answer.body),
    }
    return json.dumps(header).encode("ascii") + b"\n" + answer.body


def refusal(status: int, kind: str, message: str) -> Answer:
    """An answer of our own, which both protocols' clients can read, and which they do not try again.

    https://github.com/openai/openai-python and https://github.com/anthropics/anthropic-sdk-python look at
    ``x-should-retry``.
    """
    error: dict[str, JSON] = {"type": kind, "code": kind, "message": message}
    body = json.dumps({"type": "error", "error": error}).encode("ascii")
    return Answer(status=status, headers={"content-type": "application/json", "x-should-retry": "false"}, body=body)


def one_line(text: str) -> str:
    """What a header or a line of a log can carry of ``text``."""
    return "".join(letter if letter.isprintable() and letter.isascii() else " " for letter in text[:500])
