"""The agents that are controls of a task: its own solution, and nothing at all."""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Mapping

from pytest_swe.agent.base import AgentRun, AgentTask, ModelProtocol
from pytest_swe.errors import SweError
from pytest_swe.model import Reason
from pytest_swe.sandbox.base import Sandbox

PLACE = "/solution"
SOLVE = "solve.sh"


class NoSolution(SweError):
    """The task has no reference solution."""

    reason = Reason.ROW_INVALID


class Oracle:
    """Runs the task's ``solve.sh`` as the agent's user, as Harbor does."""

    name = "oracle"
    protocols: frozenset[ModelProtocol] = frozenset()
    mcp = True

    def install(self, sandbox: Sandbox, task: AgentTask) -> None:
        """There is nothing to install."""

    def run(self, sandbox: Sandbox, task: AgentTask) -> AgentRun:
        """Lay the solution in and run it; what it prints is in ``oracle.txt`` of the logs. Raises NoSolution."""
        if SOLVE not in task.solution:
            raise NoSolution(f"no solution/{SOLVE}")
        sandbox.upload(_tar(task.solution), PLACE)
        env = {**task.env, "DEBIAN_FRONTEND": "noninteractive", **task.solution_env}
        begin = time.monotonic()
        script = f"exec bash {PLACE}/{SOLVE} > {task.logs}/oracle.txt 2>&1 < /dev/null"
        argv = ["bash", "-c", script] if task.logs else ["bash", f"{PLACE}/{SOLVE}"]
        done = sandbox.exec(argv, user=task.user, env=env, timeout=task.timeout)
        seconds = time.monotonic() - begin
        return AgentRun(
            exit_code=done.exit_code, timed_out=done.timed_out, output=done.stdout + done.stderr, seconds=seconds
        )


class Nop:
    """Does nothing: what a task gives for nothing."""

    name = "nop"
    protocols: frozenset[ModelProtocol] = frozenset()
    mcp = True

    def install(self, sandbox: Sandbox, task: AgentTask) -> None:
        """There is nothing to install."""

    def run(self, sandbox: Sandbox, task: AgentTask) -> AgentRun:
        """Nothing."""
        return AgentRun()


def _tar(files: Mapping[str, bytes]) -> io.BytesIO:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            tar.addfile(member, io.BytesIO(content))
    packed.seek(0)
    return packed
