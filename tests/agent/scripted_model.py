"""A model server on loopback that says what it is told to: OpenAI's and Anthropic's protocol, and their troubles.

    with ScriptedModel([openai_text("hello"), Canned(status=429), Canned(resets=True)]) as model:
        ... model.url ... model.seen[0].json["messages"] ...

Replies are given in their order, whoever asks for what; the last one again and again. ``python scripted_model.py`` runs
one that says hello.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
ANTHROPIC_USAGE = {"input_tokens": 11, "cache_read_input_tokens": 5, "output_tokens": 7}


@dataclass(frozen=True, slots=True, kw_only=True)
class Canned:
    """One reply. ``resets``: the connection breaks; ``delay`` seconds before it, ``drip`` seconds a byte.

    ``claims`` is a length that is not the body's; then the connection ends.

    ``body`` may be made of the request.
    """

    status: int = 200
    body: bytes | Callable[[Seen], bytes] = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    delay: float = 0.0
    resets: bool = False
    claims: int | None = None
    drip: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One request as it came. Names of headers are lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class ScriptedModel:
    """The server; see the module. ``seen`` are the requests so far."""

    def __init__(self, replies: Iterable[Canned] = ()) -> None:
        self.seen: list[Seen] = []
        self._replies = list(replies) or [openai_text("hello")]
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.model = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def next_reply(self, seen: Seen) -> Canned:
        with self._lock:
            self.seen.append(seen)
            return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    model: ScriptedModel

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that broke off is part of the play."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(method=self.command, path=self.path, headers=headers, body=body)
        reply = self.server.model.next_reply(seen)
        time.sleep(reply.delay)
        if reply.resets:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            return
        data = reply.body(seen) if callable(reply.body) else reply.body
        self.send_response(reply.status)
        for name, value in {"Content-Type": reply.content_type, **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data) if reply.claims is None else reply.claims))
        self.close_connection = self.close_connection or reply.claims is not None
        self.end_headers()
        if reply.drip:
            for place in range(len(data)):
                self.wfile.write(data[place : place + 1])
                time.sleep(reply.drip)
        else:
            self.wfile.write(data)

    do_POST = do_DELETE = do_PUT = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def packed(document: Mapping[str, Any], **more: Any) -> Canned:
    return Canned(body=json.dumps(document).encode(), **more)


def openai_text(text: str, *, usage: Mapping[str, Any] = USAGE, **more: Any) -> Canned:
    """A chat completion that says ``text``."""
    return _completion({"role": "assistant", "content": text}, "stop", usage, more)


def openai_tool(name: str, arguments: Mapping[str, Any], *, usage: Mapping[str, Any] = USAGE, **more: Any) -> Canned:
    """A chat completion that calls a tool."""
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return _completion({"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls", usage, more)


def anthropic_text(text: str, *, usage: Mapping[str, Any] = ANTHROPIC_USAGE, **more: Any) -> Canned:
    """A message that says ``text``."""
    content = [{"type": "text", "text": text}]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": content}
    return packed({**message, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}, **more)


def sse(*events: Mapping[str, Any] | str, named: bool = False) -> Canned:
    """A stream of server-sent events; ``named``: with the event's type before it, as Anthropic does."""
    lines = []
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event)
        name = f"event: {event['type']}\n" if named and not isinstance(event, str) else ""
        lines.append(f"{name}data: {data}\n\n")
    return Canned(body="".join(lines).encode(), content_type="text/event-stream; charset=utf-8")


def openai_stream(text: str) -> Canned:
    """A stream of chat completions that tells what it used if the request asks for that."""

    def body(seen: Seen) -> bytes:
        whole = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
        words = [{**whole, "choices": [{"index": 0, "delta": {"content": word}}]} for word in text.split()]
        last = {**whole, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        asked = (seen.json.get("stream_options") or {}).get("include_usage")
        count = [{**whole, "choices": [], "usage": USAGE}] if asked else []
        found = sse(*words, last, *count, "[DONE]").body
        assert isinstance(found, bytes)
        return found

    return Canned(body=body, content_type="text/event-stream")


def _completion(message: Mapping[str, Any], reason: str, usage: Mapping[str, Any], more: Mapping[str, Any]) -> Canned:
    choice = {"index": 0, "message": message, "finish_reason": reason}
    whole = {"id": "c1", "object": "chat.completion", "created": 1, "model": "scripted", "choices": [choice]}
    return packed({**whole, "usage": usage}, **more)


if __name__ == "__main__":
    with ScriptedModel() as said_hello:
        print(said_hello.url, flush=True)
        threading.Event().wait()
