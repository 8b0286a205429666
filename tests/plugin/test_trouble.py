"""Hooks that raise or return nonsense, places that cannot be written, files that vanish: no verdict is lost to them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import TOY, Project

HOOKS = {
    "pytest_swe_reward": "def pytest_swe_reward(config, reward):\n    raise OSError('no network')\n",
    "pytest_swe_eval_log": "def pytest_swe_eval_log(config, instance, log, report):\n    raise OSError('no disk')\n",
    "pytest_swe_harness": "def pytest_swe_harness(config, row):\n    return ToyHarness() if row['repo'] else None\n",
    "pytest_swe_sandbox_provider": "def pytest_swe_sandbox_provider(config, name):\n    return 5\n",
    "pytest_swe_sandbox_spec": "def pytest_swe_sandbox_spec(config, instance, spec):\n    return {'image': 'x'}\n",
}


def hooked(project: Project, name: str) -> None:
    project.pytester.makeconftest(TOY.read_text() + "\n\n" + HOOKS[name])


def test_a_reward_hook_that_raises_is_told_and_costs_nothing(project: Project) -> None:
    hooked(project, "pytest_swe_reward")
    result = project.run(project.rows({"a-1": "resolved", "b-1": "unresolved"}), "--swe-preds", "gold", "-n2")
    assert project.statuses == {"a-1": ("resolved", ""), "b-1": ("unresolved", "tests_failed")}
    result.stdout.fnmatch_lines(["pytest_swe_reward: OSError: no network at conftest.py:* (2 times)"])
    assert result.ret == 1


def test_an_eval_log_hook_that_raises_is_a_flag(project: Project) -> None:
    hooked(project, "pytest_swe_eval_log")
    result = project.run(project.rows({"a-1": "resolved", "b-1": "unresolved"}), "--swe-preds", "gold")
    assert [line["flags"] for line in project.rewards] == [["eval_log_hook_failed"]] * 2
    assert project.statuses["a-1"] == ("resolved", "")
    result.stdout.fnmatch_lines(["pytest_swe_eval_log: OSError: no disk at conftest.py:*"])


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("pytest_swe_harness", "pytest_swe_harness: KeyError: 'repo' at conftest.py"),
        ("pytest_swe_sandbox_spec", "pytest_swe_sandbox_spec returned {'image': 'x'}: expected a SandboxSpec"),
    ],
)
def test_a_wrong_hook_is_named_on_the_line_of_each_item(project: Project, name: str, detail: str) -> None:
    hooked(project, name)
    result = project.run(project.rows({"a-1": "resolved", "b-1": "resolved"}), "--swe-preds", "gold")
    assert [(line["status"], line["reason"]) for line in project.rewards] == [("error", "internal")] * 2
    assert all(line["detail"].startswith(detail) for line in project.rewards)
    assert result.ret == 10
    assert "INTERNALERROR" not in result.stdout.str()
    assert "Traceback" not in result.stdout.str()


def test_a_reader_that_raises_is_a_usage_error(project: Project) -> None:
    hook = "\n\ndef pytest_swe_read_dataset(config, path):\n    yield from ()\n    raise ValueError('torn')\n"
    project.pytester.makeconftest(TOY.read_text() + hook)
    result = project.run(project.rows({"a-1": "resolved"}), "--swe-preds", "gold")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: pytest_swe_read_dataset: ValueError: torn at conftest.py:*"])


@pytest.mark.parametrize("shape", [("-n0",), ("-n2",)], ids=" ".join)
@pytest.mark.parametrize("option", ["--swe-results", "--swe-rewards", "--swe-cache"])
def test_a_place_that_cannot_be_written_is_refused_before_anything_runs(
    project: Project, option: str, shape: tuple[str, ...]
) -> None:
    (project.path / "file").write_text("not a directory")
    # Once below a file, once where no user, root included, makes directories.
    for place in (project.path / "file" / "below" / "it", Path("/proc/nowhere/it")):
        result = project.run(project.rows({"a-1": "resolved"}), "--swe-preds", "gold", f"{option}={place}", *shape)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(
            [f"ERROR: {option} {place} cannot be written: * (name a place that can be written)"]
        )
        assert "Traceback" not in result.stdout.str() + result.stderr.str()
        assert project.started == []


def test_who_only_looks_needs_no_place(project: Project) -> None:
    data = project.rows({"a-1": "resolved"})
    for looking in ("--collect-only", "--swe-check"):
        assert project.run(data, "--swe-preds", "gold", "--swe-cache=/proc/nowhere", looking).ret == 0


def test_nothing_is_left_where_it_was_tried(project: Project) -> None:
    result = project.run(project.rows({"a-1": "resolved"}), "--swe-preds", "gold", "--swe-cache=answers", "-n0")
    assert result.ret == 0
    assert not [path for path in project.path.rglob(".pytest-swe-*") if path.name != ".pytest-swe-results"]


def test_harbors_results_of_a_run_without_tasks_are_told_to_be_idle(project: Project) -> None:
    data = project.rows({"a-1": "resolved"})
    result = project.run(data, "--swe-preds", "gold", "--swe-harbor-results=/proc/nowhere", "-n0")
    assert result.ret == 0
    said = "--swe-harbor-results has no effect: there are no Harbor tasks in this run"
    assert result.stdout.str().count(said) == 1


def test_logs_that_cannot_be_written_cost_no_verdict(project: Project) -> None:
    logs = project.path / "swe-results" / "r" / "logs" / "gold"
    logs.mkdir(parents=True)
    (logs / "a-1").write_text("not a directory")
    result = project.run(project.rows({"a-1": "resolved"}), "--swe-preds", "gold", "--swe-run-id", "r")
    assert project.statuses == {"a-1": ("resolved", "")}
    assert project.rewards[0]["flags"] == ["logs_not_written"]
    assert project.rewards[0]["logs"] == ""
    assert result.ret == 0


@pytest.mark.parametrize("shape", [("-n0",), ("-n2",)], ids=" ".join)
def test_a_reward_file_on_a_full_disk_ends_the_run_with_whole_lines(project: Project, shape: tuple[str, ...]) -> None:
    limit = (
        "\n\nimport resource\n\n"
        "def pytest_sessionstart(session):\n"
        "    if not hasattr(session.config, 'workerinput'):\n"
        "        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, -1))\n"  # as a full disk, but without root
    )
    project.pytester.makeconftest(TOY.read_text() + limit)
    data = project.rows({f"s-{number}": "resolved" for number in range(9)})
    result = project.run(data, "--swe-preds", "gold", "--capture=no", *shape)
    assert 0 < len(project.rewards) < 9  # every line is whole, or this raises
    result.stdout.fnmatch_lines(["*rewards.jsonl: File too large*"])
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert project.left == []


def test_a_reward_file_that_is_removed_during_the_run_is_written_again(project: Project) -> None:
    remove = (
        "\n\ndef pytest_swe_reward(config, reward):\n"
        "    if reward['instance_id'] == 'b-1':\n"
        "        (PLACE.parent / 'rewards.jsonl').unlink()\n"
    )
    project.pytester.makeconftest(TOY.read_text() + remove)
    project.run(project.rows({"a-1": "resolved", "b-1": "resolved", "c-1": "unresolved"}), "--swe-preds", "gold")
    assert [line["instance_id"] for line in project.rewards] == ["a-1", "b-1", "c-1"]


@pytest.mark.parametrize("shape", [("-n0",), ("-n2",)], ids=" ".join)
def test_a_link_to_a_data_set_is_the_data_set(project: Project, shape: tuple[str, ...]) -> None:
    project.rows({"a-1": "resolved", "b-1": "resolved"}, "real.jsonl")
    (project.path / "link.jsonl").symlink_to("real.jsonl")
    result = project.run("link.jsonl", "--swe-preds", "gold", *shape)
    assert [line["dataset"] for line in project.rewards] == ["real", "real"]
    assert "did not run" not in result.stdout.str()
    assert result.ret == 0


def test_items_whose_names_come_out_the_same_have_logs_of_their_own(project: Project) -> None:
    entries = [(f"{team}lab{sep}m", "x-1") for team in ("", "our") for sep in ("/", "__")]
    entries.append(("m" * 300, "x-1"))
    preds = project.lines(
        json.dumps({"instance_id": row, "model_name_or_path": model, "model_patch": "p\n"}) for model, row in entries
    )
    preds.rename(project.path / "preds.jsonl")
    one, two = project.rows({"x-1": "resolved"}, "one.jsonl"), project.rows({"x-1": "unresolved"}, "two.jsonl")
    result = project.run(one, two, "--swe-preds", "preds.jsonl", "-n2", "--swe-run-id", "r")
    assert result.ret == 1
    place = project.path / "swe-results" / "r"
    assert len({line["logs"] for line in project.rewards}) == 2 * len(entries)
    for line in project.rewards:
        saved = json.loads((place / line["logs"] / "eval_log.json").read_text())["reward"]
        assert (saved["model"], saved["dataset"]) == (line["model"], line["dataset"])
    assert _logs_of(project, "lab/m", "one") == Path("logs/lab__m/x-1")  # the first has swebench's own name
    assert len(list(place.glob("*.r.json"))) == len(entries)


def _logs_of(project: Project, model: str, dataset: str) -> Path:
    return next(Path(line["logs"]) for line in project.rewards if (line["model"], line["dataset"]) == (model, dataset))


def test_the_last_attempt_counts_when_a_plugin_repeats_an_item_in_its_report(project: Project) -> None:
    repeat = (
        "\n\n@pytest.hookimpl(wrapper=True, tryfirst=True)\n"
        "def pytest_runtest_makereport(item, call):\n"  # as pytest-retry does it
        "    report = yield\n"
        "    if call.when == 'call' and report.failed:\n"
        "        report.outcome = 'retried'\n"
        "        item.ihook.pytest_runtest_logreport(report=report)\n"
        "        item.ihook.pytest_runtest_teardown(item=item, nextitem=None)\n"
        "        item._initrequest()\n"
        "        item.ihook.pytest_runtest_setup(item=item)\n"
        "        call = pytest.CallInfo.from_call(item.runtest, 'call')\n"
        "        again = pytest.TestReport.from_item_and_call(item, call)\n"
        "        report.outcome, report.longrepr = again.outcome, again.longrepr\n"
        "    return report\n"
    )
    once = TOY.read_text().replace(
        '        good = play == "always" or (play in ("resolved", "sleep", "start_fails") and not control)',
        "        attempts.append(1)\n        good = len(attempts) == 2",
    )
    project.pytester.makeconftest(once.replace("class ToyHarness", "attempts = []\n\n\nclass ToyHarness") + repeat)
    result = project.run(project.rows({"a-1": "resolved"}), "--swe-preds", "gold")
    assert project.statuses == {"a-1": ("resolved", "")}
    assert project.rewards[0]["reruns"] == 1
    assert result.ret == 0


def test_a_wrong_provider_hook_ends_the_run_before_it_begins(project: Project) -> None:
    hooked(project, "pytest_swe_sandbox_provider")
    result = project.run(project.rows({"a-1": "resolved"}), "--swe-preds", "gold")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert (
        "pytest_swe_sandbox_provider returned 5, which has no name, check, acquire, sweep, close: expected a provider"
        in result.stderr.str()
    )


@pytest.mark.parametrize("retries", [0, 1])
def test_a_sandbox_that_does_not_start_is_tried_again_and_its_line_tells_so(project: Project, retries: int) -> None:
    project.run(project.rows({"a-1": "start_fails"}), "--swe-preds", "gold", f"--swe-retries={retries}", "-n0")
    (line,) = project.rewards
    assert (line["status"], line["reason"], line["fault"]) == ("error", "sandbox_start_failed", "environment")
    assert [attempt["reason"] for attempt in line["attempts"]] == ["sandbox_start_failed"] * retries
    assert (line["family"], line["image"]) == ("toy", "start_fails")
