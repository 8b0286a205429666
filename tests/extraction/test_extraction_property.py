"""Whatever an agent does to a tree, its patch makes the same tree of a clean one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from pytest_swe.agent.baseline import Baseline, record
from pytest_swe.agent.extraction import extract

from . import trees
from .directory import git
from .moves import Do, agents, play


@pytest.fixture(scope="session")
def before(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Baseline]:
    origin = trees.make(tmp_path_factory.mktemp("origin"))
    sandbox, _ = trees.copy_of(origin, tmp_path_factory.mktemp("kept") / "root")
    return origin, record(sandbox, "/testbed")


@given(moves=agents)
@settings(
    max_examples=int(os.environ.get("PYTEST_SWE_EXAMPLES", "25")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
def test_the_patch_makes_the_agent_s_tree_of_a_clean_one(before: tuple[Path, Baseline], moves: list[Do]) -> None:
    origin, baseline = before
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sandbox, tree = trees.copy_of(origin, folder / "agent")
        play(moves, tree)
        found = extract(sandbox, baseline)
        assert not found.problem
        told = {line.partition(":")[0] for line in (*found.ignored, *found.excluded)}
        wanted = {name: file for name, file in trees.files_of(tree).items() if name not in told}
        for way in ("git", "ladder"):
            _, clean = trees.copy_of(origin, folder / way)
            if found.patch and way == "git":
                (folder / "patch").write_bytes(found.patch)
                git(clean, "apply", str(folder / "patch"))
            elif found.patch:
                log = trees.apply_by_ladder(found.patch, clean, folder / "driver")
                assert (log.outcome, log.whole) == ("applied", True), log
            assert {name: file for name, file in trees.files_of(clean).items() if name not in told} == wanted, way
