"""Runs of Harbor tasks and what is done with them afterwards: Harbor's layout, judging again, preparing, removing."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemons import Daemon

from pytest_swe.harbor.job_results import read_job
from pytest_swe.harbor.results import read_trial
from pytest_swe.sandbox.docker import DockerProvider

from .test_harbor_dataset import TASKS, demo_image, lines, run

__all__ = ["demo_image"]

BROKEN = "#!/bin/bash\nexit 3\n"


@pytest.fixture
def tasks(tmp_path: Path, demo_image: None) -> Path:
    """Copies that a test may change: one step and several, a verifier of its own, one that gives no reward."""
    root = tmp_path / "tasks"
    for name in ("fix-sum", "plan-then-build", "word-count"):
        shutil.copytree(TASKS / name, root / name)
    shutil.copytree(TASKS / "fix-sum", root / "no-reward")
    (root / "no-reward" / "tests" / "test.sh").write_text(BROKEN)
    return root


def command(place: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "pytest_swe", *map(str, arguments)]
    return subprocess.run(argv, cwd=place, capture_output=True, text=True, timeout=600)


@pytest.mark.docker
def test_results_in_harbors_layout(tasks: Path, tmp_path: Path) -> None:
    shutil.copytree(TASKS / "fix-sum", tasks / "no-task")
    (tasks / "no-task" / "task.toml").write_text("= 1\n")
    done = run(tmp_path, "r", tasks, "--swe-agent", "oracle", "--swe-harbor-results", "jobs", "-n2")
    assert "in Harbor's layout: jobs/r" in done.stdout
    job = tmp_path / "jobs" / "r"
    counts = read_job(job)
    assert (counts.total, counts.completed, counts.errored) == (5, 5, 2)
    stats = json.loads((job / "result.json").read_text())["stats"]
    assert (stats["n_pending_trials"], stats["n_retries"]) == (0, 1)  # a verification that fails is tried once more
    assert counts.evals["oracle__tasks"]["metrics"] == [{"mean": 0.6}]
    trials = {path.name.rpartition("__")[0]: read_trial(path) for path in job.iterdir() if path.is_dir()}
    assert trials.keys() == {"fix-sum", "plan-then-build", "word-count", "no-reward", "no-task"}
    single, several, broken = trials["fix-sum"], trials["plan-then-build"], trials["no-reward"]
    assert (single.task, single.agent, single.rewards) == ("pytest-swe/fix-sum", "oracle", {"reward": 1.0})
    assert (single.verifier_mode, trials["word-count"].verifier_mode) == ("shared", "separate")
    assert single.spans.keys() == {"environment_setup", "agent_execution", "verifier"}
    assert [(step.name, step.rewards) for step in several.steps] == [
        ("plan", {"reward": 1.0}),
        ("build", {"reward": 1.0}),
    ]
    assert broken.raised is not None
    assert (broken.raised.name, broken.rewards) == ("RewardFileNotFoundError", None)
    place = next(job.glob("plan-then-build__*"))
    assert (place / "steps" / "build" / "verifier" / "reward.txt").read_text() == "1\n"
    manifest = json.loads((next(job.glob("word-count__*")) / "artifacts" / "manifest.json").read_text())
    assert [entry["source"] for entry in manifest] == ["/logs/artifacts", "/app/counts.json"]


@pytest.mark.docker
def test_a_mended_verifier_judges_again_without_an_agent(tasks: Path, tmp_path: Path) -> None:
    chosen = [tasks / "word-count", tasks / "fix-sum"]
    run(tmp_path, "r", *chosen, "--swe-agent", "oracle", "--swe-agent", "nop", "-n2")
    check = tasks / "word-count" / "tests" / "check.py"
    check.write_text(check.read_text().replace('"is": 2', '"is": 3'))
    done = command(tmp_path, "regrade", "swe-results/r")
    assert done.returncode == 1, done.stderr
    assert "word-count by gold: resolved -> unresolved reward_below" in done.stdout
    assert "word-count by nop" not in done.stdout
    # The container of this one is gone: nobody can say more of it, and nothing has changed.
    gone = "it is verified in the agent's container, and that is gone"
    assert f"fix-sum by gold: resolved: cannot be judged again: {gone}" in done.stdout
    assert done.stdout.endswith("2 logs graded again, 1 changed; cannot be judged again: 2\n")


@pytest.mark.docker
def test_what_cannot_be_judged_again_is_no_change(tasks: Path, tmp_path: Path) -> None:
    run(tmp_path, "r", tasks / "fix-sum", tasks / "word-count", "--swe-agent", "oracle", "-n2")
    done = command(tmp_path, "regrade", "swe-results/r")
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("1 logs graded again, 0 changed; cannot be judged again: 1\n")
    run(tmp_path, "shared", tasks / "fix-sum", "--swe-agent", "oracle")
    done = command(tmp_path, "regrade", "swe-results/shared")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        2,
        "0 logs graded again, 0 changed; cannot be judged again: 1",
    )


@pytest.mark.docker
def test_a_step_that_the_trial_did_not_come_to_cannot_be_judged(tasks: Path, tmp_path: Path) -> None:
    task = tasks / "word-count"
    steps = 'multi_step_reward_strategy = "final"\n[[steps]]\nname = "a"\nmin_reward = 1.0\n[[steps]]\nname = "b"\n'
    text = (task / "task.toml").read_text().replace('schema_version = "1.4"\n', "")
    head, _, body = steps.partition("[[")
    (task / "task.toml").write_text(f'schema_version = "1.4"\n{head}{text}\n[[{body}')
    for name in "ab":
        (task / "steps" / name).mkdir(parents=True)
        (task / "steps" / name / "instruction.md").write_text("Do it.\n")
    run(tmp_path, "r", task, "--swe-agent", "nop")
    assert [line["reason"] for line in lines(tmp_path, "r")] == ["reward_below"]
    (task / "tests" / "test.sh").write_text("#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n")
    done = command(tmp_path, "regrade", "swe-results/r")
    assert "word-count by nop: unresolved reward_below: cannot be judged again: " in done.stdout, done.stdout
    assert "the trial did not come to step b" in done.stdout
    assert done.returncode == 2


@pytest.mark.docker
def test_rows_and_tasks_of_one_run_are_both_judged_again(tasks: Path, tmp_path: Path, test_image: str) -> None:
    quickstart = TASKS.parent / "quickstart"
    build = [sys.executable, str(quickstart / "build.py"), "--base", test_image, "pytest-swe__spans-1"]
    subprocess.run(build, check=True, capture_output=True)
    run(tmp_path, "r", tasks / "word-count", f"{quickstart}::pytest-swe__spans-1", "--swe-preds", "gold", "-n2")
    statuses = {line["instance_id"]: line["status"] for line in lines(tmp_path, "r")}
    assert statuses == {"word-count": "resolved", "pytest-swe__spans-1": "resolved"}
    done = command(tmp_path, "regrade", "swe-results/r")
    assert (done.returncode, done.stdout) == (0, "2 logs graded again, 0 changed\n")


@pytest.mark.docker
def test_a_task_that_changed_is_run_again(tasks: Path, tmp_path: Path) -> None:
    chosen: list[str | Path] = [tasks / "fix-sum", tasks / "word-count", "--swe-agent", "oracle"]
    run(tmp_path, "r", *chosen)
    (tasks / "fix-sum" / "tests" / "test.sh").write_text("#!/bin/bash\necho 0 > /logs/verifier/reward.txt\n")
    again = run(tmp_path, "r", *chosen, "--swe-resume")
    assert "resumed: 1 of these lines" in again.stdout
    statuses = {line["instance_id"]: line["status"] for line in lines(tmp_path, "r")}
    assert statuses == {"fix-sum": "unresolved", "word-count": "resolved"}


@pytest.mark.docker
def test_prepare_builds_all_once(tasks: Path, tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    for dockerfile in tasks.glob("*/*/Dockerfile"):
        dockerfile.write_text(dockerfile.read_text() + f"LABEL mark={mark}\n")
    (tasks / "no-reward" / "environment" / "Dockerfile").write_text("FROM pytest-swe/harbor-demo:1\nRUN false\n")
    first, second = (command(tmp_path, "prepare", "tasks") for _ in range(2))
    assert (first.returncode, second.returncode) == (1, 1)
    assert "4 tasks, 5 environments to make ready" in first.stdout
    assert "4 of 5 environments are ready, in 4 images" in first.stdout
    assert first.stdout.count("the last lines are the builder's") == 1
    assert "missing for no-reward" in first.stdout
    names = sorted({word for word in first.stdout.split() if word.startswith("pytest-swe/task:")})
    assert names == sorted({word for word in second.stdout.split() if word.startswith("pytest-swe/task:")})
    asked = ["docker", "images", "--filter", f"label=mark={mark}", "--format", "{{.Repository}}:{{.Tag}}"]
    there = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split()
    try:
        assert sorted(there) == names
    finally:
        subprocess.run(["docker", "rmi", *there], check=True, capture_output=True)


@pytest.mark.parametrize(
    "option", ["--archive=a.tar", "--base=python:3.11-slim", "--harness=swebench", "--ask-hub", "--force-build"]
)
def test_what_would_change_nothing_is_refused_by_prepare(tmp_path: Path, option: str) -> None:
    rows = option == "--force-build"
    data = TASKS.parent / "quickstart" if rows else TASKS
    done = command(tmp_path, "prepare", data, option, "--dry-run")
    other, for_these = ("Harbor tasks", "rows") if rows else ("rows", "Harbor tasks")
    name = option.partition("=")[0]
    assert done.returncode == 2, done.stdout
    assert done.stderr == f"pytest-swe: {name} is for {other}, and changes nothing for {for_these} (leave it out)\n"


@pytest.mark.docker
def test_ctrl_c_ends_prepare_in_one_line(tasks: Path, tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    for name in ("fix-sum", "no-reward"):
        text = f"FROM pytest-swe/harbor-demo:1\nLABEL mark={mark} of={name}\nRUN echo {mark} && sleep 300\n"
        (tasks / name / "environment" / "Dockerfile").write_text(text)
    argv = [sys.executable, "-m", "pytest_swe", "prepare", "tasks", "--instance", "word-count"]
    argv += ["--instance", "fix-sum", "--instance", "no-reward", "-j", "1"]
    with subprocess.Popen(
        argv, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear_sigint
    ) as process:
        assert process.stdout is not None
        while "[2/4]" not in process.stdout.readline():  # both of word-count: the next one builds
            assert process.poll() is None
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        _, said = process.communicate(timeout=60)
    assert said == "pytest-swe: stopped; what is ready stays, and the same command goes on\n"
    assert (process.returncode, time.monotonic() - begin < 20) == (130, True)
    asked = ["docker", "images", "--filter", f"label=mark={mark}", "--format", "{{.Repository}} {{.ID}}"]
    left = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.splitlines()
    # A builder keeps the steps that were done for the next time, under no name.
    assert [line for line in left if not line.startswith("<none>")] == []
    for line in left:
        removing = ["docker", "rmi", line.split()[1]]
        while subprocess.run(removing, capture_output=True).returncode:  # the engine is ending the build's container
            assert time.monotonic() - begin < 60
            time.sleep(0.5)


def hear_sigint() -> None:
    """A shell starts what is in the background with SIGINT ignored, and so are all that it starts: these tests too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.docker
