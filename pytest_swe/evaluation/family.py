"""The half of a harness that all families which evaluate a patch share. A family says what a row means: its `Plan`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, cast

from pytest_swe.columns import Columns
from pytest_swe.errors import RowInvalid, Unsupported
from pytest_swe.evaluation.begin import begin
from pytest_swe.evaluation.carried import flat_columns
from pytest_swe.evaluation.plan import Plan
from pytest_swe.evaluation.run import new_nonce, run
from pytest_swe.evaluation.verdict import Reading, graded
from pytest_swe.grading import SUBSET, Rule, Rules
from pytest_swe.logs.markers import between
from pytest_swe.logs.results import merged
from pytest_swe.logs.runners import Unreadable, reader
from pytest_swe.logs.swebench_log import text_of
from pytest_swe.model import (
    ApplyLog,
    Candidate,
    EvalLog,
    Instance,
    Origin,
    Reason,
    Report,
    Row,
    RunLog,
    SandboxSpec,
    Step,
    StepLog,
)
from pytest_swe.patch import describe
from pytest_swe.sandbox.base import Sandbox

#: Processes and threads of one sandbox: enough for any test suite, too few for a fork bomb to hurt the host.
PIDS = 4096
#: What a family gives without changing how its plans are evaluated and graded.
_OF_EVERY_FAMILY = frozenset("name datasets columns plan missing_columns generation gold rule strict rules".split())


class PatchFamily(ABC):
    """A family whose rows are judged by applying a patch, running tests and looking at named ones.

    A subclass gives ``name``, ``datasets``, ``columns`` and `plan`; where its rules ask for it also ``rule`` and
    `read`. ``nonce`` makes the token of a run; only tests that replay a run give their own.
    """

    name: ClassVar[str]
    datasets: ClassVar[tuple[str, ...]] = ()
    columns: ClassVar[Columns]
    rule: ClassVar[Rule] = SUBSET
    strict: ClassVar[tuple[tuple[str, Rule], ...]] = ()

    def __init__(self, nonce: Callable[[], str] = new_nonce) -> None:
        self._nonce = nonce

    @abstractmethod
    def plan(self, row: Row, origin: Origin) -> Plan:
        """What ``row`` asks for. Pure. Raises RowInvalid naming the field."""

    def read(self, plan: Plan, step: StepLog) -> Reading:
        """The results: from the result files when there are any, else from what stands between the markers."""
        assert step.run is not None
        text = between(text_of(step.run.output))
        if step.files and plan.file_parser:
            return self.read_files(plan, step.files.values(), text)
        if not plan.parser:
            return Reading(text=text)
        try:
            return Reading(results=reader(plan.parser)(text), text=text)
        except Unreadable as error:
            return Reading(problem=str(error), text=text)

    def read_files(self, plan: Plan, files: Iterable[bytes], text: str) -> Reading:
        """The results in ``files``, the worst status of an id first."""
        read = reader(plan.file_parser)
        try:
            results = merged(read(data.decode("utf-8", "replace")) for data in files)
        except Unreadable as error:
            return Reading(problem=str(error), text=text)
        return Reading(results=results, text=text)

    # -- the contract ------------------------------------------------------------------------------------------------

    def missing_columns(self, row: Row) -> frozenset[str]:
        """As the contract says."""
        return self.columns.missing(row)

    def generation(self, row: Row) -> str:
        """One generation, unless a family says otherwise."""
        return ""

    def instance(self, row: Row, origin: Origin) -> Instance:
        """As the contract says."""
        plan = self.plan(row, origin)
        return Instance(
            id=plan.instance_id,
            family=self.name,
            repo=plan.repo,
            payload=plan,
            steps=(Step(timeout=plan.timeout),),
            spec=SandboxSpec(
                image=plan.image,
                # An engine makes a work directory that is not there, and an empty tree is worse than none.
                workdir="/" if plan.tree is None else plan.around.places[0],
                user=plan.user,
                env=plan.env,
                cpus=plan.cpus,
                memory_mb=plan.memory_mb,
                # A provider without images cannot limit processes and would have to refuse its own rows.
                pids=None if plan.tree else PIDS,
                capabilities=plan.capabilities,
                tree=plan.tree,
                trusted=origin.trusted,
            ),
        )

    def gold(self, instance: Instance) -> bytes:
        """As the contract says."""
        plan = plan_of(instance)
        if not plan.gold:
            raise RowInvalid("the row has no gold patch", instance_id=plan.instance_id, field="patch")
        return plan.gold

    def rules(self, plan: Plan) -> Rules:
        """The family's ``rule``, and those of ``strict`` that would deny a pass."""
        return Rules(self.rule, self.strict)

    def flat(self, instance: Instance) -> Row:
        """As the contract says; for families that read and grade like ``flat-eval``."""
        common = (name for name in vars(PatchFamily) if not name.startswith("_") and name not in _OF_EVERY_FAMILY)
        own = [name for name in common if getattr(type(self), name) is not getattr(PatchFamily, name)]
        if own:
            raise Unsupported(f"{self.name} evaluates or grades by rules that no column can carry ({', '.join(own)})")
        plan = plan_of(instance)
        return flat_columns(plan, self.rules(plan))

    def begin(self, instance: Instance, sandbox: Sandbox) -> str:
        """As the contract says."""
        place, tree = instance.spec.workdir, begin(plan_of(instance).around, sandbox)
        return tree if place == "/" else place

    def evaluate(self, instance: Instance, candidate: Candidate, sandbox: Sandbox) -> EvalLog:
        """As the contract says: one upload, one command, and one more for result files."""
        plan = plan_of(instance)
        hidden = plan.hidden or plan.around.tests_patch
        step, nonce = instance.steps[0], self._nonce()
        return run(plan.script, hidden, candidate, sandbox, step, nonce=nonce, around=plan.around, look=instance.look)

    def judging(self, instance: Instance) -> SandboxSpec | None:
        """None: most families have a reader of ours."""
        return None

    def judge(self, instance: Instance, log: EvalLog, sandbox: Sandbox) -> EvalLog:
        """Nothing to add."""
        return log

    def saved(
        self, instance: Instance, patch: bytes | None, output: bytes, files: Mapping[str, bytes] | None = None
    ) -> EvalLog:
        """As the contract says."""
        apply = ApplyLog(outcome="none")
        if patch is not None:
            apply = ApplyLog(outcome="applied", paths=describe(patch).paths)
        step = StepLog(name=instance.steps[0].name, apply=apply, run=RunLog(output=output), files=files or {})
        return EvalLog(steps=(step,), script=plan_of(instance).script)

    def grade(self, instance: Instance, log: EvalLog) -> Report:
        """As the contract says."""
        if not log.steps:
            return Report(
                instance_id=instance.id, resolved=False, measured=False, reason=Reason.INTERNAL, detail="no log"
            )
        plan = plan_of(instance)
        return graded(plan, log.steps[0], self.rules(plan), self.read)


def plan_of(instance: Instance) -> Plan:
    """The plan of an instance of such a family."""
    return cast(Plan, instance.payload)
