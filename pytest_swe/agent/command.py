"""An agent that is one command: for what has no description of its own, and for tests."""

from __future__ import annotations

import time

from pytest_swe.agent.base import AgentRun, AgentTask, ModelProtocol
from pytest_swe.agent.surroundings import lay_instruction, variables
from pytest_swe.errors import UsageError
from pytest_swe.sandbox.base import Sandbox


class CommandAgent:
    """Runs ``text`` in a shell. It finds the instruction in the file that $SWE_INSTRUCTION names."""

    protocols: frozenset[ModelProtocol] = frozenset({"openai", "anthropic"})
    mcp = True
    needs_model = False

    def __init__(self, text: str) -> None:
        if not text.strip():
            raise UsageError("--swe-agent command: expected a command after the colon")
        self.name = "command"
        self._text = text

    def install(self, sandbox: Sandbox, task: AgentTask) -> None:
        """There is nothing to install: the command is there, or the kit brings it."""

    def run(self, sandbox: Sandbox, task: AgentTask) -> AgentRun:
        """Run it to its end or time. Raises SandboxError."""
        lay_instruction(sandbox, task)
        begin = time.monotonic()
        done = sandbox.exec(
            ["sh", "-c", f"{{ {self._text}\n}} 2>&1"],
            cwd=task.workdir,
            user=task.user,
            env=variables(task),
            timeout=task.timeout,
        )
        return AgentRun(
            exit_code=done.exit_code,
            timed_out=done.timed_out,
            output=done.stdout,
            seconds=time.monotonic() - begin,
        )
