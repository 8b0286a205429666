"""Harbor tasks as a family: a row names a task's directory, an instance holds the task.

A task is judged by a trial, in which an agent works and the task's own verifier gives the reward: there is no patch to
apply and no log to grade, and what the contract has for those is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from pytest_swe.columns import Columns
from pytest_swe.errors import RowInvalid, Unsupported
from pytest_swe.harbor.limits import limits_of
from pytest_swe.harbor.schema import EnvironmentTable
from pytest_swe.harbor.task import HarborTask, load_task
from pytest_swe.model import Candidate, EvalLog, Instance, Network, Origin, Report, Row, SandboxSpec, Step
from pytest_swe.sandbox.base import Sandbox

#: Set by the reader of Harbor tasks only: it names a directory on this host.
_PLACE = "_tree"
#: Processes and threads of one sandbox: enough for any agent, too few for a fork bomb to hurt the host.
PIDS = 4096
_HINT = "name an agent: --swe-agent oracle runs the task's own solution, --swe-agent nop does nothing"


class HarborHarness:
    """The family of Harbor's tasks."""

    name = "harbor"
    datasets: tuple[str, ...] = ()
    columns = Columns(needed=frozenset({"harbor_task"}))

    def missing_columns(self, row: Row) -> frozenset[str]:
        """As the contract says."""
        return self.columns.missing(row)

    def generation(self, row: Row) -> str:
        """One generation: the schema only grew."""
        return ""

    def instance(self, row: Row, origin: Origin) -> Instance:
        """The task of a row, and what its agent's container must be. Raises RowInvalid, Unsupported by name."""
        task = load_task(_place_of(row, origin))
        environment = task.config.environment
        _refuse_hardware(environment)
        limits = limits_of(task.config)
        return Instance(
            id=str(row.get("instance_id") or task.root.name),
            family=self.name,
            payload=task,
            steps=tuple(Step(name=step.name or "task", timeout=step.seconds) for step in limits.steps),
            spec=SandboxSpec(
                image=task.image,
                workdir=environment.workdir or "/",
                cpus=environment.cpus,
                memory_mb=environment.memory_mib,
                pids=PIDS,
                network=network_of(environment),
                seconds=limits.seconds,
            ),
        )

    def gold(self, instance: Instance) -> bytes:
        """Refused: a reference solution is a program, not a patch."""
        _refuse()

    def evaluate(self, instance: Instance, candidate: Candidate, sandbox: Sandbox) -> EvalLog:
        """Refused: a trial does it."""
        _refuse()

    def judging(self, instance: Instance) -> SandboxSpec | None:
        """None: a separate verifier is a part of the trial."""
        return None

    def judge(self, instance: Instance, log: EvalLog, sandbox: Sandbox) -> EvalLog:
        """Nothing to add."""
        return log

    def saved(
        self, instance: Instance, patch: bytes | None, output: bytes, files: Mapping[str, bytes] | None = None
    ) -> EvalLog:
        """Refused: what a verifier printed is not what it decided."""
        _refuse()

    def grade(self, instance: Instance, log: EvalLog) -> Report:
        """Refused: the task's verifier gives the reward."""
        _refuse()


def task_of(instance: Instance) -> HarborTask:
    """The task of an instance of this family."""
    assert isinstance(instance.payload, HarborTask)
    return instance.payload


def network_of(environment: EnvironmentTable) -> Network:
    """What the container itself may reach: an allow-list is a container without network, and a proxy in front."""
    return "full" if environment.mode == "public" else "none"


def _place_of(row: Row, origin: Origin) -> Path:
    """The task's directory, which only the reader of a tree can name, and only below its root."""
    place = row.get(_PLACE)
    found = place.get("task") if isinstance(place, Mapping) else None
    root = origin.root.resolve() if origin.root else None
    if root is None or not isinstance(found, str) or not Path(found).resolve().is_relative_to(root):
        raise RowInvalid(
            "a Harbor task is its directory: name that, or a tree of them",
            path=origin.path or None,
            line=origin.line,
            instance_id=str(row.get("instance_id", "")),
            field="harbor_task",
        )
    return Path(found)


def _refuse_hardware(environment: EnvironmentTable) -> None:
    if environment.os == "windows":
        raise Unsupported('environment.os = "windows": tasks run in Linux containers only')
    if environment.gpus:
        raise Unsupported(f"environment.gpus = {environment.gpus}: no provider gives GPUs to a task")
    if environment.tpu is not None:
        raise Unsupported("environment.tpu: no provider gives TPUs to a task")


def _refuse() -> NoReturn:
    raise Unsupported("a Harbor task is not judged by a patch: an agent works in it", hint=_HINT)
