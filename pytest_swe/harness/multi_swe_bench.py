"""Multi-SWE-bench: pull requests of many languages, judged by what the image's own fix-run.sh prints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field

from pytest_swe.columns import Columns
from pytest_swe.encoding import patch_bytes
from pytest_swe.errors import RowInvalid
from pytest_swe.evaluation.begin import HIDE
from pytest_swe.evaluation.family import PatchFamily, plan_of
from pytest_swe.evaluation.plan import Around, Plan
from pytest_swe.evaluation.row import FamilyRow, Seconds, Text, located, some_required, validated
from pytest_swe.evaluation.script import eval_script
from pytest_swe.evaluation.verdict import Reading, layout
from pytest_swe.grading import Grade
from pytest_swe.logs.markers import between
from pytest_swe.logs.multi_swe import Pull, check_reader, results_of
from pytest_swe.logs.official import LogUnparseable
from pytest_swe.logs.runners import reader
from pytest_swe.logs.swebench_log import text_of
from pytest_swe.model import Bucket, EvalLog, Instance, Origin, Reason, Report, Row, StepLog

#: Seconds. The authors' harness has no limit; single instances of theirs take more than an hour (multi-swe-bench#43).
TIMEOUT = 7200.0
#: Both patches are in the tree already, so the script's own `git apply` has nothing to do. In 1,992 of the 2,004
#: scripts that the package (1.1.2) writes, that line is all in which the stage differs from one without patches.
_RUN = r"""sed -E 's/git( -C [^ ]+)? apply( |$)/: apply /' /home/fix-run.sh >"$SWE_OUT/fix-run.sh"
if ! grep -q ': apply ' "$SWE_OUT/fix-run.sh"; then
  echo 'fix-run.sh does not lay the patches with git apply'
  exit 1
fi"""
#: The images hold both patches.
HIDDEN = ("/home/fix.patch", "/home/test.patch")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


class _Base(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    sha: str = ""


class _Results(BaseModel):
    """What a stage of the authors' own run found."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    passed_tests: frozenset[str] = frozenset()
    failed_tests: frozenset[str] = frozenset()
    skipped_tests: frozenset[str] = frozenset()


class MultiSweRow(FamilyRow):
    """One row. ``image``, ``log_parser`` and ``timeout`` are columns of ours, for data sets of one's own."""

    org: str
    repo: str
    number: int
    base: _Base = _Base()
    fix_patch: Text = ""
    test_patch: Text = ""
    p2p_tests: Mapping[str, Any] = Field(default_factory=dict)
    f2p_tests: Mapping[str, Any] = Field(default_factory=dict)
    s2p_tests: Mapping[str, Any] = Field(default_factory=dict)
    n2p_tests: Mapping[str, Any] = Field(default_factory=dict)
    run_result: _Results = _Results()
    test_patch_result: _Results = _Results()
    tag: str = ""
    number_interval: str = ""
    image: str = ""
    log_parser: str = ""
    timeout: Seconds = TIMEOUT

    @property
    def pull(self) -> Pull:
        return Pull(
            org=self.org, repo=self.repo, number=self.number, tag=self.tag, number_interval=self.number_interval
        )

    @property
    def unbroken(self) -> frozenset[str]:
        """Tests that must not fail with the candidate's patch: they may be skipped or be gone.

        Those that passed with the hidden tests alone, and those that passed before and did neither there.
        """
        tests = self.test_patch_result
        return tests.passed_tests | (self.run_result.passed_tests - tests.failed_tests)


class MultiSweBenchHarness(PatchFamily):
    """The family ``multi-swe-bench``. Rule: multi_swe_bench.harness.report and .gen_report, 1.1.2."""

    name = "multi-swe-bench"
    datasets = ("multi-swe-bench-mini", "multi-swe-bench-flash", "multi-swe-rl")
    columns = Columns(
        needed=frozenset({"org", "repo", "number", "base", "fix_patch", "test_patch"}),
        one_of=(frozenset({"fixed_tests", "f2p_tests", "n2p_tests", "s2p_tests"}),),
    )

    def plan(self, row: Row, origin: Origin) -> Plan:
        """As the contract says. Raises Unsupported when nothing installed reads the repository's logs."""
        named = {"instance_id": f"{row.get('org')}__{row.get('repo')}-{row.get('number')}", **row}
        found = validated(MultiSweRow, named, origin)
        required = (*found.f2p_tests, *found.s2p_tests, *found.n2p_tests)
        try:
            _check(found, required)
        except RowInvalid as error:
            raise located(error, named, origin) from None
        if not found.log_parser:
            check_reader(found.pull)
        return Plan(
            instance_id=found.instance_id,
            image=found.image or f"mswebench/{found.org}_m_{found.repo}:pr-{found.number}".lower(),
            repo=found.pull.name,
            script=eval_script('bash "$SWE_OUT/fix-run.sh"', setup=[_RUN]),
            fail_to_pass=required,
            pass_to_pass=tuple(found.p2p_tests),
            parser=found.log_parser,
            around=Around(
                places=(f"/home/{found.repo}",),
                begin=f"{HIDE}hide {' '.join(HIDDEN)}\n",
                tests_patch=patch_bytes(found.test_patch),
            ),
            gold=patch_bytes(found.fix_patch),
            timeout=found.timeout,
            extra=found,
        )

    def read(self, plan: Plan, step: StepLog) -> Reading:
        """The results by the repository's reader; a log of the authors' own run, without markers, is read whole."""
        assert step.run is not None
        whole = text_of(step.run.output)
        text = between(whole) or ("" if step.run.guarded else whole)
        if plan.parser:
            return Reading(results=reader(plan.parser)(text), text=text)
        try:
            return Reading(results=results_of(_row(plan).pull, text), text=text)
        except LogUnparseable as error:
            return Reading(problem=str(error), text=text)

    def grade(self, instance: Instance, log: EvalLog) -> Report:
        """As the contract says; a test that nothing requires may not fail either, where it passed before."""
        report = super().grade(instance, log)
        if not report.resolved:
            return report
        plan = plan_of(instance)
        statuses = self.read(plan, log.steps[0]).results.statuses
        broken = tuple(test for test in sorted(_row(plan).unbroken) if statuses.get(test) in ("FAILED", "ERROR"))
        return _with_broken(report, broken) if broken else report


def _with_broken(report: Report, broken: tuple[str, ...]) -> Report:
    kept = Bucket(report.pass_to_pass.success, report.pass_to_pass.failure + broken)
    grade = Grade(fail_to_pass=report.fail_to_pass, pass_to_pass=kept)
    return replace(
        report,
        resolved=False,
        reason=Reason.TESTS_FAILED,
        detail=f"{broken[0]} passed before, and nothing requires it; it may not fail",
        pass_to_pass=kept,
        first_failure=broken[0],
        official=layout(report.instance_id, resolved=False, grade=grade),
    )


def _row(plan: Plan) -> MultiSweRow:
    return cast(MultiSweRow, plan.extra)


def _check(row: MultiSweRow, required: tuple[str, ...]) -> None:
    """Raises RowInvalid for what pydantic does not know."""
    for field, value in (("org", row.org), ("repo", row.repo)):
        if not _NAME.fullmatch(value) or value in (".", ".."):
            raise RowInvalid(f"expected the name of a GitHub owner or repository, got {value!r}", field=field)
    some_required(required, "f2p_tests, s2p_tests, n2p_tests")
    if row.log_parser:
        try:
            reader(row.log_parser)
        except RowInvalid as error:
            raise RowInvalid(str(error.args[0]), field="log_parser") from None
