"""An end to everything that came after: what daemonised, what hides, what comes back; and to nothing else."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from typing import cast

import pytest

from pytest_swe.model import ExecResult, SandboxSpec
from pytest_swe.sandbox.base import ROOT, Sandbox
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.processes import NotEnded, end_others, processes

LONG = 30.0


@pytest.fixture(scope="module")
def provider() -> Iterator[DockerProvider]:
    made = DockerProvider(pull=False)
    yield made
    made.close()


@pytest.fixture
def sandbox(provider: DockerProvider, test_image: str) -> Iterator[Sandbox]:
    made = provider.acquire(SandboxSpec(image=test_image, pids=200, seconds=300), labels={"run": "processes"})
    yield made
    made.close()


def started(sandbox: Sandbox, script: str) -> None:
    """What ``script`` leaves running, with its output away from the command's, so that the command ends."""
    done = sandbox.exec(["bash", "-c", f"{{ {script}\n}} >/dev/null 2>&1 </dev/null & disown; exit 0"], timeout=LONG)
    assert done.exit_code == 0
    time.sleep(0.3)


@pytest.mark.docker
@pytest.mark.parametrize(
    "left",
    [
        "setsid sleep 1000",
        "(setsid bash -c 'trap \"\" TERM HUP INT; while :; do sleep 0.1; done')",
        "for i in 1 2 3 4 5; do setsid sh -c 'sleep 1000 & sleep 1000' & done",
        "exec -a ') Z 1 1 1' sleep 1000",
        "while :; do setsid sleep 1000 & sleep 0.01; done",
    ],
    ids=["daemon", "deaf", "many", "a name like a status", "comes again"],
)
def test_what_came_after_is_ended_and_what_was_before_stays(sandbox: Sandbox, left: str) -> None:
    started(sandbox, "exec -a before sleep 1000")
    before = processes(sandbox)
    started(sandbox, left)
    assert processes(sandbox) - before
    end_others(sandbox, before)
    assert not processes(sandbox) - before
    listed = sandbox.exec(["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"], timeout=LONG).stdout
    assert b"before" in listed


@pytest.mark.docker
def test_programs_of_the_candidates_are_not_asked(sandbox: Sandbox) -> None:
    write = "printf '#!/bin/sh\\nexit 0\\n' > /usr/local/bin/$p; chmod +x /usr/local/bin/$p"
    plant = f"for p in kill readlink ps cat; do {write}; done"
    before = processes(sandbox)
    assert sandbox.exec(["bash", "-c", plant], timeout=LONG).exit_code == 0
    started(sandbox, "setsid sleep 1000")
    end_others(sandbox, before)
    assert not processes(sandbox) - before


@pytest.mark.docker
def test_what_cannot_be_ended_is_said(sandbox: Sandbox) -> None:
    """A fork bomb that is faster than one shell, within the limit of processes."""
    before = processes(sandbox)
    started(sandbox, "bomb() { bomb & bomb; }; for i in 1 2 3; do bomb & done; wait")
    try:
        end_others(sandbox, before)
    except NotEnded:
        return
    assert not processes(sandbox) - before


@pytest.mark.docker
def test_who_root_is_needs_no_passwd(sandbox: Sandbox) -> None:
    """Nor is it whom a candidate writes into it."""
    before = processes(sandbox)
    empty = ": > /etc/passwd; : > /etc/group; echo root:x:12345:0::/:/bin/sh > /etc/passwd"
    assert sandbox.exec(["sh", "-c", empty], timeout=LONG).exit_code == 0
    started(sandbox, "setsid sleep 1000")
    end_others(sandbox, before)
    assert not processes(sandbox) - before
    assert sandbox.exec(["sh", "-c", ": > /etc/passwd"], user=ROOT, timeout=LONG).exit_code == 0
    end_others(sandbox, before)


class Answers:
    """A sandbox in which every command ends alike."""

    def __init__(self, exit_code: int | None, said: bytes = b"", timed_out: bool = False) -> None:
        self._end = ExecResult(argv=("sh",), exit_code=exit_code, stderr=said, timed_out=timed_out)

    def exec(self, argv: list[str], **_: object) -> ExecResult:
        return self._end


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (Answers(3), "processes that the agent left behind cannot be ended: new ones come, or they may not be killed"),
        (
            Answers(126, b"unable to find user root: no matching entries in passwd file\n"),
            "the command that ends what the agent left behind does not work in its container: status 126: "
            "unable to find user root: no matching entries in passwd file",
        ),
        (
            Answers(None, timed_out=True),
            "the command that ends what the agent left behind does not work in its container: no end after 60 s",
        ),
    ],
)
def test_what_went_wrong_is_told_apart(end: Answers, said: str) -> None:
    with pytest.raises(NotEnded) as caught:
        end_others(cast("Sandbox", end), frozenset(("1:1",)))
    assert str(caught.value) == said


class OnThisHost:
    """Commands among the host's own processes, as with a provider that does not isolate."""

    def exec(self, argv: list[str], **_: object) -> ExecResult:
        done = subprocess.run(argv, capture_output=True, timeout=LONG)
        return ExecResult(argv=tuple(argv), exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr)


def test_nothing_of_this_host_is_ended() -> None:
    """What "came after" there is everybody's: one process of ours stands for them."""
    here = cast("Sandbox", OnThisHost())
    before = processes(here)
    assert before
    with subprocess.Popen(["sleep", "1000"]) as mine:
        end_others(here, before)
        assert mine.poll() is None
        mine.kill()
