"""The harness contract: the rules of one benchmark family, in two halves.

``evaluate`` does I/O through the sandbox it is given and nothing else; ``grade`` is pure. Between them stands a
serialisable `EvalLog`, so logs can be graded again without an engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from pytest_swe.model import Candidate, EvalLog, Instance, Origin, Report, Row, SandboxSpec
from pytest_swe.sandbox.base import Sandbox


class Harness(Protocol):
    """One benchmark family.

    ``datasets`` are names under which its data sets are published, in lower case, without owner, ``_`` as ``-``.
    """

    name: str
    datasets: tuple[str, ...]

    def missing_columns(self, row: Row) -> frozenset[str]:
        """Columns this family needs and ``row`` lacks; empty when the row is of this family."""
        ...

    def instance(self, row: Row, origin: Origin) -> Instance:
        """Normalise a row. Pure. Raises RowInvalid naming the field."""
        ...

    def generation(self, row: Row) -> str:
        """Which generation of the family's row format this is, for the header; empty when there is one."""
        ...

    def gold(self, instance: Instance) -> bytes:
        """The row's own patch. Raises RowInvalid when the row has none."""
        ...

    def evaluate(self, instance: Instance, candidate: Candidate, sandbox: Sandbox) -> EvalLog:
        """Apply the candidate and run the benchmark's own evaluation.

        A patch that does not apply, failing tests and a time-out are facts in the log. Raises SandboxError when
        the sandbox failed, HarnessError when the family's own script did.
        """
        ...

    def judging(self, instance: Instance) -> SandboxSpec | None:
        """The sandbox in which a row's own program reads the log, out of the candidate's reach; None without one."""
        ...

    def judge(self, instance: Instance, log: EvalLog, sandbox: Sandbox) -> EvalLog:
        """``log`` with what the row's own program says of it, run in a fresh sandbox of `judging`.

        Raises SandboxError, and HarnessError when that program failed.
        """
        ...

    def saved(
        self, instance: Instance, patch: bytes | None, output: bytes, files: Mapping[str, bytes] | None = None
    ) -> EvalLog:
        """The log of an evaluation that ran elsewhere, from what it printed and its result files. Pure."""
        ...

    def grade(self, instance: Instance, log: EvalLog) -> Report:
        """Which required tests came out as required. Pure and total: any log gives a report."""
        ...


@runtime_checkable
class Preparing(Protocol):
    """A family whose images are not yet what an agent begins with."""

    def begin(self, instance: Instance, sandbox: Sandbox) -> str:
        """Make the tree what a candidate's patch is applied to, hide what the image has and an agent must not see.

        Returns where the tree stands. Raises SandboxError, HarnessError.
        """
        ...


@runtime_checkable
class Convertible(Protocol):
    """A family whose rows can be written as rows that carry their eval script."""

    def flat(self, instance: Instance) -> Row:
        """The columns that stand for ``instance``, of ``swebench`` or of ``flat-eval`` (named in ``dataset_name``).

        The same candidate has the same verdict on them. Raises Unsupported that says what no column can carry.
        """
        ...
