"""Limits of the provider ``local``: control groups, which go when their sandbox goes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.host import cgroups
from pytest_swe.sandbox.local import LocalProvider

from .local_parts import alive, sh

pytestmark = pytest.mark.cgroups

#: Holds 24 MiB until every other one holds as much or was killed, and says so if it is still there.
HOLD = """
import os, time
held = bytearray(24 << 20)
open(f"held-{os.getpid()}", "w").close()
while not os.path.exists("release"):
    time.sleep(0.05)
print("held", flush=True)
"""
#: Four at once: each holds its memory (a file says so) or is no more, then all are let go.
TOGETHER = """
rm -f held-* release
for i in 1 2 3 4; do "$1" -c "$2" & pids="$pids $!"; done
while :; do
  settled=0
  for pid in $pids; do
    if [ -e "held-$pid" ] || ! kill -0 "$pid" 2>/dev/null; then settled=$((settled + 1)); fi
  done
  [ $settled -lt 4 ] || break
  sleep 0.1
done
touch release
wait
"""


def groups_of(sandbox: Sandbox) -> list[Path]:
    return [place for place in cgroups.find().places(sandbox.id) if place.is_dir()]


def test_memory_is_limited_for_all_processes_together(provider: LocalProvider, acquire: Callable[..., Sandbox]) -> None:
    enough, little = acquire(provider, memory_mb=512), acquire(provider, memory_mb=64)
    assert sh(enough, TOGETHER, sys.executable, HOLD) == "held\n" * 4
    assert sh(little, TOGETHER, sys.executable, HOLD).count("held") < 4
    assert sh(little, "echo answers") == "answers\n"


def test_the_limits_are_the_kernels(provider: LocalProvider, acquire: Callable[..., Sandbox]) -> None:
    sandbox = acquire(provider, memory_mb=256, pids=50, cpus=0.5)
    values = {
        file.name: file.read_text().split()
        for group in groups_of(sandbox)
        for name in ("memory.limit_in_bytes", "memory.max", "pids.max", "cpu.cfs_quota_us", "cpu.max")
        if (file := group / name).exists()
    }
    assert (values.get("memory.max") or values["memory.limit_in_bytes"]) == ["268435456"]
    assert values["pids.max"] == [str(50 + cgroups.OWN_TASKS)]
    assert (values.get("cpu.max") or values["cpu.cfs_quota_us"])[0] == "50000"


def test_without_limits_there_is_no_group(provider: LocalProvider, acquire: Callable[..., Sandbox]) -> None:
    assert groups_of(acquire(provider)) == []


def test_groups_go_with_their_sandbox_and_what_runs_in_it(
    plain: LocalProvider, acquire: Callable[..., Sandbox], token: str
) -> None:
    sandbox = acquire(plain, memory_mb=256, pids=50)
    # Without the mark in its environment only the group tells whose it is.
    sh(sandbox, 'env -i setsid sleep "$1" >/dev/null 2>&1 &', token)
    assert groups_of(sandbox)
    assert alive(token)
    sandbox.close()
    assert groups_of(sandbox) == []
    assert alive(token) == []


def test_a_sweep_of_another_process_removes_groups_too(
    provider: LocalProvider, spec: SandboxSpec, tmp_path: Path
) -> None:
    made = provider.acquire(SandboxSpec(image="tiny", tree=spec.tree, trusted=True, pids=50), labels={"run": "r"})
    other = LocalProvider(state=tmp_path / "state", isolate=provider.capabilities.isolated, limit=False)
    assert groups_of(made)
    assert other.sweep({"run": "r"}) == 1
    assert groups_of(made) == []


def test_what_is_no_group_of_a_sandbox_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "pytest-swe.b").mkdir()
    cgroups.end([tmp_path / "pytest-swe.b", tmp_path], "a")
    assert (tmp_path / "pytest-swe.b").is_dir()


def test_a_spec_that_no_group_can_hold_leaves_nothing(
    provider: LocalProvider, acquire: Callable[..., Sandbox], tmp_path: Path
) -> None:
    from pytest_swe.errors import SandboxStartFailed

    with pytest.raises(SandboxStartFailed):
        acquire(provider, memory_mb=64, pids=2**40)
    assert list((tmp_path / "state" / "local").iterdir()) == []


#: Enters the group that it is given, and prints where it would make groups of cgroup v2.
SEEN_FROM = """
import sys
from pathlib import Path
from pytest_swe.sandbox.host import cgroups
(Path(sys.argv[1]) / "cgroup.procs").write_text("0")
print(*cgroups._unified(), sep="\\n")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes groups at the top")
def test_groups_of_v2_may_stand_above_the_own_one() -> None:
    """The own one holds this process, so nothing below it can be limited: those above are tried, up to the top."""
    top = [*cgroups._unified()][-1]
    outer = top / f"pytest-swe.test-{os.getpid()}"
    inner = outer / "inner"
    inner.mkdir(parents=True)
    try:
        command = [sys.executable, "-c", SEEN_FROM, str(inner)]
        seen = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    finally:
        inner.rmdir()
        outer.rmdir()
    assert seen == [str(inner), str(outer), str(top)]
