"""The harness contract: the rules of one benchmark family, in two halves.

``evaluate`` does I/O through the sandbox it is given and nothing else; ``grade`` is pure. Between them stands a
serialisable `EvalLog`, so logs can be graded again without an engine.
"""

from __future__ import annotations

from typing import Protocol

from pytest_swe.model import Candidate, EvalLog, Instance, Origin, Report, Row
from pytest_swe.sandbox.base import Sandbox


class Harness(Protocol):
    """One benchmark family."""

    name: str

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

    def saved(self, instance: Instance, patch: bytes | None, output: bytes) -> EvalLog:
        """The log of an evaluation that ran elsewhere, from what it printed. Pure."""
        ...

    def grade(self, instance: Instance, log: EvalLog) -> Report:
        """Which required tests came out as required. Pure and total: any log gives a report."""
        ...
