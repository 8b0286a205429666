"""The agent contract: what an agent is told, what it leaves, and what it may not do.

An agent works in a sandbox that nobody grades in. Whatever it does is a result, an `AgentRun`; an exception of the
`pytest_swe.errors.SweError` tree is never its verdict. It is hostile: all that is read back is bounded bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from pytest_swe.errors import SweError
from pytest_swe.model import JSON, Reason
from pytest_swe.sandbox.base import Sandbox

#: How a model is spoken to: OpenAI's chat completions and responses, or Anthropic's messages.
ModelProtocol = Literal["openai", "anthropic"]


class AgentSetupFailed(SweError):
    """The agent could not be installed or configured in the sandbox; nothing of the candidate was run."""

    reason = Reason.AGENT_SETUP_FAILED
    retryable = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoint:
    """Where an agent in a sandbox reaches its model: ``url`` has the item's prefix, and no key of anybody is needed.

    ``url`` is without ``/v1``: ``http://127.0.0.1:PORT/PREFIX/policy``. ``model`` is the model's name as the upstream
    knows it. ``key`` is a word that clients want to send as a key; it opens nothing.
    """

    url: str
    protocol: ModelProtocol
    model: str
    key: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """A server of the Model Context Protocol that a task offers; ``url`` is as seen from the sandbox."""

    name: str
    transport: Literal["stdio", "sse", "streamable-http"] = "sse"
    url: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTask:
    """What an agent is given. Paths are inside the sandbox, ``timeout`` and ``setup_timeout`` are seconds.

    ``env`` are variables of the task and of the user, by name and value; they go through the sandbox's own way for
    variables, never into an argument. ``solution`` is for ``oracle`` only: files by their path below ``/solution``.
    ``logs`` is a directory that the agent may write; ``history`` is an earlier conversation (ATIF), or empty.
    ``skills`` is a directory of the image with skills for agents, or empty.
    """

    instruction: str
    workdir: str
    user: str | None = None
    timeout: float = 3600.0
    setup_timeout: float = 600.0
    env: Mapping[str, str] = field(default_factory=dict)
    model: ModelEndpoint | None = None
    mcp_servers: tuple[McpServer, ...] = ()
    arguments: Mapping[str, str] = field(default_factory=dict)
    logs: str = "/logs/agent"
    kit: str = ""
    solution: Mapping[str, bytes] = field(default_factory=dict)
    solution_env: Mapping[str, str] = field(default_factory=dict)
    history: bytes = b""
    skills: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What an agent used of its model: tokens, money in US dollars where it is known, calls, and its own steps."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    calls: int = 0
    steps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """How an agent ended. ``exit_code`` is None at a time-out. ``output`` is what it printed, bounded.

    ``trajectory`` is its conversation as an ATIF document (plain JSON), or None where it left none that can be read.
    """

    exit_code: int | None = 0
    timed_out: bool = False
    output: bytes = b""
    seconds: float = 0.0
    trajectory: dict[str, JSON] | None = None
    usage: Usage = Usage()


class Agent(Protocol):
    """One agent. Stateless: one object serves all items of a process, from many threads.

    ``protocols`` are those that it speaks; empty when it needs no model. ``mcp``: it can use MCP servers.
    """

    name: str
    protocols: frozenset[ModelProtocol]
    mcp: bool

    def install(self, sandbox: Sandbox, task: AgentTask) -> None:
        """Make it ready, as root, within ``task.setup_timeout``. Raises AgentSetupFailed, SandboxError."""
        ...

    def run(self, sandbox: Sandbox, task: AgentTask) -> AgentRun:
        """Let it work, as ``task.user`` in ``task.workdir``, within ``task.timeout``. Raises SandboxError only."""
        ...
