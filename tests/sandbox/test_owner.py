"""Who owns a sandbox, and whether that process still lives: with real processes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from pytest_swe.sandbox import owner

TELL = (
    "import json, sys; from pytest_swe.sandbox.owner import owner_labels; "
    "print(json.dumps(owner_labels({'run': 'r'}, seconds=60)), flush=True); sys.stdin.read()"
)


Owner = tuple[subprocess.Popen[bytes], dict[str, str]]


@contextlib.contextmanager
def running(script: str) -> Iterator[Owner]:
    """A process that has printed its labels and waits, and those labels."""
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())
        process.kill()


@pytest.fixture
def child() -> Iterator[Owner]:
    with running(TELL) as owner_of_labels:
        yield owner_of_labels


def test_every_label_has_the_prefix() -> None:
    labels = owner.owner_labels({"run": "r", "pytest-swe.worker": "gw0"}, seconds=1)
    assert labels["pytest-swe.run"] == "r"
    assert labels["pytest-swe.worker"] == "gw0"
    assert all(key.startswith(owner.LABEL_PREFIX) for key in labels)


def test_this_process_lives() -> None:
    assert not owner.owner_is_dead(owner.owner_labels({}, seconds=1))


def test_another_process_lives_until_it_is_killed(child: Owner) -> None:
    process, labels = child
    assert labels[owner.PID] == str(process.pid)
    assert not owner.owner_is_dead(labels)
    process.kill()
    process.wait()
    assert owner.owner_is_dead(labels)


def test_a_killed_process_that_nobody_waited_for_is_dead(child: Owner) -> None:
    process, labels = child
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert owner.owner_is_dead(labels)


def test_a_pid_that_another_process_now_has_is_not_its_owner() -> None:
    labels = owner.owner_labels({}, seconds=1)
    labels[owner.START] = str(int(labels[owner.START]) - 1)
    assert owner.owner_is_dead(labels)


def test_after_a_reboot_of_the_same_host_the_owner_is_dead() -> None:
    labels = owner.owner_labels({}, seconds=1) | {owner.BOOT: "00000000-0000-0000-0000-000000000000"}
    assert owner.owner_is_dead(labels)


@pytest.mark.parametrize(
    "change",
    [
        {owner.HOST: "elsewhere", owner.BOOT: "another", owner.PID: "1"},
        {owner.HOST: "elsewhere", owner.START: "1"},
        {owner.PID_NAMESPACE: "pid:[1]", owner.START: "1"},
        {owner.PID: "", owner.START: "1"},
        {owner.PID: "-1", owner.START: "1"},
        {owner.START: ""},
        {owner.BOOT: ""},
    ],
)
def test_what_cannot_be_known_is_not_dead(change: dict[str, str]) -> None:
    assert not owner.owner_is_dead(owner.owner_labels({}, seconds=1) | change)


def test_no_labels_name_no_dead_owner() -> None:
    assert not owner.owner_is_dead({})


def test_a_pid_past_every_limit_is_dead() -> None:
    assert owner.owner_is_dead(owner.owner_labels({}, seconds=1) | {owner.PID: "9" * 30})


def test_a_process_name_with_brackets_and_spaces_is_read() -> None:
    rename = "open('/proc/self/comm', 'w').write(') R 1 (x'); "
    with running(rename + TELL) as (process, labels):
        assert not owner.owner_is_dead(labels)
        process.kill()
        process.wait()
        assert owner.owner_is_dead(labels)


def test_deadline() -> None:
    here = owner.owner_labels({}, seconds=60)
    for labels in (here, {**here, owner.BOOT: "another"}):
        assert not owner.deadline_passed(labels)
        assert not owner.deadline_passed(labels, later=50)
        assert owner.deadline_passed(labels, later=62)
    assert not owner.deadline_passed({})
    assert not owner.deadline_passed({owner.DEADLINE: "soon"})


def test_a_wall_clock_that_is_stepped_moves_no_deadline_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = owner.owner_labels({}, seconds=60)
    real = time.time
    for hours in (-24, 24):
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda step=hours * 3600: real() + step)
            assert not owner.deadline_passed(labels)
            assert owner.deadline_passed(labels, later=62)
