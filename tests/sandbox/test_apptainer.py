"""The provider ``apptainer`` keeps the sandbox contract, as whoever runs the tests; what is its own is below."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_swe.errors import DiskFull, OutOfMemory, SandboxLost, Unsupported
from pytest_swe.model import ExecResult, SandboxSpec
from pytest_swe.sandbox.apptainer import ApptainerProvider
from pytest_swe.sandbox.apptainer_program import find
from pytest_swe.sandbox.base import Sandbox, SandboxProvider
from pytest_swe.sandbox.host.namespace import Namespace
from pytest_swe.testing.conformance import *  # noqa: F403
from pytest_swe.testing.conformance.fixtures import SOON, Acquire, KillFromOutside, new_labels, shell

#: Names a folder of ready images, for runs as a user who has no Docker engine.
IMAGES = "PYTEST_SWE_TEST_APPTAINER_IMAGES"

pytestmark = pytest.mark.apptainer


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("apptainer")


@pytest.fixture(scope="module")
def provider(state: Path) -> Iterator[ApptainerProvider]:
    made = ApptainerProvider(state=state, images=os.environ.get(IMAGES))
    of_the_contract: SandboxProvider = made
    assert of_the_contract.name == "apptainer"
    yield made
    made.close()


@pytest.fixture
def kill_from_outside(state: Path) -> KillFromOutside:
    def kill(sandbox: Sandbox) -> None:
        os.kill(state_pid(state)(sandbox.id), signal.SIGKILL)

    return kill


def test_check_tells_how_it_works_here(provider: ApptainerProvider) -> None:
    assert provider.check().startswith("apptainer ")
    assert ("ordinary user" in provider.check()) == (os.geteuid() != 0)


def test_the_host_cannot_be_changed(sandbox: Sandbox) -> None:
    """Root of a sandbox of root's is the host's root: what that one may write without any capability is read-only."""
    attempts = {
        "sysctl": "echo x > /proc/sys/kernel/domainname",
        "uevent": "echo x > /sys/kernel/uevent_helper",
        "cgroup": "mkdir /sys/fs/cgroup/memory",
        "device": "mknod /disk b 254 0 && head -c 1 /disk",
        "mount": "mount -t tmpfs none /mnt",
        "namespace": "unshare --mount true",
    }
    for name, script in attempts.items():
        assert sandbox.exec(["sh", "-c", script], timeout=SOON).exit_code != 0, name
    status = shell(sandbox, "cat /proc/self/status")
    assert "NoNewPrivs:\t1" in status
    assert "Seccomp:\t2" in status
    assert shell(sandbox, "ls -A /sys/fs/cgroup") == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="a user's sandbox has all rights in a namespace of its own")
def test_a_right_is_given_on_request_and_no_more(acquire: Acquire) -> None:
    def effective(sandbox: Sandbox) -> int:
        return int(shell(sandbox, "cat /proc/self/status").partition("CapEff:")[2].split()[0], 16)

    net_raw, sys_admin, mknod = 1 << 13, 1 << 21, 1 << 27
    assert not effective(acquire()) & (net_raw | sys_admin | mknod)
    assert effective(acquire(capabilities=("CAP_NET_RAW",))) & net_raw
    with pytest.raises(Unsupported, match="SYS_ADMIN"):
        acquire(capabilities=("SYS_ADMIN",))


def test_nothing_of_the_host_or_of_apptainer_shows(sandbox: Sandbox, state: Path) -> None:
    env = shell(sandbox, "env")
    assert not [word for word in ("APPTAINER", "SINGULARITY", str(state), "PS1") if word in env]
    assert "HOME=/root\n" in env
    assert shell(sandbox, "hostname") == "sandbox\n"
    assert shell(sandbox, "ls -A /home /tmp") == "/home:\n\n/tmp:\n"
    assert "localhost" in shell(sandbox, "cat /etc/hosts")


def test_what_is_written_does_not_stand_in_memory(sandbox: Sandbox) -> None:
    """apptainer's own writable layer is 64 MiB of memory."""
    assert shell(sandbox, "for d in / /tmp /root; do stat -f -c %T $d; done | sort -u") in ("overlayfs\n", "fuseblk\n")
    shell(sandbox, "dd if=/dev/zero of=/tmp/large bs=1M count=200 2>/dev/null; rm /tmp/large")


