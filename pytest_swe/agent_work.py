"""What an agent does in a sandbox of its own, from the untouched tree to the patch that it leaves.

The order is the safety: what could help it is taken away before it is installed, the tree is recorded before it
starts, and everything that it started is ended before its work is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_swe.agent.base import Agent, AgentRun, AgentSetupFailed, AgentTask, Usage
from pytest_swe.agent.baseline import record
from pytest_swe.agent.builtin import needs_model
from pytest_swe.agent.concealment import Concealed, conceal
from pytest_swe.agent.contract import run_agent, told_by_name
from pytest_swe.agent.endpoint.item import ModelOfItem
from pytest_swe.agent.endpoint.routes import ModelRoute
from pytest_swe.agent.extraction import Extracted, extract
from pytest_swe.agent.kit import upload_kit
from pytest_swe.agent.surroundings import LOGS, make_place
from pytest_swe.model import JSON, Instance
from pytest_swe.report.keeping import Keeping
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.processes import end_others, processes
from pytest_swe.stages import Stages

#: Seconds for what we do ourselves before an agent (concealing, keeping the tree) and after it (taking its work).
BEFORE = 900.0
AFTER = 900.0

Phase = Callable[[str], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSetting:
    """An agent as the user chose it. Seconds; ``name`` is what it is called in this run, ``kit`` a directory of this
    host, or None."""

    agent: Agent
    name: str = ""
    model: str = ""
    route: ModelRoute | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 3600.0
    setup_timeout: float = 600.0
    kit: Path | None = None

    @property
    def seconds(self) -> float:
        """All that it may take together."""
        return BEFORE + self.setup_timeout + self.timeout + AFTER


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMade:
    """What came of it."""

    extracted: Extracted
    run: AgentRun
    usage: Usage
    concealed: Concealed
    marks: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """What of it stands on the reward line."""
        extracted = self.extracted
        told = tuple(
            flag
            for flag, is_so in (
                ("agent_timed_out", self.run.timed_out),
                ("agent_failed", bool(self.run.exit_code)),
                ("agent_work_unreadable", bool(extracted.problem)),
                ("agent_work_left_out", bool(extracted.ignored or extracted.excluded or extracted.nested)),
                ("copies_of_the_project", bool(self.concealed.caches)),
            )
            if is_so
        )
        return (*told, *self.marks)


class AgentWork:
    """One agent's work on one row, once.

    ``begin`` makes the tree ready and says where it stands. ``keeping`` is where its calls and trajectory are written.
    ``phase`` measures a part of it by its name.
    """

    def __init__(
        self,
        setting: AgentSetting,
        instance: Instance,
        instruction: str,
        base_commit: str,
        keeping: Keeping,
        begin: Callable[[Sandbox], str],
        phase: Phase = lambda name: nullcontext(),
    ) -> None:
        self._setting = setting
        self._instance = instance
        self._instruction = instruction
        self._base_commit = base_commit
        self._keeping = keeping
        self._begin = begin
        self._phase = phase
        self._model = ModelOfItem(setting.route, keeping.place / "calls.jsonl" if keeping.place else None)
        self._stages = Stages(
            {"before": BEFORE, "agent_setup": setting.setup_timeout, "agent": setting.timeout, "after": AFTER}
        )

    def made_in(self, sandbox: Sandbox) -> AgentMade:
        """The whole of it.

        Raises SandboxError, HarnessError, ConcealmentFailed, AgentSetupFailed, BaselineFailed, ModelUnavailable,
        DeadlineStruck, NotEnded.
        """
        try:
            return self._made_in(sandbox)
        finally:
            self._model.close()

    def _made_in(self, sandbox: Sandbox) -> AgentMade:
        with self._stage("before"):
            workdir = self._begin(sandbox)
            concealed = conceal(sandbox, workdir, self._base_commit)
        with self._stage("agent_setup") as seconds:
            task = self._set_up(sandbox, workdir, seconds)
        with self._stage("before"):
            baseline = record(sandbox, workdir)
            before = processes(sandbox)
        with self._stage("agent") as seconds, self._model.opened(sandbox) as (inside, endpoint):
            run = run_agent(self._setting.agent, inside, replace(task, model=endpoint, timeout=seconds))
        with self._stage("after"):
            end_others(sandbox, before)
            self._keep(run)
            self._model.raise_for_trouble()
            self._raise_if_never_begun(run)
            extracted = extract(sandbox, baseline)
        usage = self._model.usage(run.usage)
        return AgentMade(extracted=extracted, run=run, usage=usage, concealed=concealed, marks=self._model.flags)

    @property
    def usage(self) -> Usage:
        """What was used so far, also where the work came to nothing."""
        return self._model.usage(Usage())

    @contextmanager
    def _stage(self, name: str) -> Iterator[float]:
        """One stage, measured; gives the seconds that it has."""
        seconds = self._stages.enter(name)
        with self._phase(name):
            yield seconds

    def _set_up(self, sandbox: Sandbox, workdir: str, seconds: float) -> AgentTask:
        make_place(sandbox)
        task = replace(self._task(workdir), setup_timeout=seconds)
        if self._setting.kit is not None:
            task = replace(task, kit=upload_kit(sandbox, self._setting.kit))
        with told_by_name(self._setting.agent, "install()"):
            self._setting.agent.install(sandbox, task)
        return task

    def _raise_if_never_begun(self, run: AgentRun) -> None:
        """Raises AgentSetupFailed where no model had a say: then our description or the image is at fault."""
        agent = self._setting.agent
        if run.exit_code and needs_model(agent) and not self._model.usage(run.usage).calls:
            said = run.output.decode("utf-8", "replace").strip()[-500:]
            raise AgentSetupFailed(f"agent {agent.name} ended with status {run.exit_code}, its model unasked: {said}")

    def _task(self, workdir: str) -> AgentTask:
        spec = self._instance.spec
        return AgentTask(
            instruction=self._instruction,
            workdir=workdir,
            user=spec.user,
            env=spec.env,
            arguments=self._setting.arguments,
            logs=LOGS,
        )

    def _keep(self, run: AgentRun) -> None:
        """What the agent printed and said, beside its calls."""
        self._keeping.write("output.txt", run.output)
        if run.trajectory is not None:
            text = json.dumps(run.trajectory, indent=1) + "\n"
            self._keeping.write("trajectory.json", text.encode("utf-8", "replace"))


def told(made: AgentMade, setting: AgentSetting) -> dict[str, JSON]:
    """The ``agent`` of a reward line."""
    extracted = made.extracted
    return {
        "name": setting.name or setting.agent.name,
        "model": setting.model,
        "exit_code": made.run.exit_code,
        "timed_out": made.run.timed_out,
        "seconds": round(made.run.seconds, 3),
        "patch_bytes": len(extracted.patch),
        "left_out": {
            "ignored": [*extracted.ignored[:20]],
            "excluded": [*extracted.excluded[:20]],
            "nested": [*extracted.nested[:20]],
        },
        "dirty_before": [*extracted.dirty_before[:20]],
        "concealed": [*made.concealed.notes],
        "copies_of_the_project": [*(made.concealed.caches or ())[:20]],
    }
