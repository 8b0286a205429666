"""R2E-Gym and SWE-Next: images that hold their own tests (``r2e_tests``), and the status that each test must have.

The authors move ``r2e_tests`` and ``run_tests.sh`` out of the agent's reach and link the tests back to run them. Here
both are copied aside before the candidate's patch, and laid again after it.

R2E-Gym's rule (``_calculate_reward_r2e``) is equality: the run has exactly the expected tests, each with exactly the
expected status, FAILED included. SWE-Next's own is that every test expected to pass passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, cast

from pydantic import BeforeValidator, Field

from pytest_swe.columns import Columns
from pytest_swe.encoding import patch_bytes
from pytest_swe.errors import RowInvalid
from pytest_swe.evaluation.begin import HIDE
from pytest_swe.evaluation.family import PatchFamily, plan_of
from pytest_swe.evaluation.plan import Around, Plan
from pytest_swe.evaluation.row import FamilyRow, Seconds, Tests, Text, json_in_text, located, some_required, validated
from pytest_swe.evaluation.script import eval_script
from pytest_swe.evaluation.verdict import Reading
from pytest_swe.harness.r2e_commit import patch_of
from pytest_swe.logs.results import Results
from pytest_swe.logs.runners.r2e import misread
from pytest_swe.model import EvalLog, Instance, Origin, Reason, Report, Row, StepLog

#: What an agent must not see, where the images may have it.
HIDDEN = ("r2e_tests", "/r2e_tests", "/root/r2e_tests", "run_tests.sh", "/run_tests.sh", "/root/run_tests.sh")
#: The command of SWE-Next, the same in every image.
NEXT_TESTS = (
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning' "
    ".venv/bin/python -W ignore -m pytest -rA r2e_tests"
)
#: Copies the first of several places; the tree's own copy is what the candidate could reach.
_KEEP = """\
files=${0%/*}/files
mkdir -p "$files"
keep() {
  local name=$1 place
  shift
  for place; do
    if [ -e "$place" ]; then
      rm -rf -- "${files:?}/$name" && cp -aL -- "$place" "$files/$name"
      return
    fi
  done
  echo "the image has no $name"
  return 1
}
keep r2e_tests r2e_tests /r2e_tests /root/r2e_tests || exit 1
find "$files/r2e_tests" -name __pycache__ -prune -exec rm -rf {} +
"""
_KEEP_COMMAND = "keep run_tests.sh run_tests.sh /run_tests.sh /root/run_tests.sh || exit 1\n"
#: The images' entry point does this; a sandbox has its own.
_LINK_TREE = "[ -e /testbed ] || ln -s /workspace /testbed\n"
_HIDE = f"{HIDE}hide {' '.join(HIDDEN)}\n"
_LAY = ("rm -rf -- r2e_tests", 'ln -s "$SWE_FILES/r2e_tests" r2e_tests')
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def _as_expected(value: object) -> object:
    """A JSON object in published data sets, a mapping in local ones; keys as the readers give them."""
    if isinstance(value, str):
        value = json_in_text(value)
    if not isinstance(value, Mapping):
        raise ValueError(f"expected an object, test to status, as JSON or as a mapping, got {type(value).__name__}")
    return {_COLOUR.sub("", str(test)).split(" - ")[0]: status for test, status in value.items()}


Expected = Annotated[Mapping[str, str], BeforeValidator(_as_expected)]


class R2ERow(FamilyRow):
    """A row of R2E-Gym. The gold patch is in ``parsed_commit_content``; ``patch`` counts before it."""

    repo_name: str
    docker_image: str
    expected_output_json: Expected
    parsed_commit_content: Text = ""
    patch: Text = ""
    timeout: Seconds = 1800.0


class SweNextRow(FamilyRow):
    """A row of SWE-Next; ``image_ref`` is what NeMo Gym calls the image."""

    repo: str
    base_commit: str
    image: str = Field(alias="docker_image")
    expected_output_json: Expected
    fail_to_pass: Tests = Field(alias="FAIL_TO_PASS", default=())
    patch: Text = ""
    test_patch: Text = ""
    timeout: Seconds = 1800.0


class R2EGymHarness(PatchFamily):
    """The family ``r2e-gym``."""

    name = "r2e-gym"
    datasets = ("r2e-gym-subset", "r2e-gym-lite", "r2e-gym-full", "r2e-gym-v1")
    columns = Columns(
        needed=frozenset({"repo_name", "docker_image", "expected_output_json"}),
        one_of=(frozenset({"commit_hash", "git_commit_hash", "instance_id"}),),
        foreign=frozenset({"FAIL_TO_PASS", "eval_script"}),
    )

    def plan(self, row: Row, origin: Origin) -> Plan:
        """As the contract says. Every expected test is required, with the status that it is expected to have."""
        found = validated(R2ERow, {"instance_id": _id_of(row), **row}, origin)
        try:
            gold = patch_bytes(found.patch) or patch_of(found.parsed_commit_content)
            some_required(found.expected_output_json, "expected_output_json")
        except RowInvalid as error:
            raise located(error, row, origin) from None
        path = 'export PATH="$PWD/.venv/bin:/root/.venv/bin:/root/.local/bin:/root/.cargo/bin:$PATH"'
        return Plan(
            instance_id=found.instance_id,
            image=found.docker_image,
            repo=found.repo_name,
            script=eval_script('bash "$SWE_FILES/run_tests.sh"', setup=(*_LAY, path)),
            around=Around(prepare=_KEEP + _KEEP_COMMAND, begin=_HIDE),
            fail_to_pass=tuple(found.expected_output_json),
            parser="r2e-gym",
            gold=gold,
            timeout=found.timeout,
            extra=found.expected_output_json,
        )

    def read(self, plan: Plan, step: StepLog) -> Reading:
        """PASSED here says that a test has the status that is expected of it."""
        reading = super().read(plan, step)
        statuses = _last_words(reading.results, _expected(plan))
        judged = {test: _as_required(status, _expected(plan).get(test)) for test, status in statuses.items()}
        results = Results(statuses=judged, ran=reading.results.ran, repeated=reading.results.repeated)
        flags = (*_more_flags(step, reading.text), *_unequal(_expected(plan), statuses))
        return replace(reading, results=results, flags=flags)

    def grade(self, instance: Instance, log: EvalLog) -> Report:
        """As the contract says; a test that nobody expects is a difference too."""
        report = super().grade(instance, log)
        plan = plan_of(instance)
        if not report.resolved:
            return report
        more = set(super().read(plan, log.steps[0]).results.statuses) - set(_expected(plan))
        if not more:
            return report
        return replace(
            report,
            resolved=False,
            reason=Reason.TESTS_FAILED,
            detail=f"the run has {len(more)} tests that are not expected, {min(more)!r} among them",
            official={instance.id: {**cast("dict[str, None]", report.official[instance.id]), "resolved": False}},
        )


class SweNextHarness(PatchFamily):
    """The family ``swe-next``."""

    name = "swe-next"
    columns = Columns(
        needed=frozenset({"instance_id", "repo", "base_commit", "expected_output_json"}),
        one_of=(frozenset({"docker_image", "image_ref"}),),
        foreign=frozenset({"eval_script"}),
    )

    def plan(self, row: Row, origin: Origin) -> Plan:
        """As the contract says. Tests that are expected to fail are not required."""
        image = row.get("docker_image") or row.get("image_ref")
        found = validated(SweNextRow, {**row, "docker_image": image}, origin)
        passing = [test for test, status in found.expected_output_json.items() if status == "PASSED"]
        try:
            some_required(passing, "expected_output_json")
        except RowInvalid as error:
            raise located(error, row, origin) from None
        begin = frozenset(found.fail_to_pass)
        hidden = patch_bytes(found.test_patch)
        # What the tests import may be in the test patch; half of it is better than none, and rows do not always apply.
        lay = 'git apply --reject --recount --ignore-space-change --whitespace=nowarn "$SWE_FILES/tests.diff"'
        return Plan(
            instance_id=found.instance_id,
            image=found.image,
            repo=found.repo,
            script=eval_script(NEXT_TESTS, setup=(*((lay,) if hidden else ()), *_LAY)),
            around=Around(
                places=("/testbed", "/workspace"),
                prepare=_LINK_TREE + _KEEP,
                begin=_HIDE,
                files={"tests.diff": hidden} if hidden else {},
            ),
            fail_to_pass=tuple(test for test in passing if test in begin),
            pass_to_pass=tuple(test for test in passing if test not in begin),
            parser="swe-next",
            hidden=hidden,
            gold=patch_bytes(found.patch) or None,
            timeout=found.timeout,
        )

    def read(self, plan: Plan, step: StepLog) -> Reading:
        """As the contract says."""
        reading = super().read(plan, step)
        return replace(reading, flags=tuple(_more_flags(step, reading.text)))


def _id_of(row: Row) -> str:
    """Rows of R2E-Gym have no id: repository and commit, as the data set is indexed."""
    commit = row.get("commit_hash") or row.get("git_commit_hash")
    return f"{row.get('repo_name')}__{commit}".replace("/", "__")


def _expected(plan: Plan) -> Mapping[str, str]:
    return cast("Mapping[str, str]", plan.extra)


def _last_words(results: Results, expected: Mapping[str, str]) -> dict[str, str]:
    """The statuses, where one that both failed and erred has the one that is expected: pytest lists it twice."""
    bad = ("FAILED", "ERROR")
    return {
        test: expected[test] if test in results.repeated and status in bad and expected.get(test) in bad else status
        for test, status in results.statuses.items()
    }


def _as_required(status: str, expected: str | None) -> str:
    if status == expected:
        return "PASSED"
    return "FAILED" if status == "PASSED" else status


def _more_flags(step: StepLog, text: str) -> Iterator[str]:
    if any(path.split("/")[0] in HIDDEN for path in step.apply.paths):
        yield "hidden_tests_restored"
    if misread(text):
        yield "official_differs:passed_in_message"


def _unequal(expected: Mapping[str, str], statuses: Mapping[str, str]) -> Iterator[str]:
    """A flag when only tests that need not pass keep the run from being as expected."""
    passing = {test for test, status in expected.items() if status == "PASSED"}
    if dict(statuses) != dict(expected) and all(statuses.get(test) == "PASSED" for test in passing):
        yield "official_differs:expected_failures"