def test_an_image_that_does_not_build_is_told_without_the_hosts_path(tasks: Path, tmp_path: Path) -> None:
    dockerfile = tasks / "fix-sum" / "environment" / "Dockerfile"
    dockerfile.write_text("FROM pytest-swe/harbor-demo:1\nRUN false\n")
    run(tmp_path, "r", tasks, "--swe-instance", "fix-sum", "--swe-agent", "oracle", "--swe-harbor-results", "jobs")
    (line,) = lines(tmp_path, "r")
    assert line["reason"] == "image_unavailable"
    assert "fix-sum/environment/Dockerfile does not build" in line["detail"]
    assert str(tmp_path) not in json.dumps(line)


@pytest.mark.docker
def test_keys_that_nobody_reads_are_told_once(tasks: Path, tmp_path: Path) -> None:
    config = tasks / "fix-sum" / "task.toml"
    config.write_text(config.read_text() + "\n[agnet]\ntimeout_sec = 3\n")
    done = run(tmp_path, "r", tasks / "fix-sum", "--swe-agent", "oracle", "--swe-agent", "nop")
    assert done.stdout.count("agnet is not read: did you mean agent?") == 1
    assert "fix-sum: task.toml: agnet" in done.stdout
    assert len(lines(tmp_path, "r")) == 2


@pytest.fixture(scope="module")
def own_engine() -> Iterator[DockerProvider]:
    daemon = Daemon()
    try:
        daemon.start()
        daemon.load()
        made = DockerProvider(hosts=[daemon.address], pull=False)
        yield made
        made.close()
    finally:
        daemon.close()


@pytest.mark.dockerd
def test_built_images_are_removed_on_request_and_no_others(own_engine: DockerProvider, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Dockerfile").write_text(f"FROM pytest-swe/tiny:1\nLABEL of={name}\n")
    first, second = (own_engine.build_image(tmp_path / name) for name in ("a", "b"))
    assert first != second
    assert own_engine.build_image(tmp_path / "a") == first
    assert own_engine.remove_built_images() == 2
    assert own_engine.held_digests(first) == frozenset()
    assert own_engine.held_digests("pytest-swe/tiny:1")
