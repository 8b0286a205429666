"""The Podman provider on a real Podman: the conformance suite, and what is Podman's own.

The service is the one that CONTAINER_HOST names, or the usual one; it needs the test image (``podman load``).
"""

from __future__ import annotations

import json
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import docker
import pytest

from pytest_swe.errors import (
    ImageUnavailable,
    OutOfMemory,
    SandboxFileError,
    SandboxLost,
    SandboxStartFailed,
)
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.podman import PodmanProvider, usual_host
from pytest_swe.testing.conformance import *  # noqa: F403
from pytest_swe.testing.conformance.fixtures import SOON, Acquire, KillFromOutside, new_labels, shell

pytestmark = pytest.mark.podman


class ImageWithout(Protocol):
    def __call__(self, *programs: str, change: str = "") -> str: ...


@pytest.fixture(scope="session")
def engine() -> Iterator[docker.APIClient]:
    """The service itself, behind the provider's back."""
    client = docker.APIClient(usual_host(), timeout=60)
    yield client
    client.close()


@pytest.fixture(scope="module")
def provider() -> Iterator[PodmanProvider]:
    made = PodmanProvider(pull=False)
    made.check()
    yield made
    made.close()


@pytest.fixture
def kill_from_outside(engine: docker.APIClient) -> KillFromOutside:
    return lambda sandbox: engine.kill(sandbox.id)


@pytest.fixture
def limited(provider: PodmanProvider) -> None:
    """For tests of what a rootless Podman without control of the cgroups cannot do; that it refuses is tested."""
    able = provider.capabilities
    if not (able.cpus and able.memory and able.pids):
        pytest.skip("this Podman has no control of the cgroups")


@pytest.fixture(scope="module")
def image_without(engine: docker.APIClient, test_image: str) -> Iterator[ImageWithout]:
    """The test image without some programs; or with a change to its configuration."""
    made: list[str] = []

    def make(*programs: str, change: str = "") -> str:
        name = f"pytest-swe/without-{uuid.uuid4().hex}"
        command, alone = ["rm", "-f", "/none", *programs], engine.create_host_config(network_mode="none")
        container = engine.create_container(test_image, entrypoint=command, command=[], host_config=alone)["Id"]
        engine.start(container)
        engine.wait(container)
        engine.commit(container, name, "1", changes=[change] if change else None)
        engine.remove_container(container, v=True)
        made.append(f"{name}:1")
        return made[-1]

    yield make
    for name in made:
        engine.remove_image(name, force=True)


def test_check_names_it(provider: PodmanProvider, engine: docker.APIClient) -> None:
    assert provider.check().startswith(f"Podman {engine.version()['Version'].partition('+')[0]} (linux/")


def test_the_survivors_of_a_time_out_are_not_told_by_a_ps_inside(acquire: Acquire, engine: docker.APIClient) -> None:
    """A candidate that is root can put its own ``ps`` there; it must never run for the engine."""
    made = acquire()
    made.exec(["sh", "-c", "printf '#!/bin/sh\necho ran >> /ran\n' > /usr/bin/ps; chmod 755 /usr/bin/ps"], timeout=SOON)
    assert made.exec(["sleep", "600"], timeout=1).timed_out
    assert shell(made, "test -e /ran || echo never") == "never\n"


@pytest.mark.parametrize("name", ["a*b", "a?b", "a[b]c", "a\\b", "*", "[", "\\*", "a**[x-z]?\\"])
def test_a_name_is_no_pattern(sandbox: Sandbox, at: Callable[[str], str], name: str) -> None:
    for other in ("axb", "axxb", "abc", "b", "x", "ab"):
        sandbox.write_file(at(f"names/{other}"), b"another's")
    with pytest.raises(SandboxFileError):
        sandbox.read_file(at(f"names/{name}"))
    sandbox.write_file(at(f"names/{name}"), name.encode())
    assert sandbox.read_file(at(f"names/{name}")) == name.encode()


def test_a_command_of_nobody_does_not_end_the_sandbox(sandbox: Sandbox) -> None:
    result = sandbox.exec(["true"], user="no-such-user", timeout=SOON)
    assert (result.exit_code, result.timed_out) == (126, False)
    assert b"no-such-user" in result.stdout
    assert shell(sandbox, "echo stands") == "stands\n"


