"""SWE-smith: rows whose ``patch`` puts a bug in, so that the gold patch is its reverse.

An image holds the repository without the bug. SWE-smith fetches the branch named like the row, whose last commit
removes the tests and whose last but one holds the bug, and checks the latter out. Where the image has that branch so
does this; else the bug is applied to the tree, which gives the same tree without a network.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import Field

from pytest_swe.columns import Columns
from pytest_swe.encoding import patch_bytes
from pytest_swe.errors import RowInvalid
from pytest_swe.evaluation.begin import ONE_COMMIT
from pytest_swe.evaluation.family import PatchFamily
from pytest_swe.evaluation.plan import Around, Plan
from pytest_swe.evaluation.reversed_patch import reversed_patch
from pytest_swe.evaluation.row import FamilyRow, Seconds, Tests, Text, located, some_required, validated
from pytest_swe.evaluation.script import eval_script
from pytest_swe.evaluation.stricter import SKIPS_MAINTAIN, SKIPS_PASS
from pytest_swe.logs.runners import reader
from pytest_swe.model import Origin, Row

TestFiles = Literal["ids", "test.py", "modules", "names", "strip ../dev/"]

#: One argument of a command may have 128 KiB.
_ARGUMENT = 100_000
_MODULE = re.compile(r"\s\((.*)\)")
#: The bug is gone from the sandbox before any code of the candidate runs.
_PREPARE = """\
here=${{0%/*}}
git() {{ HOME=$here/home GIT_CONFIG_NOSYSTEM=1 command git "$@"; }}
for ref in refs/remotes/origin/{branch} refs/heads/{branch}; do
  if git rev-parse --quiet --verify "$ref~1^{{commit}}" >/dev/null; then
    rm -f -- "$here/files/bug.diff"
    git checkout --quiet --detach "$ref~1"
    exit
  fi
done
git apply --whitespace=nowarn "$here/files/bug.diff"
status=$?
if [ $status -ne 0 ] && git apply --reverse --check "$here/files/bug.diff"; then
  echo "the tree has the bug already"
  status=0
fi
rm -f -- "$here/files/bug.diff"
exit $status
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How the tests of one repository are run and read. ``min_testing``: only the files of the required tests."""

    test_cmd: str
    log_parser: str = "swe-smith"
    min_testing: bool = False
    test_files: TestFiles = "ids"


class SweSmithRow(FamilyRow):
    """One row. ``test_cmd`` and ``log_parser`` are for repositories that SWE-smith has no profile of."""

    repo: str
    image_name: str
    patch: Text
    fail_to_pass: Tests = Field(alias="FAIL_TO_PASS")
    pass_to_pass: Tests = Field(alias="PASS_TO_PASS")
    test_cmd: str = ""
    log_parser: str = "swe-smith"
    timeout: Seconds = 1800.0


class SweSmithHarness(PatchFamily):
    """The family ``swe-smith``."""

    name = "swe-smith"
    datasets = ("swe-smith-py", "swe-smith-multilingual")
    columns = Columns(
        needed=frozenset({"instance_id", "repo", "image_name", "patch", "FAIL_TO_PASS", "PASS_TO_PASS"}),
        foreign=frozenset(
            {"test_patch", "eval_script", "install_config", "test_cmds", "test_framework", "pre_commands"}
        ),
    )
    rule = SKIPS_PASS
    strict = (("skipped_counts_as_pass", SKIPS_MAINTAIN),)

    def plan(self, row: Row, origin: Origin) -> Plan:
        """As the contract says."""
        found = validated(SweSmithRow, row, origin)
        try:
            some_required(found.fail_to_pass)
            profile = _profile(found)
            files = _test_files(profile, found)
            gold = _gold(found)
        except RowInvalid as error:
            raise located(error, row, origin) from None
        return Plan(
            instance_id=found.instance_id,
            image=image_of(found.image_name),
            repo=found.repo,
            script=eval_script(_command(profile, found, files)),
            around=Around(
                prepare=_PREPARE.format(branch=shlex.quote(found.instance_id)),
                begin=_begin(profile, found),
                files={"bug.diff": patch_bytes(found.patch)},
            ),
            fail_to_pass=found.fail_to_pass,
            pass_to_pass=found.pass_to_pass,
            parser=profile.log_parser,
            hidden=b"".join(patch_bytes(f"diff --git a/{file} b/{file}\n") for file in files),
            gold=gold,
            timeout=found.timeout,
        )


def image_of(name: str) -> str:
    """The published image of a repository; older rows name it without its owner, and with a double underscore."""
    published = name if "/" in name else f"swebench/{name}".lower().replace("__", "_1776_")
    return published if ":" in published else f"{published}:latest"


def _profile(row: SweSmithRow) -> Profile:
    """Raises RowInvalid for a repository without one."""
    if row.test_cmd:
        reader(row.log_parser)
        return Profile(test_cmd=row.test_cmd, log_parser=row.log_parser)
    profile = _profiles().get(row.repo.rsplit("/", 1)[-1])
    if profile is None:
        raise RowInvalid(
            f"SWE-smith has no profile of a Python repository {row.repo!r}",
            field="repo",
            hint="columns test_cmd and log_parser say how its tests are run and read",
        )
    return profile


def _gold(row: SweSmithRow) -> bytes:
    try:
        return reversed_patch(patch_bytes(row.patch))
    except ValueError as error:
        raise RowInvalid(f"expected a patch that can be turned round: {error}", field="patch") from None


def _begin(profile: Profile, row: SweSmithRow) -> str:
    """What an agent does not get: the files of FAIL_TO_PASS, which SWE-smith's last commit of a branch removes, and the
    past, for every commit but the bug's shows the fix.
    """
    files = sorted({_test_file(profile, test) for test in row.fail_to_pass} - {""})
    return (f"rm -f -- {shlex.join(files)}\n" if files else "") + ONE_COMMIT


def _test_files(profile: Profile, row: SweSmithRow) -> tuple[str, ...]:
    """The files of the required tests: first those of FAIL_TO_PASS, as SWE-smith orders them."""
    parts = ({_test_file(profile, test) for test in tests} - {""} for tests in (row.fail_to_pass, row.pass_to_pass))
    return tuple(dict.fromkeys(file for part in parts for file in sorted(part)))


def _test_file(profile: Profile, test: str) -> str:
    if profile.test_files == "test.py":
        return "test.py"
    if profile.test_files == "modules":
        found = _MODULE.search(test)
        return "/".join(found[1].split(".")[:-1]) + ".py" if found else ""
    return test.split("::", 1)[0].removeprefix("../dev/" if profile.test_files == "strip ../dev/" else "")


def _command(profile: Profile, row: SweSmithRow, files: tuple[str, ...]) -> str:
    if profile.test_files == "names":
        # SWE-smith's own command selects nothing here for published rows, and ends in an error.
        names = " or ".join(dict.fromkeys(test.rsplit("::", 1)[-1] for test in row.fail_to_pass + row.pass_to_pass))
        command = profile.test_cmd.removesuffix(" -k")
        return f"{command} -k {shlex.quote(names)}" if len(names) < _ARGUMENT else command
    return " ".join([profile.test_cmd, *files]) if profile.min_testing else profile.test_cmd


@functools.cache
def _profiles() -> Mapping[str, Profile]:
    text = importlib.resources.files("pytest_swe.harness").joinpath("swe_smith_profiles.json").read_text("utf-8")
    table = json.loads(text)
    default = Profile(test_cmd=table["test_cmd"])
    return {repo: replace(default, **own) for repo, own in table["repos"].items()}
