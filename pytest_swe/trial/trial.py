"""A Harbor task and an agent: one trial in fresh containers, and what its rewards make on a reward line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from pytest_swe.agent.base import Usage
from pytest_swe.agent.endpoint.item import ModelOfItem
from pytest_swe.agent.endpoint.routes import RouteName
from pytest_swe.agent.oracle import Nop
from pytest_swe.attempting import Attempting
from pytest_swe.control import ControlRun
from pytest_swe.errors import SweError, Unsupported
from pytest_swe.harbor.limits import TrialLimits, limits_of
from pytest_swe.harbor.schema import EnvironmentTable
from pytest_swe.harbor.steps import rewards_together
from pytest_swe.harbor.task import HarborTask, TaskStep
from pytest_swe.harbor.variables import require
from pytest_swe.harbor.verifiers import separate_verifier
from pytest_swe.model import JSON, Candidate, Instance, Network, Reason, SandboxSpec
from pytest_swe.outcome import Attempted
from pytest_swe.policy import Policy
from pytest_swe.report.keeping import Keeping
from pytest_swe.reward import Outcome, Reward, Verdict, verdict_of_error
from pytest_swe.sandbox.base import SandboxProvider, image_of
from pytest_swe.trial.environment import Environment, Place, Wanted, made, network_of, refuse_hardware
from pytest_swe.trial.places import agent_place, verifier_place
from pytest_swe.trial.run import TrialRun
from pytest_swe.trial.setting import StepDone, TrialSetting
from pytest_swe.trial.values import of_group, without_chosen
from pytest_swe.trial.verdict import number_of, verdict_of

#: Times the sum of all limits that a trial's containers live: a deadline is for what nobody ends.
SPARE = 1.5


class Trial(Attempting):
    """Let an agent work in a task and let the task's verifier say what that is worth.

    ``place`` is where its files are written, in Harbor's layout of a trial; None: nowhere.
    """

    def __init__(
        self,
        instance: Instance,
        candidate: Candidate,
        *,
        task: HarborTask,
        setting: TrialSetting,
        provider: SandboxProvider,
        place: Path | None = None,
        policy: Policy | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(instance, candidate, provider=provider, policy=policy, labels=labels)
        self.task = task
        self._setting = setting
        self._limits: TrialLimits = limits_of(task.config, setting.limits)
        self._place = place
        self._image = instance.spec.image
        self._environment: Environment | None = None
        self._steps: list[StepDone] = []
        self._rewards: Mapping[str, float] | None = None
        self._model: ModelOfItem | None = None
        self._user: dict[str, JSON] | None = None
        self._usage = Usage()
        self._network_of_main: Network = "none"

    # -- the work ----------------------------------------------------------------------------------------------------

    def _judge(self) -> Outcome:
        self._refuse()
        self._admit()
        attempts = self._attempts(self._attempt)
        if not self._standing.is_set():
            self._acquire_error = attempts[-1].error
        return self._ended(attempts)

    def _refuse(self) -> None:
        """What cannot be is said before anything is started. Raises Unsupported, UsageError."""
        config, setting = self.task.config, self._setting
        servers = config.environment.mcp_servers
        own = without_chosen(config.environment.env, setting.compose_values)
        tables = [own, config.verifier.env, config.solution.env, *(server.headers for server in servers)]
        tables += [step.settings.verifier_env for step in self.task.steps]
        require(tables, setting.given)
        if servers and setting.mcp == "required" and not setting.agent.mcp:
            raise Unsupported(f"agent {setting.agent.name} cannot use MCP servers, and --swe-mcp is required")
        self._wanted()
        for step in self.task.steps:
            if step.settings.verifier_mode == "separate":
                self._verifier(step)

    def _attempt(self) -> Attempted:
        attempt = Attempted(Verdict("error", Reason.INTERNAL))
        self._steps, self._rewards = [], None
        Keeping(self._place).set_aside()
        try:
            self._tried(self._setting, self._place, self._steps)
            self._rewards = rewards_together(self.task.config.strategy, [step.rewards for step in self._steps])
            attempt.verdict = verdict_of(self._steps, self._rewards)
        except SweError as error:
            attempt.verdict, attempt.error = verdict_of_error(error), error
        if self._model is not None:
            self._user = self._model.user_to_json()
            # Asked of the host: a step that came to nothing is not among those that are done.
            self._usage = self._model.usage(_sum(step.usage for step in self._steps))
        self._check_cancelled()
        return attempt

    def _tried(self, setting: TrialSetting, place: Path | None, done: list[StepDone]) -> None:
        """One trial in fresh containers; its steps are added to ``done``. Raises SweError."""
        calls = place / "calls.jsonl" if place else None
        model = ModelOfItem(setting.route, calls, user=setting.user_route, questions=setting.user_questions)
        self._model = model
        try:
            with self._phase("acquire"):
                environment = self._made(self._wanted())
            self._environment, self.sandbox = environment, environment.main
            self._image, self._image_digest = environment.image, image_of(environment.main).digest
            run = TrialRun(
                self.task,
                setting,
                self._limits,
                environment,
                verifier=self._verifier,
                opens=self._opened,
                model=model,
                place=place,
                done=done,
            )
            with model.opened_in(environment.services, environment.sidecars):
                with self._phase("ready"):
                    run.ready()
                self._stands()
                self._wait_for_go()
                with self._phase("trial"):
                    run.steps()
        finally:
            model.close()

    def _ended(self, attempts: list[Attempted]) -> Outcome:
        if self._policy.keep(self.candidate, attempts[-1].verdict):
            self._kept = self._environment
        return self._outcome_of(attempts)

    def _control(self) -> ControlRun:
        """Whether the verifier gives a reward to nobody's work."""
        self._close_all()
        setting = replace(self._setting, agent=Nop())
        known = f"trial\n{self.instance.id}\n{self.task.digest}"
        return self._policy.controls.run(known, lambda: self._measured(setting))

    def _measured(self, setting: TrialSetting) -> ControlRun:
        done: list[StepDone] = []
        try:
            self._tried(setting, None, done)
        except SweError:
            return ControlRun(measured=False)
        finally:
            self._close_all()
        together = rewards_together(self.task.config.strategy, [step.rewards for step in done])
        return ControlRun(measured=verdict_of(done, together).status != "error")

    # -- containers --------------------------------------------------------------------------------------------------

    def _made(self, wanted: Wanted) -> Environment:
        self._check_cancelled()
        environment = made(replace(wanted, stopped=self._cancelled.is_set), self._provider, self._labels)
        self._hold(environment)
        self._check_cancelled()
        return environment

    @contextmanager
    def _opened(self, wanted: Wanted) -> Iterator[Environment]:
        """A separate verifier's containers."""
        with self._phase("acquire"):
            environment = self._made(wanted)
        try:
            assert self._model is not None
            with self._model.opened_in(environment.services, environment.sidecars):
                yield environment
        finally:
            self._release(environment)

    def _wanted(self) -> Wanted:
        first, *others = [self._network(step) for step in self.task.steps]
        if any(network != first for network in others):
            raise Unsupported("steps with different networks in one container: no provider changes it while it runs")
        self._network_of_main = first
        place = agent_place(self.task, self.instance.spec.image)
        spec = replace(self.instance.spec, network=first)
        return self._of(place, self.task.config.environment, self._limits.build, spec)

    def _verifier(self, step: TaskStep) -> Wanted:
        found = separate_verifier(self.task.config, step.settings, self.task.files)
        assert found is not None
        policy, table = step.settings.verifier_network, found.environment
        network = network_of(policy.mode, policy.hosts, self._setting.network, f"verifier of {step.name or 'the task'}")
        spec = replace(self.instance.spec, cpus=table.cpus, memory_mb=table.memory_mib, network=network)
        place = verifier_place(self.task, found)
        return self._of(place, table, self._limits.verifier_build or self._limits.build, spec)

    def _of(self, place: Place, table: EnvironmentTable, build_seconds: float, spec: SandboxSpec) -> Wanted:
        refuse_hardware(table)
        values = of_group(table.env, self._setting.given, self._setting.compose_values, self._address)
        return Wanted(
            place=place,
            spec=replace(
                spec,
                workdir=table.workdir or "",
                user="",
                env=values.main,
                seconds=self._limits.seconds * SPARE + 600,
                keep_entrypoint=True,
            ),
            build_seconds=build_seconds,
            force_build=self._setting.force_build,
            compose_variables=values.variables,
            secrets=values.secrets,
        )

    def _network(self, step: TaskStep) -> Network:
        """That of the container in a step; agent and a verifier in the same container must agree."""
        settings, chosen, what = step.settings, self._setting.network, step.name or "the task"
        agent = network_of(settings.agent_network.mode, settings.agent_network.hosts, chosen, f"agent of {what}")
        if settings.verifier_mode == "shared":
            policy = settings.verifier_network
            verifier = network_of(policy.mode, policy.hosts, chosen, f"verifier of {what}")
            if verifier != agent:
                raise Unsupported(
                    f"{what}: agent and verifier want different networks in one container",
                    hint="--swe-network gives both the same",
                )
        return agent

    def _address(self, route: RouteName) -> str:
        """Where services will reach a model; nothing before a trial has begun."""
        return self._model.planned(route) if self._model is not None else ""

    # -- the result --------------------------------------------------------------------------------------------------

    def _outcome_of(self, attempts: list[Attempted]) -> Outcome:
        outcome = super()._outcome_of(attempts)
        reward, steps = outcome.reward, self._steps
        verdict = attempts[-1].verdict
        update: dict[str, object] = {
            "steps": tuple(step.to_json() for step in steps),
            "agent": self._agent(),
            "image": self._image,
            "network": self._network_of_main,
            "usage": asdict(self._usage),
            "flags": (*reward.flags, *dict.fromkeys(flag for step in steps for flag in step.flags)),
            "rewards": None,
        }
        # Where a step could not be judged, the rewards of the others stand at them, and make nothing together.
        if verdict.status in ("resolved", "unresolved") and self._rewards is not None:
            update |= {"reward": number_of(self._rewards), "rewards": dict(self._rewards)}
        line = reward.model_copy(update=update).model_dump(mode="json", by_alias=True)
        # What a verifier printed may stand there.
        told = {name: self._setting.secrets.masked_json(line[name]) for name in ("detail", "steps", "attempts")}
        return replace(outcome, reward=Reward.model_validate({**line, **told}))

    def _agent(self) -> dict[str, object]:
        setting = self._setting
        servers = [server.name for server in self.task.config.environment.mcp_servers]
        handed = servers if setting.mcp != "off" and setting.agent.mcp else []
        told: dict[str, object] = {"name": setting.agent.name, "model": setting.model, "mcp": handed}
        return told | ({"user": self._user} if self._user is not None else {})


def _sum(parts: Iterable[Usage]) -> Usage:
    """Of the steps: the host counts calls over the whole trial, so most is all; own steps are added."""
    total = Usage()
    for part in parts:
        most = part if part.calls >= total.calls else total
        total = replace(most, steps=total.steps + part.steps)
    return total
