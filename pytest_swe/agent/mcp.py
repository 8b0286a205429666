"""How agents are told which servers of the Model Context Protocol there are. Pure.

Each has a shape of its own, all of them a name with a command or an address.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from pytest_swe.agent.base import McpServer
from pytest_swe.model import JSON

#: ``claude``: ``mcpServers`` with a ``type``, as a JSON document. ``codex``: tables ``mcp_servers.NAME`` of TOML.
#: ``opencode``: an object with ``local`` and ``remote`` servers. ``transport``: an object of servers with their
#: transport's name. ``mcpServers``: the same as a document.
Shape = Literal["claude", "codex", "opencode", "transport", "mcpServers"]


def told(servers: Iterable[McpServer], shape: Shape) -> str:
    """The text that stands in an agent's configuration."""
    found = {server.name: server for server in servers}
    if shape == "codex":
        return "\n".join(_table(server) for server in found.values())
    make: Mapping[str, Callable[[McpServer], dict[str, JSON]]] = {
        "claude": _claude,
        "opencode": _opencode,
        "transport": _transport,
        "mcpServers": _transport,
    }
    made = {name: make[shape](server) for name, server in found.items()}
    return json.dumps({"mcpServers": made} if shape in ("claude", "mcpServers") else made)


def _program(server: McpServer) -> dict[str, JSON]:
    return {"command": server.command, "args": [*server.args]}


def _address(server: McpServer) -> dict[str, JSON]:
    return {"url": server.url, **({"headers": {**server.headers}} if server.headers else {})}


def _claude(server: McpServer) -> dict[str, JSON]:
    """https://docs.claude.com/en/docs/claude-code/mcp"""
    if server.transport == "stdio":
        return {"type": "stdio", **_program(server)}
    return {"type": "sse" if server.transport == "sse" else "http", **_address(server)}


def _opencode(server: McpServer) -> dict[str, JSON]:
    """https://opencode.ai/docs/mcp-servers"""
    if server.transport == "stdio":
        return {"type": "local", "enabled": True, "command": [server.command, *server.args]}
    return {"type": "remote", "enabled": True, **_address(server)}


def _transport(server: McpServer) -> dict[str, JSON]:
    if server.transport == "stdio":
        return _program(server)
    return {**_address(server), "transport": server.transport}


def _table(server: McpServer) -> str:
    """https://developers.openai.com/codex/mcp: strings of JSON are strings of TOML."""
    values: dict[str, JSON] = _program(server) if server.transport == "stdio" else {"url": server.url}
    lines = [f"[mcp_servers.{_string(server.name)}]"]
    lines += [f"{name} = {_string(value)}" for name, value in values.items()]
    if server.headers and server.transport != "stdio":
        pairs = ", ".join(f"{_string(name)} = {_string(value)}" for name, value in server.headers.items())
        lines.append(f"http_headers = {{ {pairs} }}")
    return "\n".join(lines) + "\n"


def _string(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False)
