"""The steps of a trial in containers that stand, in the order of Harbor 0.25.0.

A task without steps is one step without a name. What the grader owns is taken away, and seen to be away from the
agent's side, before each next agent starts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from pytest_swe.agent.base import AgentRun, AgentTask, McpServer, Usage
from pytest_swe.agent.endpoint.item import ModelOfItem
from pytest_swe.agent.kit import upload_kit
from pytest_swe.agent.oracle import NoSolution
from pytest_swe.agent.surroundings import make_place
from pytest_swe.errors import HarnessError, SweError
from pytest_swe.harbor.limits import StepLimits, TrialLimits
from pytest_swe.harbor.schema import CollectHook
from pytest_swe.harbor.steps import SETUP, below_gate
from pytest_swe.harbor.task import HarborTask, TaskStep
from pytest_swe.harbor.variables import resolved
from pytest_swe.harbor.verifiers import separate_verifier
from pytest_swe.model import Reason
from pytest_swe.sandbox.processes import Processes, end_others, processes
from pytest_swe.trial.artifacts import Artifacts
from pytest_swe.trial.environment import Environment, HealthCheckFailed, Wanted, await_healthy
from pytest_swe.trial.inside import (
    AGENT_LOGS,
    ARTIFACTS,
    SOLUTION,
    TESTS,
    VERIFIER_LOGS,
    fresh,
    gone,
    must,
    tar_of,
)
from pytest_swe.trial.keeping import Keeping
from pytest_swe.trial.setting import StepDone, TrialSetting
from pytest_swe.trial.verification import Verified, verify

#: Seconds that an agent without a limit has.
UNLIMITED = 8 * 3600.0

#: As the next agent: what there is of the grader's, one name a line.
_LOOK = f"""
ls -d {TESTS} {SOLUTION} 2>/dev/null
find {VERIFIER_LOGS} -mindepth 1 2>/dev/null | head -5
true
"""
#: What Harbor calls a failure, and a text; of what did not fail.
_NOTHING = ("", "")

Opens = Callable[[Wanted], AbstractContextManager[Environment]]


class NotConcealed(SweError):
    """What the grader owns can still be read by the next agent: the trial ends here."""

    reason = Reason.NOT_CONCEALED


class TrialRun:
    """One trial. ``opens`` makes the container of a separate verifier from what it must be, and closes it."""

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
    ) -> None:
        self._task = task
        self._setting = setting
        self._limits = limits
        self._environment = environment
        self._verifier = verifier
        self._opens = opens
        self._model = model
        self._place = place
        self._kit = ""
        self.main = environment.main

    def ready(self) -> None:
        """Directories, loose files, the container's own check, and the agent installed."""
        fresh(self.main, AGENT_LOGS, VERIFIER_LOGS, ARTIFACTS)
        must(self.main, "chmod 755 /logs")
        loose = self._task.loose_files
        if loose:
            self._upload(loose, self._here())
        check = self._task.config.environment.healthcheck
        if check is not None:
            await_healthy(self.main, check)
        agent = AgentTask(
            instruction="",
            workdir=self._here(),
            arguments=self._setting.arguments,
            setup_timeout=self._limits.agent_setup,
            mcp_servers=self._servers(),
        )
        make_place(self.main)
        if self._setting.kit is not None:
            agent = replace(agent, kit=upload_kit(self.main, self._setting.kit))
        self._kit = agent.kit
        self._setting.agent.install(self.main, agent)

    def steps(self) -> list[StepDone]:
        """Every step until one ends the trial. Raises SweError for what is no step's own failure."""
        done: list[StepDone] = []
        both = list(zip(self._task.steps, self._limits.steps, strict=True))
        for number, (step, limits) in enumerate(both):
            if number:
                self._conceal(step)
            done.append(self._step(step, limits, is_last=number == len(both) - 1))
            if done[-1].ends:
                break
        return done

    # -- one step ----------------------------------------------------------------------------------------------------

    def _step(self, step: TaskStep, limits: StepLimits, *, is_last: bool) -> StepDone:
        try:
            self._prepare(step)
        except HealthCheckFailed as error:
            return StepDone(name=step.name, exception=("HealthcheckError", str(error)), ends=True)
        except HarnessError as error:
            return StepDone(name=step.name, exception=("RuntimeError", str(error)), ends=True)
        before = processes(self.main)
        run, usage, failed = self._agent(step, limits)
        self._keep(step, run)
        if failed != _NOTHING and not self._task.is_multi_step:
            return StepDone(name=step.name, exception=failed, agent=run, usage=usage, ends=True)
        if run is not None and run.timed_out:
            failed = ("AgentTimeoutError", f"the agent did not end within {limits.agent or UNLIMITED:.10g} s")
        verified = self._verified(step, limits, before, is_last=is_last)
        self._keep_verified(step, verified)
        gate = below_gate(step.settings.min_reward, verified.rewards) if verified.rewards is not None else ""
        return StepDone(
            name=step.name,
            rewards=verified.rewards,
            exception=failed if failed != _NOTHING else (verified.failure, verified.detail),
            ends=bool(gate) or verified.rewards is None,
            gate=gate,
            note=verified.note,
            agent=run,
            usage=usage,
            verifier_seconds=verified.seconds,
        )

    def _prepare(self, step: TaskStep) -> None:
        files = self._task.workdir(step)
        if files:
            here = self._here()
            self._upload(files, here)
            if SETUP in files:
                argv = ["bash", f"{here}/{SETUP}"]
                done = self.main.exec(argv, cwd=here, user=step.settings.agent_user, timeout=600)
                if done.timed_out or done.exit_code != 0:
                    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()[-300:]
                    raise HarnessError(f"{SETUP} of step {step.name} ended with status {done.exit_code}: {said}")
        if step.settings.healthcheck is not None:
            await_healthy(self.main, step.settings.healthcheck)

    def _agent(self, step: TaskStep, limits: StepLimits) -> tuple[AgentRun | None, Usage, tuple[str, str]]:
        """How the agent ended, what it used, and what Harbor would call a failure that is not its own ending."""
        config = self._task.config
        task = AgentTask(
            instruction=step.instruction,
            workdir=self._here(),
            user=step.settings.agent_user,
            timeout=limits.agent if limits.agent is not None else UNLIMITED,
            arguments=self._setting.arguments,
            mcp_servers=self._servers(),
            solution=self._bytes(self._task.solution(step)),
            solution_env=resolved(config.solution.env, self._setting.given),
            kit=self._kit,
            history=self._task.read(step.history) if step.history else b"",
        )
        try:
            wanted = bool(self._setting.agent.protocols)
            with self._model.opened(self.main, wanted=wanted) as (inside, endpoint):
                run = self._setting.agent.run(inside, replace(task, model=endpoint))
        except NoSolution as error:
            return None, Usage(), ("FileNotFoundError", str(error))
        self._model.raise_for_trouble()
        return run, self._model.usage(run.usage), _NOTHING

    def _verified(self, step: TaskStep, limits: StepLimits, before: Processes, *, is_last: bool) -> Verified:
        """Everything of the agent's ended, its artifacts taken, then the verifier."""
        settings = step.settings
        end_others(self.main, before)
        kept = Artifacts(self._environment, settings, self._keeping(step))
        self._hooks(tuple(hook for hook in settings.collect if hook.service == "main"))
        kept.collect(of_main=True)
        own = separate_verifier(self._task.config, settings, self._task.files)
        if own is not None and is_last:
            self._environment.stop_main()
        self._hooks(tuple(hook for hook in settings.collect if hook.service != "main"))
        kept.collect(of_main=False)
        env = resolved(settings.verifier_env, self._setting.given)
        if own is None:
            tests = self._bytes(self._task.tests(step))
            return verify(self.main, tests, user=settings.verifier_user, env=env, timeout=limits.verifier)
        tests_there = self._bytes(self._task.tests(step)) if own.uploads_tests else None
        with self._opens(self._verifier(step)) as other:
            fresh(other.main, ARTIFACTS)
            kept.put_into(other.main)
            return verify(other.main, tests_there, user=settings.verifier_user, env=env, timeout=limits.verifier)

    def _hooks(self, hooks: tuple[CollectHook, ...]) -> None:
        """Commands before artifacts are taken; what fails is the hook's own affair, as in Harbor."""
        for hook in hooks:
            service = self._environment.services.get(hook.service)
            if service is not None:
                user = str(hook.user) if hook.user is not None else None
                service.exec(["sh", "-c", hook.command], user=user, timeout=hook.timeout_sec)

    def _conceal(self, step: TaskStep) -> None:
        """Take away what the grader owns, and look for it as the next agent. Raises NotConcealed."""
        gone(self.main, TESTS, SOLUTION)
        fresh(self.main, VERIFIER_LOGS, AGENT_LOGS)
        seen = self.main.exec(["sh", "-c", _LOOK], user=step.settings.agent_user, timeout=60)
        if seen.timed_out or seen.stdout.strip():
            left = seen.stdout.decode("utf-8", "replace").split()
            raise NotConcealed(f"the next agent could read {', '.join(left[:5]) or 'what the grader owns'}")

    # -- what the parts need -----------------------------------------------------------------------------------------

    def _here(self) -> str:
        """The work directory: the task's, else the image's."""
        found = self.main.exec(["pwd"], timeout=60).stdout.decode("utf-8", "replace").strip()
        return found or "/"

    def _upload(self, paths: dict[str, str], target: str) -> None:
        self.main.upload(tar_of(self._bytes(paths), self._executable(paths)), target)

    def _bytes(self, paths: dict[str, str]) -> dict[str, bytes]:
        return {name: self._task.read(path) for name, path in paths.items()}

    def _executable(self, paths: dict[str, str]) -> frozenset[str]:
        return frozenset(name for name, path in paths.items() if self._task.files[path].executable)

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
        found = Keeping(self._place)
        return found.below("steps", step.name) if step.name else found

    def _keep(self, step: TaskStep, run: AgentRun | None) -> None:
        if run is None:
            return
        keeping = self._keeping(step).below("agent")
        keeping.write("output.txt", run.output)
        if run.trajectory is not None:
            keeping.write("trajectory.json", json.dumps(run.trajectory, indent=1).encode("utf-8", "replace"))

    def _keep_verified(self, step: TaskStep, verified: Verified) -> None:
        keeping = self._keeping(step).below("verifier")
        for name, content in {"test-stdout.txt": verified.output, **verified.files}.items():
            keeping.write(name, content)
