"""Agents as declarative files: how each is installed and run, what it speaks, where it leaves its conversation.

A description is a TOML file in ``descriptions/``; its name is the agent's.

    protocols = ["openai"]            what it speaks; of these the user's server must speak one
    mcp = "claude"                    how it is told MCP servers, see `pytest_swe.agent.mcp`; without: it can use none
    needs = ["python3"]               programs that the sandbox must have

    [kit]                             what `pytest-swe agent-kit` gathers, see `pytest_swe.agent.kit_making`
    pip = ["a>=1,<2"]                 Python packages with all that they need
    without = ["site/pyarrow*"]       what of the kit is left out: what it uses only for other things
    npm = ["b@1.2.3", "c@4"]          packages of npm's, each alone
    whole = ["c@4"]                   those of them with all that they need

    [install]                         as root
    script = "pip install ..."
    check = "$SWE_KIT/b/b --version"  a shell script: whether it is there. Before the script (in the image, or by a kit
                                      it may be), and after it

    [files]                           (optional) written before it runs, for all to read; {words} as below
    "{home}/config.yaml" = "..."

    [run]
    script = "mini -t \\"$(cat $SWE_INSTRUCTION)\\""
    [run.env]                         (optional) variables; {url} {model} {key} {instruction} {logs} {workdir} {kit}
                                      {home}, {argument:NAME} of the user, {mcp} as `mcp` says; {json:WORD} is a string
    [run.openai] / [run.anthropic]    (optional) variables for that protocol only

    [trajectory]                      (optional)
    path = "/logs/agent/x.json"       what it leaves
    format = "openai-messages"        how that is read, see `pytest_swe.agent.trajectory`

Arguments of the user (``--swe-agent-arg KEY=VALUE``) are $SWE_ARG_KEY; ``arguments`` lists those that it knows, with
their defaults.
"""

from __future__ import annotations

import json
import re
import time
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pytest_swe.agent.base import AgentRun, AgentSetupFailed, AgentTask, ModelProtocol, Usage
from pytest_swe.agent.mcp import Shape, told
from pytest_swe.agent.surroundings import PLACE, lay_instruction, variables
from pytest_swe.agent.trajectory import Format, trajectory_of
from pytest_swe.errors import SandboxFileError
from pytest_swe.model import JSON, ExecResult
from pytest_swe.sandbox.base import ROOT, Sandbox

#: More of a conversation is not read.
LARGEST_TRAJECTORY = 32 * 1024 * 1024


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KitPart(_Part):
    """What it needs where there is no network."""

    pip: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()

    @property
    def places(self) -> tuple[str, ...]:
        """What stands in such a kit: a program that runs the Python packages, a directory for each of npm's."""
        own = tuple(directory_of(package) for package in self.npm if package not in self.whole)
        return (("python",) if self.pip else ()) + own + (("node_modules",) if self.whole else ())


def directory_of(package: str) -> str:
    """Where a package of npm's stands in a kit."""
    return package.rsplit("@", 1)[0].rpartition("/")[2]


class Install(_Part):
    """How it comes into the sandbox, and whether it is there."""

    script: str = ""
    check: Annotated[str, Field(min_length=1)]


class RunPart(_Part):
    """How it is run."""

    script: Annotated[str, Field(min_length=1)]
    env: Mapping[str, str] = Field(default_factory=dict)
    openai: Mapping[str, str] = Field(default_factory=dict)
    anthropic: Mapping[str, str] = Field(default_factory=dict)


class TrajectoryPart(_Part):
    """Where its conversation is."""

    path: str
    format: Format


class Description(_Part):
    """One file."""

    protocols: tuple[ModelProtocol, ...]
    mcp: Shape | None = None
    about: str
    needs: tuple[str, ...] = ()
    arguments: Mapping[str, str] = Field(default_factory=dict)
    kit: KitPart | None = None
    install: Install
    files: Mapping[str, str] = Field(default_factory=dict)
    run: RunPart
    trajectory: TrajectoryPart | None = None


