"""Small tasks with what Harbor 0.25.0 answered to each: the same rewards here, or an improvement that is listed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_swe.errors import SweError
from pytest_swe.harbor.limits import LimitOptions
from pytest_swe.sandbox.docker import DockerProvider

from .rooms import BASE, Tried, tried, variables_of_base, write

#: As the fixture ``shared_data`` has it, which is not there yet when tests are collected.
DATA = Path(os.environ.get("PYTEST_SWE_DATA") or Path(__file__).parents[3] / "shared" / "data")
CASES: Mapping[str, Any] = (
    json.loads((DATA / "harbor-conformance" / "conformance.json").read_text())["cases"] if DATA.is_dir() else {}
)
#: The image of the study that made the cases.
THEIRS = "hc-base:1"


@dataclass(frozen=True)
class Improved:
    """What is other here, on purpose; docs/families/harbor.md has each with its reason.

    ``rewards`` None: there are none.
    """

    why: str
    rewards: Mapping[str, float] | None = None


IMPROVED: Mapping[str, Improved] = {
    "ms/hc-m-clean": Improved("a step's verifier has the task's limit: two seconds are too few for the second"),
    "t/hc-a-rewarddir": Improved("what the agent put where the reward goes is taken away", {"reward": 1.0}),
    "t/hc-a-stale-tests": Improved("what the agent put into /tests is taken away", {"reward": 1.0}),
    "t/hc-r-both": Improved("two files that disagree are an error"),
    "y/hc-y-frac": Improved(
        "an agent out of time is verified, also where its limit is no whole second", {"reward": 1.0}
    ),
    "z/hc-z-bg": Improved("processes of the agent are ended before verification", {"reward": 0.0}),
    "z/hc-z-swei": Improved("a failure payload with 0 in both files is 0", {"reward": 0.0}),
    "t2/hc-n-none": Improved("a container without network needs no helper image", {"reward": 1.0}),
}
#: Tasks that cannot be used; Harbor leaves them out without a word, or ends the whole job.
REFUSED = frozenset({"t2/hc-e-nodef", "w/hc-badtoml", "w/hc-badtype", "w/hc-notests"})
#: By case what the first step or the trial is called where it has no rewards, when that is other than Harbor's name.
RENAMED: Mapping[str, str] = {
    "t/hc-r-json-scalar": "VerifierOutputParseError",
}
#: Errors that come before any step: the reason on the reward line.
BEFORE: Mapping[str, str] = {
    "cp/hc-c-badcompose": "row_invalid",
    "t/hc-e-nobash": "verifier_failed",
    "t/hc-h-fail": "sandbox_start_failed",
    "y/hc-y-buildtimeout": "image_unavailable",
    "y/hc-y-hcslow": "sandbox_start_failed",
}
#: Random on purpose.
EITHER = frozenset({"k/hc-k-rand"})
#: Lines that differ from machine to machine, and variables of the engine.
_VARYING = re.compile(r"^(HOSTNAME=.*|total \d+|_=.*|\d+|[-dl]\S+ +\d+ .*)$")
#: What waits in a container.
_IDLE = re.compile(r"^(sh -c )?sleep \S+ ")

pytestmark = [pytest.mark.docker, pytest.mark.shared_data]


def _marked(name: str) -> Any:
    compose = any(path.endswith("docker-compose.yaml") for path in CASES[name]["files"])
    return pytest.param(name, marks=pytest.mark.compose) if compose else name


def ran(name: str, tmp_path: Path, provider: DockerProvider, **setting: Any) -> Tried:
    files = {path: text.replace(THEIRS, BASE) for path, text in CASES[name]["files"].items()}
    return tried(write(tmp_path / name.rpartition("/")[2], files), tmp_path / "kept", provider, **setting)


def observed(name: str) -> dict[str, Any]:
    """What Harbor answered to its last run of the case that was verified."""
    found: list[dict[str, Any]] = CASES[name].get("observed") or [{"rewards": None, "exception": None}]
    return next((each for each in found if each["rewards"] is not None), found[-1])


@pytest.mark.parametrize("name", [_marked(name) for name in sorted(CASES) if name not in REFUSED])
def test_rewards(name: str, tmp_path: Path, engine_provider: DockerProvider) -> None:
    harbor, improved = observed(name), IMPROVED.get(name)
    expected = improved.rewards if improved is not None else harbor["rewards"]
    done = ran(name, tmp_path, engine_provider)
    assert (done.reward.status == "error") == (expected is None), str(done)
    if name in EITHER:
        assert done.reward.rewards in ({"reward": 0.0}, {"reward": 1.0})
    else:
        assert done.reward.rewards == expected, str(done)
    if improved is None and name not in BEFORE:
        _same_steps(name, done, harbor)
    if name in BEFORE:
        assert done.reward.reason == BEFORE[name], str(done)
    _same_output(name, done, harbor)


def _same_steps(name: str, done: Tried, harbor: Mapping[str, Any]) -> None:
    """Rewards and names of failures of each step; a task without steps is one."""
    theirs = harbor.get("steps") or [{"name": "", "rewards": harbor["rewards"], "exception": harbor["exception"]}]
    if name not in EITHER:
        assert [step["rewards"] for step in done.steps] == [step["rewards"] for step in theirs]
    named = [step["exception"]["type"] if step["exception"] else None for step in done.steps]
    wanted = [step["exception"][0] if step["exception"] else None for step in theirs]
    assert named == ([RENAMED[name]] if name in RENAMED else wanted)


def _same_output(name: str, done: Tried, harbor: Mapping[str, Any]) -> None:
    """User, work directory, variables, directories: what tasks printed of them."""
    for path in ("verifier/test-stdout.txt", "agent/oracle.txt"):
        if path in harbor and name not in IMPROVED:
            ours, theirs = _stable(done.text(path)), _stable(harbor[path])
            if not harbor[path].endswith("\n"):  # the record of it is cut
                theirs = theirs[:-1]
                ours = ours[: len(theirs)]
            assert ours == theirs, path
    if "artifacts/manifest.json" in harbor and name not in BEFORE:
        assert json.loads(done.text("artifacts/manifest.json")) == json.loads(harbor["artifacts/manifest.json"])
    if "agent/exit-code.txt" in harbor and name not in BEFORE:
        assert done.text("agent/exit-code.txt") == harbor["agent/exit-code.txt"]


def _stable(text: str) -> list[str]:
    own = variables_of_base()
    lines = [_IDLE.sub("idle ", line) for line in text.splitlines()]
    return [line for line in lines if line not in own and not _VARYING.match(line)]


def test_steps_of_which_each_has_time(tmp_path: Path, engine_provider: DockerProvider) -> None:
    """The case of which the second verifier ran out of the time that the task gives it; with more it is as Harbor's."""
    name = "ms/hc-m-clean"
    done = ran(name, tmp_path, engine_provider, limits=LimitOptions(bases={"verifier": 30.0}))
    assert done.reward.rewards == observed(name)["rewards"]
    _same_steps(name, done, observed(name))
    first, second, third = (done.text(f"steps/s{number}/verifier/test-stdout.txt") for number in (1, 2, 3))
    assert ["BOTH=step", "STEPV=s", "TASKV=t"] == sorted(set(first.split()) & {"BOTH=step", "STEPV=s", "TASKV=t"})
    assert "STEPV" not in second
    assert "only_s2.txt" in second
    assert "only_s1.txt" not in second + third
    assert "junk1" not in second + third


@pytest.mark.parametrize("name", sorted(REFUSED & CASES.keys()))
def test_tasks_that_cannot_be_used_are_refused_by_name(
    name: str, tmp_path: Path, engine_provider: DockerProvider
) -> None:
    with pytest.raises(SweError) as refused:
        ran(name, tmp_path, engine_provider)
    assert name.rpartition("/")[2] in str(refused.value)


def test_every_case_is_here() -> None:
    assert len(CASES) == 60
    assert CASES.keys() >= IMPROVED.keys() | REFUSED | BEFORE.keys() | RENAMED.keys() | EITHER


def test_what_differs_stands_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "families" / "harbor.md").read_text()
    assert [name for name in IMPROVED if f"`{name.rpartition('/')[2]}`" not in page] == []
