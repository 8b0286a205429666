"""An engine that goes away in mid-run and comes back, or does not."""

from __future__ import annotations

import contextlib
import logging
import signal
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from daemons import PATIENCE, TINY, Daemon

from pytest_swe.errors import EngineUnavailable, SandboxError
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.docker_pool import LOOK_EVERY

pytestmark = pytest.mark.dockerd

SPEC = SandboxSpec(image=TINY, workdir="/testbed", seconds=600)
LABELS = {"run": f"outage-{uuid.uuid4().hex}"}


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    made = Daemon()
    try:
        made.start()
        made.load()
        yield made
    finally:
        made.close()


@pytest.fixture
def standing(daemon: Daemon) -> Daemon:
    if daemon._process is None:
        daemon.start()
    return daemon


@pytest.fixture
def provider(standing: Daemon) -> Iterator[DockerProvider]:
    made = DockerProvider(host=standing.address, pull=False, patience=PATIENCE)
    yield made
    made.close()


def running(sandbox: Sandbox) -> Exception | None:
    """What a command that runs for ever raises."""
    try:
        sandbox.exec(["sleep", "600"], timeout=600)
    except SandboxError as error:
        return error
    return None


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_in_flight_is_the_engines_fault_and_later_ones_wait_for_it(
    standing: Daemon, provider: DockerProvider, how: signal.Signals, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "pytest_swe")
    inside, idle = (provider.acquire(SPEC, labels=LABELS) for _ in range(2))
    with ThreadPoolExecutor(9) as pool:
        command = pool.submit(running, inside)
        time.sleep(0.5)
        standing.stop(how)
        assert isinstance(command.result(), EngineUnavailable)
        later = [pool.submit(provider.acquire, SPEC, labels=LABELS) for _ in range(8)]
        time.sleep(1)
        assert not any(each.done() for each in later)
        standing.start()
        made = [each.result() for each in later]
    for each in made:
        assert each.exec(["echo", "x"], timeout=PATIENCE).stdout == b"x\n"
    for lost in (inside, idle):
        with pytest.raises(EngineUnavailable):
            lost.exec(["true"], timeout=PATIENCE)
    assert ["new sandboxes wait" in text for text in caplog.messages].count(True) == 1
    assert ["answers again" in text for text in caplog.messages].count(True) == 1
    for each in (*made, inside, idle):
        each.close()
    assert provider.sweep(LABELS) == 0


def test_an_engine_that_restarted_between_two_answers(standing: Daemon, provider: DockerProvider) -> None:
    """Nobody saw it gone: it is told by what it has forgotten."""
    made = provider.acquire(SPEC, labels=LABELS)
    with ThreadPoolExecutor(1) as pool:
        command = pool.submit(running, made)
        time.sleep(0.5)
        standing.stop(signal.SIGKILL)
        standing.start()
        assert isinstance(command.result(), EngineUnavailable)
    made.close()


def test_one_that_does_not_come_back_costs_one_wait_and_one_message(
    standing: Daemon, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "pytest_swe")
    provider = DockerProvider(host=standing.address, pull=False, patience=2)
    assert "Docker" in provider.check()
    provider.acquire(SPEC, labels=LABELS).close()
    standing.stop()
    with ThreadPoolExecutor(8) as pool:
        errors = list(pool.map(lambda _: refused(provider), range(64)))
    assert {str(error) for error in errors} == {str(errors[0])}
    assert "nothing listens" in str(errors[0])
    assert not any(error.retryable for error in errors)
    assert len(caplog.messages) == 1
    assert provider.capabilities.memory
    standing.start()
    time.sleep(LOOK_EVERY)  # so long is one that is gone not looked at
    with contextlib.closing(provider.acquire(SPEC, labels=LABELS)) as again:
        assert again.exec(["true"], timeout=PATIENCE).exit_code == 0
    provider.close()


def refused(provider: DockerProvider) -> EngineUnavailable:
    with pytest.raises(EngineUnavailable) as raised:
        provider.acquire(SPEC, labels=LABELS)
    return raised.value