class DescribedAgent:
    """An agent as its description says."""

    def __init__(self, name: str, description: Description) -> None:
        self.name = name
        self.description = description
        self.protocols: frozenset[ModelProtocol] = frozenset(description.protocols)
        self.mcp = description.mcp is not None
        self.arguments = frozenset(description.arguments)
        #: What its kit has, as `pytest_swe.agent.kit.kit_of` asks.
        self.kit_places = description.kit.places if description.kit else ()

    def install(self, sandbox: Sandbox, task: AgentTask) -> None:
        """Look for what it needs, and install it unless it is there. Raises AgentSetupFailed, SandboxError."""
        needs, part = self.description.needs, self.description.install
        for program in needs:
            found = sandbox.exec(["sh", "-c", 'command -v "$1"', "swe", program], user=ROOT, timeout=60)
            if found.exit_code != 0:
                raise AgentSetupFailed(f"agent {self.name} needs {program} in the image")
        checked = self._shell(sandbox, part.check, task)
        if checked.exit_code == 0:
            return
        if task.kit or not part.script:
            raise self._not_installed(checked, task)
        done = self._shell(sandbox, part.script, task)
        if done.exit_code != 0:
            raise self._not_installed(done, task)
        checked = self._shell(sandbox, part.check, task)
        if checked.exit_code != 0:
            raise self._not_installed(checked, task)

    def run(self, sandbox: Sandbox, task: AgentTask) -> AgentRun:
        """Run it to its end or time. Raises SandboxError."""
        lay_instruction(sandbox, task)
        words = self._words(task)
        for path, text in self.description.files.items():
            sandbox.write_file(_filled(path, words), _filled(text, words).encode("utf-8", "surrogateescape"))
        begin = time.monotonic()
        done = sandbox.exec(
            ["sh", "-c", f"{{ {self.description.run.script}\n}} 2>&1"],
            cwd=task.workdir,
            user=task.user,
            env=self._variables(task),
            timeout=task.timeout,
        )
        seconds = time.monotonic() - begin
        conversation, steps = self._conversation(sandbox, task)
        return AgentRun(
            exit_code=done.exit_code,
            timed_out=done.timed_out,
            output=done.stdout,
            seconds=seconds,
            trajectory=conversation,
            usage=Usage(steps=steps),
        )

    def _conversation(self, sandbox: Sandbox, task: AgentTask) -> tuple[dict[str, JSON] | None, int]:
        part = self.description.trajectory
        if part is None:
            return None, 0
        path = _filled(part.path, self._words(task))
        try:
            raw = sandbox.read_file(path)
        except SandboxFileError:
            return None, 0
        if len(raw) > LARGEST_TRAJECTORY:
            return None, 0
        model = task.model.model if task.model else ""
        return trajectory_of(raw, part.format, agent=self.name, model=model, instruction=task.instruction)

    def _shell(self, sandbox: Sandbox, script: str, task: AgentTask) -> ExecResult:
        argv = ["sh", "-c", f"{{ {script}\n}} 2>&1"]
        return sandbox.exec(argv, cwd="/", user=ROOT, env=self._variables(task), timeout=task.setup_timeout)

    def _not_installed(self, done: ExecResult, task: AgentTask) -> AgentSetupFailed:
        said = done.stdout.decode("utf-8", "replace").strip()[-500:]
        ended = f"{task.setup_timeout:.10g} s were too few" if done.timed_out else f"status {done.exit_code}"
        hint = (
            "" if task.kit else f"pytest-swe agent-kit {self.name} DIR, and --swe-agent-kit DIR, need no network here"
        )
        return AgentSetupFailed(f"agent {self.name} cannot be installed: {ended}: {said}", hint=hint)

    def _variables(self, task: AgentTask) -> dict[str, str]:
        words, run = self._words(task), self.description.run
        defaults = {f"SWE_ARG_{name.upper()}": value for name, value in self.description.arguments.items()}
        own = dict(run.env)
        if task.model is not None:
            own |= run.openai if task.model.protocol == "openai" else run.anthropic
        return {**defaults, **variables(task), **{name: _filled(value, words) for name, value in own.items()}}

    def _words(self, task: AgentTask) -> dict[str, str]:
        model = task.model
        return {
            "instruction": task.instruction,
            "logs": task.logs,
            "workdir": task.workdir,
            "kit": task.kit,
            "home": PLACE,
            "mcp": told(task.mcp_servers, self.description.mcp) if self.description.mcp else "",
            "url": model.url if model else "",
            "model": model.model if model else "",
            "key": model.key if model else "",
            **{f"argument:{name}": value for name, value in {**self.description.arguments, **task.arguments}.items()},
        }


@cache
def described_names() -> tuple[str, ...]:
    """The agents that have a description."""
    place = resources.files("pytest_swe.agent") / "descriptions"
    return tuple(sorted(path.name.removesuffix(".toml") for path in place.iterdir() if path.name.endswith(".toml")))


def described(name: str) -> DescribedAgent:
    """The agent of one description."""
    place = resources.files("pytest_swe.agent") / "descriptions" / f"{name}.toml"
    return DescribedAgent(name, Description.model_validate(tomllib.loads(place.read_text("utf-8"))))


def _filled(text: str, words: Mapping[str, str]) -> str:
    """``text`` with its words, once: what stands in a word is not looked at again."""

    def value(match: re.Match[str]) -> str:
        form, name = match.groups()
        if name not in words:
            return match[0]
        return json.dumps(words[name]) if form else words[name]

    return re.sub(r"\{(json:)?([a-z:_]+)\}", value, text)