def test_an_image_of_its_short_name_and_of_its_full_one(acquire: Acquire, sandbox_spec: SandboxSpec) -> None:
    """What was loaded has the host part ``localhost``; rows do not know that."""
    for name in (sandbox_spec.image, f"localhost/{sandbox_spec.image}"):
        assert shell(acquire(image=name), "echo stands") == "stands\n"


def test_an_image_for_another_platform(provider: PodmanProvider, acquire: Acquire) -> None:
    assert shell(acquire(platform=provider.capabilities.platform), "echo stands") == "stands\n"
    with pytest.raises(ImageUnavailable, match="no image"):
        acquire(platform="linux/s390x")


def test_a_missing_image_is_one_line(acquire: Acquire) -> None:
    with pytest.raises(ImageUnavailable, match="no image") as raised:
        acquire(image="no.such/image:1")
    assert "\n" not in str(raised.value)


def test_a_command_gains_no_rights(sandbox: Sandbox) -> None:
    status = shell(sandbox, "cat /proc/self/status")
    assert "NoNewPrivs:\t1" in status
    assert "Seccomp:\t2" in status
    assert not int(status.partition("CapEff:")[2].split()[0], 16) & 1 << 13, "NET_RAW"


def test_limits_are_the_engines(acquire: Acquire, engine: docker.APIClient, limited: None) -> None:
    host = engine.inspect_container(acquire(cpus=0.5, memory_mb=256, pids=77).id)["HostConfig"]
    assert (host["NanoCpus"], host["Memory"], host["PidsLimit"]) == (500_000_000, 256 * 1024 * 1024, 77)
    assert host["MemorySwap"] == host["Memory"]
    assert not host["Privileged"]


def test_secrets_are_in_no_label_name_or_argument(acquire: Acquire, engine: docker.APIClient) -> None:
    secret = f"secret-{uuid.uuid4().hex}"
    made = acquire(env={"SECRET": secret})
    found = engine.inspect_container(made.id)
    assert secret in json.dumps(found["Config"].pop("Env"))
    assert secret not in json.dumps(found)
    assert secret not in " ".join(made.attach)


def test_volumes_go_with_the_sandbox(acquire: Acquire, engine: docker.APIClient, image_without: ImageWithout) -> None:
    made = acquire(image=image_without(change="VOLUME /data"))
    [mount] = engine.inspect_container(made.id)["Mounts"]
    made.write_file("/data/file", b"x")
    assert shell(made, "cat /data/file") == "x"
    made.close()
    with pytest.raises(docker.errors.NotFound):
        engine.inspect_volume(mount["Name"])


def test_out_of_memory_is_proved_by_the_engine(
    request: pytest.FixtureRequest, acquire: Acquire, engine: docker.APIClient, limited: None
) -> None:
    """The first process is made the kernel's first choice among many small ones: the sandbox dies for memory."""
    if int(engine.version()["Version"].partition(".")[0]) < 5:
        why = "Podman before 5.0 never says OOMKilled: https://github.com/containers/podman/issues/13102"
        request.applymarker(pytest.mark.xfail(reason=why, strict=True, raises=SandboxLost))
    made = acquire(memory_mb=32)
    script = """
        echo 1000 > /proc/1/oom_score_adj
        i=0
        while [ $i -lt 12 ]; do ( (head -c 4000000 /dev/zero; sleep 60) | tail ) & i=$((i+1)); done
        wait
    """
    with pytest.raises(OutOfMemory):
        made.exec(["sh", "-c", script], timeout=SOON)
    with pytest.raises(OutOfMemory):
        made.exec(["true"], timeout=SOON)


def test_stopped_and_removed_from_outside_are_lost(acquire: Acquire, engine: docker.APIClient) -> None:
    stopped, removed = acquire(), acquire()
    engine.stop(stopped.id, timeout=0)
    engine.remove_container(removed.id, force=True)
    for made in (stopped, removed):
        with pytest.raises(SandboxLost) as raised:
            made.exec(["true"], timeout=SOON)
        assert "\n" not in str(raised.value)


