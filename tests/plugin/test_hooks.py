"""Each hook and fixture, from a conftest.py, under -n2."""

from __future__ import annotations

import json

import pytest

from .conftest import TOY, Project

MORE = """

import dataclasses


def pytest_swe_read_dataset(config, path):
    if path.suffix == ".json" and path.name.startswith("odd"):
        return [{"instance_id": name, "play": "resolved"} for name in json.loads(path.read_text())["names"]]


def pytest_swe_sandbox_spec(config, instance, spec):
    if instance.id == "turned-1":
        return dataclasses.replace(spec, image="resolved", memory_mb=77)


def pytest_swe_eval_log(config, instance, log, report):
    with open(f"seen-{instance.id}", "w") as file:
        file.write(log.steps[0].run.output.decode() + str(report.resolved))


def pytest_swe_reward(config, reward):
    assert not hasattr(config, "workerinput")
    with open("hook.jsonl", "a") as file:
        file.write(json.dumps(reward) + "\\n")


class Wrapped(ToyProvider):
    def acquire(self, spec, *, labels):
        with open("wrapped", "a") as file:
            file.write(labels["instance"] + "\\n")
        return super().acquire(spec, labels=labels)


@pytest.fixture(scope="session")
def swe_provider(swe_provider):
    assert swe_provider.name == "toy"
    return Wrapped()


@pytest.fixture(autouse=True)
def look(request):
    if "swe_job" in request.fixturenames:
        sandbox = request.getfixturevalue("swe_sandbox")
        instance = request.getfixturevalue("swe_instance")
        candidate = request.getfixturevalue("swe_candidate")
        assert sandbox.id and instance.family == "toy" and candidate.model == "gold"


@pytest.fixture(scope="module", autouse=True)
def of_the_module():
    yield
"""


@pytest.mark.parametrize("shape", [("-n2",), ("-n0",)], ids=" ".join)
def test_hooks_and_fixtures_of_a_conftest(project: Project, shape: tuple[str, ...]) -> None:
    project.pytester.makeconftest(TOY.read_text() + MORE)
    data = project.rows({"a-1": "resolved", "turned-1": "unresolved"})
    result = project.run(data, "--swe-preds", "gold", *shape)
    assert result.ret == 0, result.stdout.str()
    turned = next(line for line in project.rewards if line["instance_id"] == "turned-1")
    assert turned["limits"]["memory_mb"] == 77
    assert (project.path / "seen-a-1").read_text() == "played resolved\nTrue"
    hooked = [json.loads(line) for line in (project.path / "hook.jsonl").read_text().splitlines()]
    assert sorted(hooked, key=lambda line: str(line["line"])) == project.rewards
    assert sorted((project.path / "wrapped").read_text().split()) == ["a-1", "turned-1"]


def test_a_data_set_in_a_format_of_the_user(project: Project) -> None:
    project.pytester.makeconftest(TOY.read_text() + MORE)
    data = project.path / "odd.json"
    data.write_text(json.dumps({"names": ["x-1", "y-1"]}))
    result = project.run("--swe-dataset", data, "--swe-preds", "gold", "-n2")
    assert result.ret == 0, result.stdout.str()
    assert list(project.statuses) == ["x-1", "y-1"]


def test_setup_plan_starts_nothing(project: Project) -> None:
    result = project.run(project.rows({"a-1": "resolved"}), "--swe-preds", "gold", "--setup-plan")
    assert result.ret == 0
    assert project.started == []
    assert not (project.path / "rewards.jsonl").exists()


def test_a_failing_teardown_leaves_the_verdict(project: Project) -> None:
    broken = "\n\n@pytest.fixture(autouse=True)\ndef broken():\n    yield\n    raise OSError('teardown')\n"
    project.pytester.makeconftest(TOY.read_text() + broken)
    project.run(project.rows({"a-1": "resolved"}), "--swe-preds", "gold", "-n2")
    assert [(line["status"], line["flags"]) for line in project.rewards] == [("resolved", ["teardown_failed"])]


def test_a_broken_fixture_of_the_user_is_an_error(project: Project) -> None:
    broken = "\n\n@pytest.fixture(autouse=True)\ndef broken():\n    raise OSError('setup')\n"
    project.pytester.makeconftest(TOY.read_text() + broken)
    project.run(project.rows({"a-1": "resolved"}), "--swe-preds", "gold", "-n2")
    assert project.statuses == {"a-1": ("error", "internal")}


@pytest.mark.parametrize("given", ["None", "object()"])
def test_a_provider_fixture_that_gives_no_provider_is_named(project: Project, given: str) -> None:
    fixture = f"\n\n@pytest.fixture(scope='session')\ndef swe_provider():\n    return {given}\n"
    (project.path / "conftest.py").write_text(TOY.read_text() + fixture)
    project.run(project.rows({"a-1": "resolved"}), "--swe-preds", "gold", "-n0")
    [line] = project.rewards
    assert line["status"] == "error"
    assert "the fixture swe_provider gave a" in line["detail"]
    assert "capabilities" in line["detail"]


HARNESS = "\n\nclass Odd(ToyHarness):\n    {}\n\n\ndef pytest_swe_harness(config, row):\n    return {}\n"
PROVIDER = "\n\nclass Odd(ToyProvider):\n    {}\n\n\ndef pytest_swe_sandbox_provider(config, name):\n    return {}\n"
NO_HARNESS = ": expected a harness or a family's name"


@pytest.mark.parametrize(
    ("added", "said"),
    [
        (HARNESS.format("pass", "5"), "pytest_swe_harness returned 5, which has no name, instance, generation"),
        (HARNESS.format("name = 5", "Odd()"), "which has no name" + NO_HARNESS),
        (HARNESS.format("generation = None", "Odd()"), "which has no generation" + NO_HARNESS),
        (PROVIDER.format("pass", "object()"), "which has no name, check, acquire, sweep, close: expected a provider"),
        (PROVIDER.format("check = None", "Odd()"), "which has no check: expected a provider"),
    ],
)
def test_a_hook_that_returns_nothing_of_use_is_named(project: Project, added: str, said: str) -> None:
    replaced = added.partition("def ")[2].partition("(")[0]
    (project.path / "conftest.py").write_text(TOY.read_text().replace(f"def {replaced}(", "def unused(") + added)
    result = project.run(project.rows({"a-1": "resolved"}), "--swe-preds", "gold", "-n0")
    output = result.stdout.str() + result.stderr.str()
    assert "INTERNALERROR" not in output
    assert said in output
    if "Provider" in added:  # of the whole run: refused before anything starts
        assert result.ret == pytest.ExitCode.USAGE_ERROR
    else:
        assert [line["status"] for line in project.rewards] == ["error"]


@pytest.mark.parametrize(
    "added",
    [
        HARNESS.format("def generation(self, row):\n        raise OSError('x')", "Odd()"),
        PROVIDER.format("def check(self):\n        raise OSError('x')", "Odd()"),
    ],
    ids=["harness", "provider"],
)
def test_what_only_the_header_asks_for_stops_no_run(project: Project, added: str) -> None:
    replaced = added.partition("def pytest")[2].partition("(")[0]
    (project.path / "conftest.py").write_text(TOY.read_text().replace(f"def pytest{replaced}(", "def unused(") + added)
    result = project.run(project.rows({"a-1": "resolved"}), "--swe-preds", "gold", "-n0")
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    assert len(project.rewards) == 1
