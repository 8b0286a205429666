"""Conformance: how sandboxes begin, and every way in which they end."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_swe.errors import SandboxFileError, SandboxLost
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import Sandbox, SandboxProvider
from pytest_swe.testing.conformance.fixtures import SOON, Acquire, KillFromOutside, assert_elsewhere, new_labels, shell

At = Callable[[str], str]


def test_check_is_one_line(provider: SandboxProvider) -> None:
    line = provider.check()
    assert line.strip()
    assert "\n" not in line


def test_sandboxes_share_nothing(acquire: Acquire, at: At) -> None:
    one, other = acquire(), acquire()
    one.write_file(at("mine"), b"x")
    shell(one, "echo x > mine-too")
    assert one.id != other.id
    for name in ("mine", "mine-too"):
        with pytest.raises(SandboxFileError):
            other.read_file(at(name))


def test_killed_from_outside_is_lost(acquire: Acquire, kill_from_outside: KillFromOutside) -> None:
    made = acquire()
    kill_from_outside(made)
    with pytest.raises(SandboxLost):
        made.exec(["true"], timeout=SOON)


def test_killed_from_outside_during_a_command_is_lost(
    acquire: Acquire, kill_from_outside: KillFromOutside, at: At
) -> None:
    made = acquire()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(made.exec, ["sh", "-c", "echo x > started; sleep 600"], timeout=SOON)
        _wait_for(made, at("started"))
        kill_from_outside(made)
        with pytest.raises(SandboxLost):
            running.result()


def test_a_sandbox_ends_at_its_deadline(acquire: Acquire) -> None:
    made = acquire(seconds=2)
    with pytest.raises(SandboxLost):
        made.exec(["sleep", "600"], timeout=SOON)
    with pytest.raises(SandboxLost):
        made.exec(["true"], timeout=SOON)


def test_commands_up_to_the_deadline_are_whole_or_lost(acquire: Acquire) -> None:
    """One that a dying sandbox kills, or does not start, must not look like one that failed."""
    made = acquire(seconds=1)
    patience = time.monotonic() + SOON
    with pytest.raises(SandboxLost):
        while time.monotonic() < patience:
            result = made.exec(["true"], timeout=SOON)
            assert (result.exit_code, result.timed_out) == (0, False), result


@pytest.mark.usefixtures("isolated")
def test_killing_everything_inside_does_not_end_it(acquire: Acquire) -> None:
    """What is inside is the candidate's to kill, and it must not gain an environment error by that."""
    made = acquire()
    assert_elsewhere(made)
    made.exec(["sh", "-c", "kill -9 -1; kill -9 1; kill -15 1"], timeout=SOON)
    assert shell(made, "echo answers") == "answers\n"


def test_a_closed_sandbox_is_lost(acquire: Acquire, at: At) -> None:
    made = acquire()
    made.write_file(at("was"), b"here")
    made.close()
    with pytest.raises(SandboxLost):
        made.exec(["true"], timeout=SOON)
    with pytest.raises(SandboxLost):
        made.read_file(at("was"))
    with pytest.raises(SandboxLost):
        made.write_file(at("was"), b"again")


def test_close_twice_and_after_death(acquire: Acquire, kill_from_outside: KillFromOutside) -> None:
    closed, killed = acquire(), acquire()
    closed.close()
    closed.close()
    kill_from_outside(killed)
    killed.close()
    killed.close()


def test_close_from_many_threads(acquire: Acquire) -> None:
    made = acquire()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: made.close(), range(8)))
    with pytest.raises(SandboxLost):
        made.exec(["true"], timeout=SOON)


def test_close_ends_a_running_command(acquire: Acquire, at: At) -> None:
    made = acquire()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(made.exec, ["sh", "-c", "echo x > started; sleep 600"], timeout=SOON)
        _wait_for(made, at("started"))
        made.close()
        with pytest.raises(SandboxLost):
            running.result()


def test_sixteen_at_once(acquire: Acquire, at: At) -> None:
    lock = threading.Lock()

    def live(number: int) -> bytes:
        made = acquire()
        word = uuid.uuid4().hex
        made.write_file(at("word"), word.encode())
        printed = made.exec(["cat", "word"], timeout=5 * SOON).stdout
        made.close()
        with lock:
            seen.add(made.id)
        return printed if printed == word.encode() else b"%d got another's" % number

    seen: set[str] = set()
    with ThreadPoolExecutor(16) as pool:
        words = list(pool.map(live, range(16)))
    assert len(set(words)) == len(seen) == 16
    assert not [word for word in words if b"another" in word]


def test_sweep_finds_its_own_and_no_other(provider: SandboxProvider, acquire: Acquire) -> None:
    mine, other = {"run": new_labels()["run"]}, new_labels()
    swept = [acquire({**mine, "worker": worker}) for worker in ("gw0", "gw1")]
    kept = acquire(other)
    assert provider.sweep({**mine, "worker": "gw7"}) == 0
    assert provider.sweep({**mine, "worker": "gw0"}) == 1
    assert provider.sweep(mine) == 1
    assert provider.sweep(mine) == 0
    for made in swept:
        with pytest.raises(SandboxLost):
            made.exec(["true"], timeout=SOON)
    assert shell(kept, "echo stands") == "stands\n"


def test_sweep_of_dead_owners_spares_the_living(provider: SandboxProvider, acquire: Acquire) -> None:
    made = acquire()
    provider.sweep()
    assert shell(made, "echo stands") == "stands\n"


def test_sweep_takes_what_is_past_its_deadline(provider: SandboxProvider, acquire: Acquire) -> None:
    labels = new_labels()
    acquire(labels, seconds=1)
    time.sleep(3)
    provider.sweep()
    assert provider.sweep(labels) == 0


def test_an_unusual_label_is_found_again(provider: SandboxProvider, acquire: Acquire) -> None:
    labels = {**new_labels(), "instance": "a/b:c@d#2 =ä\"'"}
    acquire(labels)
    assert provider.sweep({**labels, "instance": "a/b"}) == 0
    assert provider.sweep(labels) == 1


def test_acquire_after_provider_was_used_much(sandbox_spec: SandboxSpec, provider: SandboxProvider) -> None:
    """One after another: nothing is used up."""
    for _ in range(3):
        made = provider.acquire(sandbox_spec, labels=new_labels())
        assert shell(made, "echo stands") == "stands\n"
        made.close()


def _wait_for(sandbox: Sandbox, path: str) -> None:
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        try:
            if sandbox.read_file(path):
                return
        except SandboxFileError:
            time.sleep(0.1)
    raise AssertionError(f"{path} never came")
