"""What every agent finds in its sandbox: the instruction as a file, and variables that say where everything is."""

from __future__ import annotations

import json

from pytest_swe.agent.base import AgentSetupFailed, AgentTask
from pytest_swe.sandbox.base import ROOT, Sandbox

#: Outside of every work tree, so that it is no part of what the agent changes; where every provider can write.
PLACE = "/tmp/.swe-agent"
LOGS = f"{PLACE}/logs"
INSTRUCTION = f"{PLACE}/instruction.md"
MCP = f"{PLACE}/mcp.json"
HISTORY = f"{PLACE}/history.json"


def make_place(sandbox: Sandbox) -> None:
    """The directories that an agent may write, whoever it runs as. Raises AgentSetupFailed, SandboxError."""
    script = 'umask 0; mkdir -p "$1/home" "$1/logs" && chmod 777 "$1" "$1/home" "$1/logs"'
    done = sandbox.exec(["sh", "-c", script, "swe", PLACE], cwd="/", user=ROOT, timeout=60)
    if done.timed_out or done.exit_code != 0:
        raise AgentSetupFailed(f"{PLACE} cannot be made: {done.stderr.decode('utf-8', 'replace').strip()[-200:]}")


def lay_instruction(sandbox: Sandbox, task: AgentTask) -> None:
    """Write what the agent is told, what was said before, and its MCP servers, where `variables` say."""
    sandbox.write_file(INSTRUCTION, task.instruction.encode("utf-8", "surrogateescape"))
    servers = {
        server.name: {
            "transport": server.transport,
            **({"url": server.url, "headers": dict(server.headers)} if server.url else {}),
            **({"command": server.command, "args": list(server.args)} if server.command else {}),
        }
        for server in task.mcp_servers
    }
    sandbox.write_file(MCP, json.dumps({"mcpServers": servers}, indent=1).encode())
    if task.history:
        sandbox.write_file(HISTORY, task.history)


def variables(task: AgentTask) -> dict[str, str]:
    """SWE_* of this project, and those by which clients of models find their server."""
    found = {
        **task.env,
        "SWE_INSTRUCTION": INSTRUCTION,
        "SWE_MCP": MCP,
        "SWE_WORKDIR": task.workdir,
        "SWE_LOGS": task.logs,
        "SWE_KIT": task.kit,
        "SWE_HOME": PLACE,
        "SWE_HISTORY": HISTORY if task.history else "",
        "SWE_SKILLS": task.skills,
        **{f"SWE_ARG_{name.upper().replace('-', '_')}": value for name, value in task.arguments.items()},
    }
    model = task.model
    if model is None:
        return found
    found |= {"SWE_MODEL": model.model, "SWE_MODEL_URL": model.url}
    if model.protocol == "openai":
        return {
            **found,
            "OPENAI_BASE_URL": f"{model.url}/v1",
            "OPENAI_API_BASE": f"{model.url}/v1",
            "OPENAI_API_KEY": model.key,
        }
    return {**found, "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": model.key}
