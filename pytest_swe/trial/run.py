"""The steps of a trial in containers that stand, in the order of Harbor 0.25.0.

A task without steps is one step without a name. What the grader owns is taken away, and seen to be away from the
agent's side, before each next agent starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from pytest_swe.agent.base import AgentRun, AgentTask, McpServer, Usage
from pytest_swe.agent.contract import run_agent, told_by_name
from pytest_swe.agent.endpoint.item import ModelOfItem
from pytest_swe.agent.kit import upload_kit
from pytest_swe.agent.oracle import NoSolution
from pytest_swe.agent.surroundings import make_place
from pytest_swe.errors import HarnessError, RowInvalid, SandboxFileError
from pytest_swe.harbor.limits import StepLimits, TrialLimits
from pytest_swe.harbor.steps import SETUP, below_gate
from pytest_swe.harbor.task import HarborTask, TaskStep
from pytest_swe.harbor.variables import resolved
from pytest_swe.model import JSON
from pytest_swe.report.keeping import Keeping
from pytest_swe.sandbox.processes import end_others, processes
from pytest_swe.stages import Stages
from pytest_swe.trial.concealing import conceal
from pytest_swe.trial.environment import Environment, HealthCheckFailed, Wanted, await_healthy
from pytest_swe.trial.inside import AGENT_LOGS, ARTIFACTS, SOON, VERIFIER_LOGS, fresh, tar_of
from pytest_swe.trial.judging import Judging, Opens, bytes_of, executable_of, keep_verified
from pytest_swe.trial.setting import StepDone, TrialSetting
from pytest_swe.trial.traces import Traces
from pytest_swe.trial.transcript import NAME, as_bytes, left_in
from pytest_swe.trial.unpacked import Unpacked, keep, unpacked

#: Seconds that an agent without a limit has.
UNLIMITED = 8 * 3600.0
#: Seconds, for each step, for what we do ourselves around agent and verifier.
AROUND = 900.0
#: Agents whose exit status is no failure of theirs, as in Harbor.
_CONTROLS = ("oracle", "nop")

#: What Harbor calls a failure, and a text.
Failed = tuple[str, str]
_NOTHING: Failed = ("", "")


class TrialRun:
    """One trial. ``verifier`` says what the container of a separate verifier must be, ``opens`` makes and closes it.

    ``done`` gets each step when it has ended, so that the earlier ones are known when something ends the trial.
    """

    def __init__(
        self,
        task: HarborTask,
        setting: TrialSetting,
        limits: TrialLimits,
        environment: Environment,
        *,
        verifier: Callable[[TaskStep], Wanted],
        opens: Opens,
        model: ModelOfItem,
        place: Path | None,
        done: list[StepDone],
    ) -> None:
        self._task = task
        self._setting = setting
        self._limits = limits
        self._judging = Judging(task, environment, given=setting.given, verifier=verifier, opens=opens)
        self._model = model
        self._place = place
        self._kit = ""
        self._stages = Stages(_stages(limits))
        self.main = environment.main
        self.done = done

    def ready(self) -> None:
        """Directories, loose files, the container's own check, and the agent installed. Raises SweError."""
        self._stages.enter("setup")
        fresh(self.main, AGENT_LOGS, VERIFIER_LOGS, ARTIFACTS)
        self._check_user(self._task.steps[0].settings.agent_user)
        if self._task.loose_files:
            self._upload(self._task.loose_files, self._here)
        check = self._task.config.environment.healthcheck
        if check is not None:
            await_healthy(self.main, check)
        agent = AgentTask(
            instruction="",
            workdir=self._here,
            arguments=self._setting.arguments,
            setup_timeout=self._limits.agent_setup,
            mcp_servers=self._servers(),
        )
        make_place(self.main)
        if self._setting.kit is not None:
            self._kit = upload_kit(self.main, self._setting.kit)
            agent = replace(agent, kit=self._kit)
        with told_by_name(self._setting.agent, "install()"):
            self._setting.agent.install(self.main, agent)

    def steps(self) -> None:
        """Every step until one ends the trial. Raises SweError for what is no step's own failure."""
        both = list(zip(self._task.steps, self._limits.steps, strict=True))
        for number, (step, limits) in enumerate(both):
            if number:
                conceal(self.main, step.settings.agent_user)
            self.done.append(self._step(step, limits, is_last=number == len(both) - 1))
            if self.done[-1].ends:
                break

    # -- one step ----------------------------------------------------------------------------------------------------

    def _step(self, step: TaskStep, limits: StepLimits, *, is_last: bool) -> StepDone:
        spoilt = bool(self.done)
        try:
            self._prepare(step)
        except HealthCheckFailed as error:
            return StepDone(name=step.name, exception=("HealthcheckError", str(error)), ends=True, spoilt=spoilt)
        except HarnessError as error:
            return StepDone(name=step.name, exception=("RuntimeError", str(error)), ends=True, spoilt=spoilt)
        before = processes(self.main)
        traces = self._traces(step)
        spans: dict[str, tuple[str, str]] = {}
        with _timed(spans, "agent_execution"):
            run, usage, failed = self._agent(step, limits)
        end_others(self.main, before)
        trajectory = self._keep(step, run)
        marks = (*self._model.flags, *(traces.flags() if traces is not None else ()))
        if run is None and not self._task.is_multi_step:
            self._judging.artifacts(step, self._keeping(step))
            return StepDone(name=step.name, exception=failed, usage=usage, ends=True)
        with _timed(spans, "verifier"):
            verified = self._judging.verified(
                step,
                before,
                timeout=min(limits.verifier, self._stages.enter(_stage("verifier", step.name))),
                is_last=is_last,
                trajectory=trajectory,
                keeping=self._keeping(step),
            )
        keep_verified(verified, self._keeping(step))
        gate = below_gate(step.settings.min_reward, verified.rewards) if verified.rewards is not None else ""
        unrewarded = (verified.failure, verified.detail)
        return StepDone(
            name=step.name,
            rewards=verified.rewards,
            exception=unrewarded if failed == _NOTHING else failed,
            ends=bool(gate) or verified.rewards is None,
            gate=gate,
            note=verified.note if failed == _NOTHING else ": ".join(filter(None, unrewarded)),
            agent=run,
            usage=usage,
            marks=marks,
            verifier_seconds=verified.seconds,
            spans=spans,
        )

    def _traces(self, step: TaskStep) -> Traces | None:
        """Where the verifier comes into the agent's container."""
        is_shared = step.settings.verifier_mode == "shared" and self._setting.agent.name not in _CONTROLS
        return Traces.of(self.main) if is_shared else None

    def _check_user(self, user: str | None) -> None:
        """Before any agent was here: later a user that is gone may be its doing."""
        done = self.main.exec(["/bin/sh", "-c", ":"], cwd="/", user=user, timeout=SOON) if user else None
        if done is not None and done.exit_code != 0:
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-200:]
            raise RowInvalid(f"nothing can be run as {user!r} in the task's container: {said}", field="agent.user")

    def _prepare(self, step: TaskStep) -> None:
        files = self._task.workdir(step)
        if files:
            self._upload(files, self._here)
            if SETUP in files:
                argv = ["bash", f"{self._here}/{SETUP}"]
                done = self.main.exec(argv, cwd=self._here, user=step.settings.agent_user, timeout=600)
                if done.timed_out or done.exit_code != 0:
                    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()[-300:]
                    raise HarnessError(f"{SETUP} of step {step.name} ended with status {done.exit_code}: {said}")
        if step.settings.healthcheck is not None:
            await_healthy(self.main, step.settings.healthcheck)

    def _agent(self, step: TaskStep, limits: StepLimits) -> tuple[AgentRun | None, Usage, Failed]:
        """How the agent ended, what it used, and what Harbor would call a failure; None for what never ran."""
        solution = self._task.solution(step) if self._setting.agent.name == "oracle" else {}
        task = AgentTask(
            instruction=step.instruction,
            workdir=self._here,
            user=step.settings.agent_user,
            timeout=min(limits.agent or UNLIMITED, self._stages.enter(_stage("agent", step.name))),
            arguments=self._setting.arguments,
            mcp_servers=self._servers(),
            solution=bytes_of(self._task, solution),
            solution_env=resolved(self._task.config.solution.env, self._setting.given) if solution else {},
            kit=self._kit,
            history=self._task.read(step.history) if step.history else b"",
            skills=self._task.config.environment.skills_dir or "",
        )
        try:
            wanted = bool(self._setting.agent.protocols)
            with self._model.opened(self.main, wanted=wanted) as (inside, endpoint):
                run = run_agent(self._setting.agent, inside, replace(task, model=endpoint))
        except NoSolution as error:
            return None, Usage(), ("FileNotFoundError", str(error))
        self._model.raise_for_trouble()
        failed = _NOTHING
        if run.timed_out:
            failed = ("AgentTimeoutError", f"the agent did not end within {task.timeout:.10g} s")
        elif run.exit_code and self._setting.agent.name not in _CONTROLS:
            failed = ("NonZeroAgentExitCodeError", f"the agent ended with status {run.exit_code}")
        return run, self._model.usage(run.usage), failed

    # -- what the parts need -----------------------------------------------------------------------------------------

    @cached_property
    def _here(self) -> str:
        """The work directory: the task's, else the image's."""
        found = self.main.exec(["pwd"], timeout=60).stdout.decode("utf-8", "replace").strip()
        return found or "/"

    def _upload(self, paths: dict[str, str], target: str) -> None:
        self.main.upload(tar_of(bytes_of(self._task, paths), executable_of(self._task, paths)), target)

    def _servers(self) -> tuple[McpServer, ...]:
        if self._setting.mcp == "off" or not self._setting.agent.mcp:
            return ()
        return tuple(
            McpServer(
                name=server.name,
                transport=server.transport,
                url=server.url or "",
                command=server.command or "",
                args=server.args,
                headers=resolved(server.headers, self._setting.given),
            )
            for server in self._task.config.environment.mcp_servers
        )

    def _keeping(self, step: TaskStep) -> Keeping:
        found = Keeping(self._place, self._setting.secrets)
        return found.below("steps", step.name) if step.name else found

    def _keep(self, step: TaskStep, run: AgentRun | None) -> dict[str, JSON] | None:
        """The agent's logs, and what it printed, on this host; returns its conversation."""
        keeping = self._keeping(step).below("agent")
        logs = self._agent_logs()
        keep(logs, keeping)
        if run is None:
            return None
        if run.output:
            keeping.write("output.txt", run.output)
        if run.exit_code:
            keeping.write("exit-code.txt", str(run.exit_code).encode())
        if run.trajectory is not None:
            keeping.write(NAME, as_bytes(run.trajectory))
        return run.trajectory if run.trajectory is not None else left_in(logs)

    def _agent_logs(self) -> Unpacked:
        try:
            return unpacked(self.main.download(AGENT_LOGS))
        except SandboxFileError:  # gone, or too large
            return {}


def _stage(what: str, step: str) -> str:
    return f"the {what} of step {step}" if step else f"the {what}"


def _stages(limits: TrialLimits) -> dict[str, float]:
    """Seconds by stage: what each may take, with what we do around it."""
    found = {"setup": limits.agent_setup + limits.readiness + AROUND}
    for step in limits.steps:
        found[_stage("agent", step.name)] = (step.agent or UNLIMITED) + step.readiness
        found[_stage("verifier", step.name)] = step.verifier + step.hooks + limits.verifier_build + AROUND
    return found


@contextmanager
def _timed(spans: dict[str, tuple[str, str]], name: str) -> Iterator[None]:
    begin = _now()
    try:
        yield
    finally:
        spans[name] = (begin, _now())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
