"""However a run ends: at most one line per item, what did not run is named, and no sandbox is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from pytest_swe.stopping import TOGETHER

from .conftest import SHAPES, TOY, Project

MANY = {f"s-{number}": "sleep:30" for number in range(6)}


@pytest.mark.parametrize("shape", [("-n2",), ("-n2", "--dist", "worksteal")], ids=" ".join)
def test_a_killed_worker_costs_its_item_only(project: Project, shape: tuple[str, ...]) -> None:
    plays = {"a-1": "resolved", "k-1": "kill_worker", "b-1": "resolved", "c-1": "resolved", "d-1": "unresolved"}
    result = project.run(project.rows(plays), "--swe-preds", "gold", *shape)
    assert project.statuses == {
        "a-1": ("resolved", ""),
        "k-1": ("error", "worker_crashed"),
        "b-1": ("resolved", ""),
        "c-1": ("resolved", ""),
        "d-1": ("unresolved", "tests_failed"),
    }
    assert result.ret == 1
    assert project.left == []


def test_items_that_vanish_with_their_worker_are_named(project: Project) -> None:
    plays = {f"k-{number}": "kill_worker" for number in range(5)}
    result = project.run(project.rows(plays), "--swe-preds", "gold", "-n2", "--max-worker-restart=0")
    assert all(status == ("error", "worker_crashed") for status in project.statuses.values())
    assert len(project.rewards) < 5
    result.stdout.fnmatch_lines(["did not run: *k-*"])
    assert result.ret == 10
    assert project.left == []


@pytest.mark.parametrize("shape", SHAPES, ids=" ".join)
def test_the_first_failure_stops_with_x(project: Project, shape: tuple[str, ...]) -> None:
    plays = {"f-1": "unresolved", **MANY}
    result = project.run(project.rows(plays), "--swe-preds", "gold", "-x", *shape)
    # Had the workers finished what was in flight, those items would have resolved and left lines.
    assert project.statuses == {"f-1": ("unresolved", "tests_failed")}
    result.stdout.fnmatch_lines(["did not run: 6 (s-0*"])
    assert project.left == []


@pytest.mark.parametrize("shape", SHAPES, ids=" ".join)
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_to_the_controller_alone_ends_everything(
    project: Project, shape: tuple[str, ...], how: signal.Signals
) -> None:
    data = project.rows({"a-1": "resolved", **MANY})
    process = start(project, data, *shape)
    written = project.path / "rewards.jsonl"
    wait_for(lambda: len(project.started) >= 2 and written.exists() and "a-1" in written.read_text())
    process.send_signal(how)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert [line["instance_id"] for line in project.rewards] == ["a-1"]
    assert "did not run: 6 (s-0" in output
    assert project.left == []
    assert not children_of(project)


def test_another_sigterm_does_not_interrupt_the_ending(project: Project) -> None:
    slow = "\n\ndef pytest_sessionfinish():\n    (PLACE.parent / 'ending').touch()\n    time.sleep(1)\n"
    project.pytester.makeconftest(TOY.read_text() + slow)
    process = start(project, project.rows(MANY), "-n0")
    wait_for(lambda: len(project.started) >= 1)
    process.terminate()
    wait_for((project.path / "ending").exists)
    process.terminate()
    output, _ = process.communicate(timeout=20)
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in output
    assert "did not run: 6 (s-0" in output
    assert project.left == []


def test_ctrl_c_that_comes_twice_at_once_is_one(project: Project) -> None:
    process = start(project, project.rows(MANY), "-n0")
    wait_for(lambda: len(project.started) >= 1)
    for _ in range(20):
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in output
    assert "did not run: 6 (s-0" in output
    assert project.left == []


@pytest.mark.parametrize("shape", [("-n0",), ("-n2",)], ids=" ".join)
def test_another_ctrl_c_ends_an_ending_that_takes_long(project: Project, shape: tuple[str, ...]) -> None:
    slow = (
        "\n\ndef pytest_sessionfinish(session):\n"
        "    if not hasattr(session.config, 'workerinput'):\n"
        "        (PLACE.parent / 'ending').touch()\n"
        "        time.sleep(600)\n"
    )
    project.pytester.makeconftest(TOY.read_text() + slow)
    process = start(project, project.rows(MANY), *shape)
    wait_for(lambda: len(project.started) >= 1)
    process.send_signal(signal.SIGINT)
    wait_for((project.path / "ending").exists)
    time.sleep(TOGETHER)  # sooner it would be the same Ctrl-C, told twice
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert project.left == []
    wait_for(lambda: not children_of(project))


def test_nothing_of_a_run_stays_in_the_process(project: Project) -> None:
    script = (
        "import signal, threading, pytest\n"
        "def state():\n"
        "    return [signal.getsignal(s) for s in signal.valid_signals()], threading.active_count()\n"
        "args = ['toy.jsonl', '--swe-preds', 'gold', '--swe-provider', 'toy', '-n0', '-p', 'no:rerunfailures']\n"
        "before = state()\n"
        "for name in 'ab':\n"
        "    assert pytest.main([*args, '--swe-run-id', name]) == 0\n"
        "    assert state() == before\n"
        "found = []\n"
        "run = threading.Thread(target=lambda: found.append(pytest.main([*args, '--swe-run-id', 'c'])))\n"
        "run.start()\n"
        "run.join()\n"
        "assert found == [0]\n"
        "assert state() == before\n"
    )
    project.rows({"a-1": "resolved"})
    done = project.pytester.runpython(project.pytester.makepyfile(embedding=script))
    assert done.ret == 0
    assert len(list(project.path.glob("swe-results/*/rewards.jsonl"))) == 3


def test_runs_of_one_id_leave_each_others_sandboxes_alone(project: Project) -> None:
    first = start(project, project.rows({"s-1": "sleep:600"}, "long.jsonl"), "-n0", "--swe-run-id", "same")
    try:
        wait_for(lambda: len(project.left) == 1)
        others = project.left
        args = ("--swe-preds", "gold", "--swe-run-id", "same", "--swe-rewards", "other.jsonl", "-n2")
        result = project.pytester.runpytest_subprocess(
            str(project.rows({"k-1": "kill_worker"})), "--swe-provider", "toy", *args
        )
        assert result.ret == 10
        assert project.left == others
    finally:
        first.terminate()
        first.communicate(timeout=60)
    assert project.left == []


@pytest.mark.parametrize(("options", "left"), [((), 0), (("--swe-keep",), 1)])
def test_what_a_killed_run_left_goes_with_its_next_part(project: Project, options: tuple[str, ...], left: int) -> None:
    data = project.rows({"a-1": "resolved", "s-1": "sleep:600"})
    process = start(project, data, "-n0", *options)
    wait_for(lambda: "s-1" in project.started and len(project.rewards) == 1)
    process.kill()
    process.communicate(timeout=60)
    assert len(project.left) == 1
    project.run(data, "--swe-preds", "gold", "-n0", "--swe-resume", "-k", "a-1")
    assert len(project.left) == left


def test_reruns_leave_one_line_that_counts_them(project: Project) -> None:
    data = project.rows({"a-1": "resolved", "b-1": "unresolved"})
    result = project.run(data, "--swe-preds", "gold", "--reruns", "2", "-n2")
    assert project.statuses == {"a-1": ("resolved", ""), "b-1": ("unresolved", "tests_failed")}
    assert [line["reruns"] for line in project.rewards] == [0, 2]
    result.assert_outcomes(passed=1, failed=1)
    assert project.left == []


@pytest.mark.parametrize("shape", SHAPES[:2], ids=" ".join)
def test_an_existing_reward_file_is_not_written_over(project: Project, shape: tuple[str, ...]) -> None:
    """It is told as a wrong option is, before anything starts."""
    data = project.rows({"a-1": "resolved"})
    (project.path / "rewards.jsonl").write_text("mine\n")
    result = project.run(data, "--swe-preds", "gold", *shape)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *rewards.jsonl exists (--swe-resume goes on with it; *"])
    assert not {"workers", "collected", "Exit"} & set(result.stdout.str().split()), result.stdout.str()
    assert (project.path / "rewards.jsonl").read_text() == "mine\n"


@pytest.mark.parametrize("shape", SHAPES[:2], ids=" ".join)
def test_a_reward_file_that_comes_while_rows_are_collected_is_told_the_same(
    project: Project, shape: tuple[str, ...]
) -> None:
    quicker = "\n\ndef pytest_collection_modifyitems():\n    (PLACE.parent / 'rewards.jsonl').write_text('mine')\n"
    project.pytester.makeconftest(TOY.read_text() + quicker)
    result = project.run(project.rows({"a-1": "resolved"}), "--swe-preds", "gold", *shape)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *rewards.jsonl exists (--swe-resume goes on with it; *"])
    assert (project.path / "rewards.jsonl").read_text() == "mine"
    assert project.started == []


def start(project: Project, *args: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pytest", *map(str, args), "--swe-preds", "gold", "--swe-provider", "toy"]
    return subprocess.Popen(
        [*command, "--swe-rewards", "rewards.jsonl", "-p", "no:cacheprovider"],
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env={**os.environ, "TOY_PROJECT": str(project.path)},
        preexec_fn=hear_sigint,
    )


def hear_sigint() -> None:
    """A shell starts what is in the background with SIGINT ignored, and so are all that it starts: these tests too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def children_of(project: Project) -> list[int]:
    """Processes that still run with this project's mark in their environment."""
    mark = f"TOY_PROJECT={project.path}".encode()
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ:
                if mark in environ.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            continue
    return found