def test_paused_from_outside_is_lost(acquire: Acquire, engine: docker.APIClient, limited: None) -> None:
    made = acquire()
    engine.pause(made.id)
    with pytest.raises(SandboxLost, match="paused"):
        made.exec(["true"], timeout=SOON)


def test_a_sandbox_whose_killer_was_replaced(acquire: Acquire) -> None:
    """The candidate is root and put another program in place of the shell: its container is killed instead."""
    made = acquire()
    made.exec(["sh", "-c", "cp /bin/true /bin/new && mv /bin/new /bin/sh"], timeout=SOON)
    result = made.exec(["sleep", "600"], timeout=1)
    assert (result.timed_out, result.exit_code) == (True, None)
    with pytest.raises(SandboxLost):
        made.exec(["true"], timeout=SOON)


def test_an_image_without_sleep_says_so(acquire: Acquire, image_without: ImageWithout) -> None:
    made = acquire(image=image_without("/bin/sleep", "/usr/bin/sleep"))
    time.sleep(1)
    with pytest.raises(SandboxStartFailed, match="the image has no sleep"):
        made.exec(["true"], timeout=SOON)


def test_an_image_without_bash(acquire: Acquire, image_without: ImageWithout, engine: docker.APIClient) -> None:
    """The first process is another there: it forks. It reaps, survives, ends in time."""
    image = image_without("/bin/bash", "/usr/bin/bash")
    made = acquire(image=image, seconds=30)
    shell(made, "i=0; while [ $i -lt 20 ]; do (sleep 0 &); i=$((i+1)); done; sleep 1")
    assert shell(made, "cat /proc/[0-9]*/stat | grep -c ' Z ' || true") == "0\n"
    made.exec(["sh", "-c", "kill -9 -1; kill -9 1; kill -15 1"], timeout=SOON)
    assert made.exec(["sleep", "600"], timeout=1).timed_out
    assert shell(made, "echo stands") == "stands\n"
    brief = acquire(image=image, seconds=2)
    assert engine.wait(brief.id, timeout=60)["StatusCode"] == 0


def test_its_own_name_resolves_without_a_network(sandbox: Sandbox) -> None:
    script = "import socket; print(socket.gethostbyname(socket.gethostname()))"
    assert shell(sandbox, f"python3 -c '{script}'") == "127.0.0.1\n"


def test_a_sweep_among_vanishing_containers(provider: PodmanProvider, acquire: Acquire) -> None:
    labels = new_labels()

    def live() -> None:
        for _ in range(3):
            acquire().close()

    with ThreadPoolExecutor(4) as pool:
        churn = [pool.submit(live) for _ in range(3)]
        while not all(done.done() for done in churn):
            assert provider.sweep(labels) == 0
        for done in churn:
            done.result()


def test_the_command_to_attach_enters_it(acquire: Acquire) -> None:
    made = acquire()
    made.write_file("/tmp/inside", b"found")
    command = [word.replace("-it", "-i") for word in made.attach]
    done = subprocess.run(command, input=b"cat /tmp/inside", capture_output=True, timeout=SOON, check=True)
    assert done.stdout == b"found"


def test_an_image_of_a_dockerfile_keeps_its_entrypoint(
    provider: PodmanProvider, test_image: str, tmp_path: Path
) -> None:
    script = "printf '#!/bin/sh\\ntouch /ep\\nexec \"$@\"\\n' > /ep.sh && chmod +x /ep.sh"
    text = f'FROM {test_image}\nRUN {script} && echo {uuid.uuid4()}\nWORKDIR /app\nENTRYPOINT ["/ep.sh"]\n'
    (tmp_path / "Dockerfile").write_text(text)
    image = provider.build_image(tmp_path)
    try:
        assert provider.build_image(tmp_path) == image
        spec = SandboxSpec(image=image, keep_entrypoint=True, user="", workdir="", seconds=300)
        kept = provider.acquire(spec, labels=new_labels())
        try:
            assert shell(kept, "ls /ep; pwd; id -u") == "/ep\n/app\n0\n"
        finally:
            kept.close()
    finally:
        subprocess.run(["podman", "--url", usual_host(), "rmi", "--force", image], capture_output=True)
