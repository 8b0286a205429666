"""A gate's one route without a sandbox, and what asking it gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_swe.agent.endpoint.connection import Connections
from pytest_swe.agent.endpoint.gate import ModelGate
from pytest_swe.agent.endpoint.routes import Limits
from pytest_swe.agent.endpoint.service import Service
from pytest_swe.agent.endpoint.wire import Answer, Request

KEY = "sk-planted-0123456789"
FAST = Limits(first_pause=0.01, call_seconds=20)


class Asked:
    """A gate's service, and what asking it gives."""

    def __init__(self, gate: ModelGate, service: Service, calls: Path) -> None:
        self.gate = gate
        self.service = service
        self.calls = calls
        self.connections = Connections()
        gate._connections.append(self.connections)

    def ask(
        self, document: object = None, call: str = "v1/chat/completions", method: str = "POST", **more: str
    ) -> Answer:
        body = json.dumps({"model": "m"} if document is None else document).encode() if method == "POST" else b""
        return self.service.answer(
            Request(id="1", method=method, path=f"/{self.service.prefix}/{call}", headers=more, body=body),
            self.connections,
        )

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.calls.read_text().splitlines()]


Make = Callable[..., Asked]