def test_a_disk_limit_limits(provider: ApptainerProvider, acquire: Acquire) -> None:
    if not provider.capabilities.disk:
        pytest.skip("a user needs /dev/fuse for it")
    made = acquire(disk_mb=64)
    made.write_file("/testbed/before", b"x")
    filled = made.exec(["dd", "if=/dev/zero", "of=/testbed/large", "bs=1M", "count=100"], timeout=SOON)
    assert filled.exit_code not in (0, None)
    with pytest.raises(DiskFull):
        made.write_file("/testbed/more", b"x" * 5_000_000)
    assert shell(made, "cat /testbed/before; rm /testbed/large; echo y > /testbed/after") == "x"
    with pytest.raises(Unsupported, match="disk_mb"):
        acquire(disk_mb=1)


def test_a_sandbox_of_a_dead_owner_ends_at_its_deadline_and_is_swept(
    provider: ApptainerProvider, acquire: Acquire, state: Path, sandbox_spec: SandboxSpec
) -> None:
    labels = new_labels()
    mine = acquire(labels)
    script = (
        "import os, signal, sys\n"
        "from pytest_swe.model import SandboxSpec\n"
        "from pytest_swe.sandbox.apptainer import ApptainerProvider\n"
        f"provider = ApptainerProvider(state={str(state)!r}, images=os.environ.get({IMAGES!r}))\n"
        "for seconds in (3, 600):\n"
        f"    made = provider.acquire(SandboxSpec(image={sandbox_spec.image!r}, seconds=seconds), labels={labels!r})\n"
        "    print(made.id, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    died = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert died.returncode == -signal.SIGKILL, died.stderr
    short, long = (Namespace(pid) for pid in map(state_pid(state), died.stdout.split()))
    assert short.wait(SOON)
    assert not long.is_over()
    assert provider.sweep() >= 2
    assert long.is_over()
    assert not [path for name in died.stdout.split() for path in sandboxes(state).glob(f"{name}*")]
    assert shell(mine, "echo stands") == "stands\n"


def test_too_much_memory_is_told_where_it_is_watched(
    state: Path, sandbox_spec: SandboxSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is for an ordinary user, and for root where apptainer has no cgroups."""
    found = dataclasses.replace(find(), cgroups=False)
    monkeypatch.setattr("pytest_swe.sandbox.apptainer.find", lambda program: found)
    watching = ApptainerProvider(state=state, images=os.environ.get(IMAGES))
    assert not watching.capabilities.pids
    made = watching.acquire(dataclasses.replace(sandbox_spec, memory_mb=96), labels=new_labels())
    hungry = "for i in 1 2 3 4; do python3 -c 'import time; x = bytearray(60 << 20); time.sleep(60)' & done; wait"
    with pytest.raises(OutOfMemory, match="96 MiB"):
        made.exec(["sh", "-c", hungry], timeout=SOON)
    with pytest.raises(OutOfMemory):
        made.exec(["true"], timeout=SOON)
    made.close()


def test_close_leaves_nothing(provider: ApptainerProvider, acquire: Acquire, state: Path) -> None:
    made = acquire()
    first = Namespace(state_pid(state)(made.id))
    shell(made, "mkdir -p /testbed/a/b; chmod 0 /testbed/a; setsid sleep 300 >/dev/null 2>&1 &")
    made.close()
    assert first.is_over()
    assert not list(sandboxes(state).glob(f"{made.id}*"))


def test_a_shell_for_people_has_the_variables_of_the_spec(acquire: Acquire) -> None:
    secret = f"secret-{uuid.uuid4().hex}"
    made = acquire(env={"SECRET": secret})
    assert secret not in " ".join(made.attach)
    entered = subprocess.run(made.attach, input="echo $SECRET; pwd\nexit 3\n", capture_output=True, text=True)
    assert (entered.returncode, entered.stdout) == (3, f"{secret}\n/testbed\n")


def test_an_unknown_user_is_refused_by_name(sandbox: Sandbox) -> None:
    with pytest.raises(Unsupported, match="no-such-user"):
        sandbox.exec(["id"], user="no-such-user", timeout=SOON)


def sandboxes(state: Path) -> Path:
    return state / "apptainer" / "sandboxes"


def state_pid(state: Path) -> Callable[[str], int]:
    return lambda name: int((sandboxes(state) / name / "pid").read_text())


def test_what_a_dying_instance_does_not_run_is_no_failed_command(acquire: Acquire) -> None:
    """apptainer then ends with status 1, and its script's file system is gone already: seen in 8 of 120 sandboxes."""

    def wrong(number: int) -> ExecResult | None:
        made = acquire(seconds=1 + number % 7 * 0.13)
        try:
            while (result := made.exec(["true"], timeout=SOON)).exit_code == 0:
                pass
        except SandboxLost:
            return None
        return result

    with ThreadPoolExecutor(4) as pool:
        assert [result for result in pool.map(wrong, range(24)) if result is not None] == []
