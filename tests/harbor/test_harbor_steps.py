"""Steps: what is inherited, what is merged, which files belong to one, gates, and the rewards of several together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_swe.harbor.files import TaskFile
from pytest_swe.harbor.schema import Strategy, TaskConfig
from pytest_swe.harbor.steps import (
    NetworkPolicy,
    StepSettings,
    below_gate,
    main_reward,
    rewards_together,
    solution_files,
    steps_of,
    verifier_files,
    workdir_files,
)
from pytest_swe.harbor.verifiers import SeparateVerifier, separate_verifier


def steps(task: dict[str, Any], *tables: dict[str, Any]) -> tuple[StepSettings, ...]:
    named = [{"name": f"s{number}", **table} for number, table in enumerate(tables)]
    return steps_of(TaskConfig.model_validate({**task, "steps": named}))


def files(*paths: str) -> dict[str, TaskFile]:
    return {path: TaskFile(0, False, "") for path in paths}


def test_a_task_without_steps_is_one_without_a_name() -> None:
    (only,) = steps({"agent": {"user": 7}, "environment": {"allow_internet": False}})
    assert (only.name, only.agent_user, only.verifier_user) == ("", "7", None)
    assert only.agent_network == only.verifier_network == NetworkPolicy("no-network")
    assert (only.verifier_mode, only.healthcheck, only.min_reward) == ("shared", None, None)


def test_what_a_step_does_not_say_it_has_from_the_task() -> None:
    task = {
        "artifacts": ["/t"],
        "agent": {"user": "bob", "network_mode": "no-network"},
        "verifier": {
            "user": "judge",
            "env": {"TASK": "t", "BOTH": "task"},
            "collect": [{"command": "side", "service": "side"}, {"command": "main"}],
        },
        "environment": {"healthcheck": {"command": "true"}},
    }
    first, second = steps(
        task,
        {},
        {
            "artifacts": ["/s"],
            "agent": {"user": 0, "network_mode": "allowlist", "allowed_hosts": ["a.b"]},
            "verifier": {"env": {"BOTH": "step"}, "user": "root", "collect": [{"command": "own"}]},
            "healthcheck": {"command": "false"},
        },
    )
    assert (first.agent_user, second.agent_user) == ("bob", "0")
    assert (first.verifier_user, second.verifier_user) == ("judge", "root")
    assert first.agent_network == NetworkPolicy("no-network")
    assert second.agent_network == NetworkPolicy("allowlist", ("a.b",))
    assert second.verifier_network == NetworkPolicy("public")
    assert first.verifier_env == {"TASK": "t", "BOTH": "task"}
    assert second.verifier_env == {"TASK": "t", "BOTH": "step"}
    assert [hook.command for hook in second.collect] == ["main", "own", "side"]
    assert [artifact.source for artifact in second.artifacts] == ["/t", "/s"]
    assert first.healthcheck is None
    assert second.healthcheck is not None


@pytest.mark.parametrize(
    ("task", "step", "mode"),
    [
        ({}, {}, "shared"),
        ({"environment_mode": "separate"}, {}, "separate"),
        ({"environment": {}}, {}, "separate"),
        ({"environment_mode": "separate"}, {"environment_mode": "shared"}, "shared"),
        ({}, {"environment": {}}, "separate"),
        ({"environment": {}}, {"environment_mode": "shared"}, "shared"),
    ],
)
def test_where_a_verifier_runs(task: dict[str, Any], step: dict[str, Any], mode: str) -> None:
    (found,) = steps({"verifier": task}, {"verifier": step})
    assert found.verifier_mode == mode
    assert (found.verifier_environment is None) or mode == "separate"


AGENT = {"environment": {"docker_image": "agent:1"}}


@pytest.mark.parametrize(
    ("task", "step", "present", "expected"),
    [
        ({}, {"environment": {"docker_image": "s"}}, ["steps/s0/tests/Dockerfile"], ("s", "", False)),
        ({"environment": {"docker_image": "t"}}, {}, ["steps/s0/tests/Dockerfile"], ("", "steps/s0/tests", False)),
        ({"environment": {"docker_image": "t"}}, {}, ["tests/Dockerfile"], ("t", "", False)),
        ({"environment_mode": "separate"}, {}, ["tests/docker-compose.yaml"], ("", "tests", False)),
        ({"environment_mode": "separate"}, {}, ["tests/test.sh"], ("agent:1", "environment", True)),
        ({"environment": {"cpus": 1}}, {}, [], ("agent:1", "environment", True)),
    ],
)
def test_what_a_separate_verifier_is_made_of(
    task: dict[str, Any], step: dict[str, Any], present: list[str], expected: tuple[str, str, bool]
) -> None:
    config = TaskConfig.model_validate({**AGENT, "verifier": task, "steps": [{"name": "s0", "verifier": step}]})
    found = separate_verifier(config, steps_of(config)[0], files(*present))
    assert isinstance(found, SeparateVerifier)
    assert (found.image, found.directory, found.uploads_tests) == expected
    assert found.compose == ("tests/docker-compose.yaml" in present)


def test_an_image_of_a_task_without_steps_comes_before_its_tests_directory() -> None:
    config = TaskConfig.model_validate({"verifier": {"environment": {"docker_image": "t"}}})
    found = separate_verifier(config, steps_of(config)[0], files("tests/Dockerfile"))
    assert found is not None
    assert (found.image, found.directory) == ("t", "")


def test_the_files_of_a_step() -> None:
    present = files(
        "tests/test.sh", "tests/lib/a", "steps/s0/tests/test.sh", "steps/s0/workdir/setup.sh", "solution/solve.sh",
        "steps/s1/solution/readme",
    )  # fmt: skip
    first, second = steps({}, {}, {})
    assert verifier_files(present, first) == {"lib/a": "tests/lib/a", "test.sh": "steps/s0/tests/test.sh"}
    assert verifier_files(present, second) == {"lib/a": "tests/lib/a", "test.sh": "tests/test.sh"}
    assert solution_files(present, first) == {"solve.sh": "solution/solve.sh"}
    assert solution_files(present, second) == {"readme": "steps/s1/solution/readme"}
    assert workdir_files(present, first) == {"setup.sh": "steps/s0/workdir/setup.sh"}
    (only,) = steps({})
    assert verifier_files(present, only) == {"lib/a": "tests/lib/a", "test.sh": "tests/test.sh"}
    assert workdir_files(present, only) == {}


@pytest.mark.parametrize(
    ("least", "rewards", "why"),
    [
        (None, {}, ""),
        (0.5, {"reward": 0.5}, ""),
        (0.5, {"reward": 0.4}, "min_reward asks for reward >= 0.5, got 0.4"),
        (-5, {"x": 1}, "min_reward asks for reward >= -5, and there is no reward"),
        ({"x": 1, "y": 0.1}, {"x": 1, "y": 0.2}, ""),
        ({"x": 1, "y": 0.1}, {"x": 1}, "min_reward asks for y >= 0.1, and there is no y"),
        ({"x": 1}, {"x": 0.99, "reward": 1}, "min_reward asks for x >= 1, got 0.99"),
        ({}, {}, ""),
    ],
)
def test_gates(least: Any, rewards: dict[str, float], why: str) -> None:
    assert below_gate(least, rewards) == why


@pytest.mark.parametrize(
    ("strategy", "executed", "planned", "expected"),
    [
        ("mean", [{"reward": 0.5}, {"reward": 1.0}, {"reward": 1, "k": 1}], None, {"reward": 2.5 / 3, "k": 1 / 3}),
        ("mean", [{"x": 1}, {"y": 1}], None, {"x": 0.5, "y": 0.5}),
        ("mean", [{"reward": 1.0}, None], None, {"reward": 1.0}),
        ("mean", [{"reward": 0.5}], None, {"reward": 0.5}),
        ("mean", [{"reward": 0.5}], 3, {"reward": 0.5 / 3}),
        ("mean", [None, None], None, None),
        ("mean", [], None, None),
        ("mean", [{}], None, {}),
        ("final", [{"reward": 1}, {"reward": 0.5}], None, {"reward": 0.5}),
        ("final", [{"reward": 1}, None], None, None),
        ("final", [], None, None),
        ("mean", [{"a": 1e308}, {"a": 1e308}], None, {"a": 1e308}),
    ],
)
def test_rewards_of_several_steps(
    strategy: Strategy, executed: list[dict[str, float] | None], planned: int | None, expected: dict[str, float] | None
) -> None:
    assert rewards_together(strategy, executed, planned=planned) == expected


@settings(deadline=None)
@given(st.lists(st.none() | st.dictionaries(st.sampled_from("abc"), st.floats(0, 1)), min_size=1, max_size=5))
def test_a_mean_stays_between_the_least_and_the_most(executed: list[dict[str, float] | None]) -> None:
    found = rewards_together("mean", executed)
    results = [rewards for rewards in executed if rewards is not None]
    assert (found is None) == (not results)
    for key, mean in (found or {}).items():
        values = [rewards.get(key, 0) for rewards in results]
        assert min(values) - 1e-9 <= mean <= max(values) + 1e-9


def test_the_number_that_stands_for_all() -> None:
    assert main_reward({"reward": 1, "x": 0}) == 1.0
    assert main_reward({"x": 0.5}) == 0.5
    assert main_reward({"x": 0.5, "y": 1}) is None
    assert main_reward({}) is None
