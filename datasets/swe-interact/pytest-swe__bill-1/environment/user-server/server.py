"""A simulated user as an MCP server: one tool, ask_user, over streamable HTTP at /mcp on port 8000.

Questions go to a model that plays the maintainer of persona.md. It may look at the repository by a tool of its own before
it answers. What was said is kept for as long as this process runs, so it is one conversation over all steps of the task.
"""

import json
import os
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

MODEL_URL = os.environ.get("LITELLM_BASE_URL", "").rstrip("/")
MODEL_KEY = os.environ.get("LITELLM_API_KEY") or "none"
MODEL = os.environ.get("SIM_USER_MODEL") or "user"
REPOSITORY = "http://main:8765/tool"
ROUNDS = 6
LOG = Path("/var/log/user-server/conversation.jsonl")

PERSONA = Path(__file__).with_name("persona.md").read_text()
ASK_USER = {
    "name": "ask_user",
    "description": "Ask the maintainer something, and get the answer.",
    "inputSchema": {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]},
}
RUN_COMMAND = {
    "type": "function",
    "function": {
        "name": "run_repo_command",
        "description": "Look at the repository, in private: git status, diff, show, log, ls-files, grep; ls; grep.",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    },
}


class NoAnswer(Exception):
    """The maintainer cannot be reached."""


class User:
    """The maintainer, who is asked one thing at a time."""

    def __init__(self) -> None:
        self._said: list[dict[str, Any]] = [{"role": "system", "content": PERSONA}]
        self._lock = threading.Lock()

    def ask(self, question: str) -> str:
        if not MODEL_URL:
            raise NoAnswer("no model plays the maintainer: LITELLM_BASE_URL is empty")
        with self._lock:
            self._said.append({"role": "user", "content": question})
            answer = self._answer()
            self._said.append({"role": "assistant", "content": answer})
            LOG.parent.mkdir(parents=True, exist_ok=True)
            with LOG.open("a") as log:
                log.write(json.dumps({"question": question, "answer": answer}) + "\n")
            return answer

    def _answer(self) -> str:
        thought = list(self._said)
        for _ in range(ROUNDS):
            document = {"model": MODEL, "messages": thought, "tools": [RUN_COMMAND]}
            message = posted(f"{MODEL_URL}/v1/chat/completions", document)["choices"][0]["message"]
            if not message.get("tool_calls"):
                return str(message.get("content") or "")
            thought.append(message)
            for call in message["tool_calls"]:
                order = {"tool": "run_command", "args": json.loads(call["function"]["arguments"])}
                found = json.dumps(posted(REPOSITORY, order))
                thought.append({"role": "tool", "tool_call_id": call["id"], "content": found})
        raise NoAnswer("the maintainer looked at the repository for too long")


def posted(url: str, document: object) -> Any:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {MODEL_KEY}"}
    request = urllib.request.Request(url, json.dumps(document).encode(), headers)
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)


def result_of(method: str, parameters: dict[str, Any], user: User) -> dict[str, Any]:
    """What a request of the protocol gives. Raises LookupError for one that is unknown."""
    if method == "initialize":
        version = parameters.get("protocolVersion") or "2025-03-26"
        about = {"name": "user-server", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [ASK_USER]}
    if method == "tools/call" and parameters.get("name") == "ask_user":
        question = str((parameters.get("arguments") or {}).get("question") or "")
        try:
            return {"content": [{"type": "text", "text": user.ask(question)}], "isError": False}
        except (NoAnswer, OSError, LookupError, TypeError, ValueError) as error:
            return {"content": [{"type": "text", "text": f"No answer: {error}"}], "isError": True}
    raise LookupError(method)


class Handler(BaseHTTPRequestHandler):
    """https://modelcontextprotocol.io/specification/2025-03-26/basic/transports: answers are JSON, there is no stream."""

    protocol_version = "HTTP/1.1"
    user = User()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.rstrip("/") != "/mcp":
            self._send(404)
            return
        try:
            message = json.loads(body)
            method, number = str(message["method"]), message.get("id")
        except (ValueError, TypeError, KeyError):
            self._send(400)
            return
        if number is None:  # a notification
            self._send(202)
            return
        told: dict[str, Any] = {"jsonrpc": "2.0", "id": number}
        try:
            told["result"] = result_of(method, message.get("params") or {}, self.user)
        except LookupError:
            told["error"] = {"code": -32601, "message": f"no such method: {method}"}
        self._send(200, json.dumps(told).encode())

    def do_GET(self) -> None:
        self._send(405)

    do_DELETE = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is written."""

    def _send(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("", 8000), Handler).serve_forever()
