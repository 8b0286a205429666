"""What the tests need from outside: a Docker engine, and the real public data. CI must have both."""

from __future__ import annotations

import functools
import os
import runpy
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pytest_swe.sandbox import podman

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent
DATA = Path(os.environ.get("PYTEST_SWE_DATA") or ROOT.parent / "shared" / "data")
#: Debian with git, patch and python3; ``make images`` builds it.
TEST_IMAGE = os.environ.get("PYTEST_SWE_TEST_IMAGE") or "pytest-swe/test-base:1"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-engine",
        action="store_true",
        help="fail, do not deselect, what cannot run here for want of a Docker engine or of data (CI)",
    )
    parser.addoption("--chaos", action="store_true", help="run the long cases of tests/chaos too")


@functools.cache
def why_no_docker() -> str:
    """What the Docker tests lack here; empty when they can run."""
    try:
        if subprocess.run(["docker", "info"], capture_output=True, timeout=30).returncode:
            return "no Docker engine answers"
        if subprocess.run(["docker", "image", "inspect", TEST_IMAGE], capture_output=True, timeout=30).returncode:
            return f"the engine has no image {TEST_IMAGE} (`make images` builds it)"
    except (OSError, subprocess.TimeoutExpired):
        return "no Docker engine answers"
    return ""


@functools.cache
def why_no_podman() -> str:
    """What the Podman tests lack here, at the service of CONTAINER_HOST or the usual one."""
    command = ["podman", "--url", podman.usual_host(), "image", "exists", TEST_IMAGE]
    try:
        status = subprocess.run(command, capture_output=True, timeout=30).returncode
    except (OSError, subprocess.TimeoutExpired):
        status = -1
    if status == 1:
        return f"Podman has no image {TEST_IMAGE} (docker save {TEST_IMAGE} | podman load)"
    return "no Podman service answers" if status else ""


@functools.cache
def why_no_compose() -> str:
    try:
        status = subprocess.run(["docker", "compose", "version"], capture_output=True, timeout=30).returncode
    except (OSError, subprocess.TimeoutExpired):
        status = -1
    return "no `docker compose` here (bash .ci/compose.sh DIRECTORY, and DOCKER_CONFIG=DIRECTORY)" if status else ""


def why_no_apptainer() -> str:
    if not shutil.which("apptainer"):
        return "no apptainer here (`make test-all`)"
    return "" if os.environ.get("PYTEST_SWE_TEST_APPTAINER_IMAGES") else why_no_docker()


def why_no_data() -> str:
    return "" if DATA.is_dir() else f"no data at {DATA} (PYTEST_SWE_DATA names another place)"


def why_no_busybox() -> str:
    return "" if shutil.which("busybox") else "no busybox here (apt-get install busybox-static)"


def why_no_dockerd() -> str:
    lacking = [program for program in ("dockerd", "ip", "busybox") if not shutil.which(program)]
    if lacking:
        return f"engines of the tests' own need {' and '.join(lacking)}"
    return "" if os.geteuid() == 0 else "engines of the tests' own need root"


@functools.cache
def why_no_rootless() -> str:
    # By its path: this file is also read by runs that have no ini, and so no `pythonpath`.
    found = runpy.run_path(str(ROOT / "tests" / "backends" / "rootless_users.py"))
    return str(found["why_no_rootless"]())


def why_no_kubernetes() -> str:
    return "" if os.environ.get("PYTEST_SWE_KUBECONFIG") else "PYTEST_SWE_KUBECONFIG names no cluster (`make test-all`)"


def why_no_bubblewrap() -> str:
    from pytest_swe.sandbox.host import bubblewrap

    found, about = bubblewrap.find()
    return "" if found else f"bubblewrap {about}"


def why_no_cgroups() -> str:
    from pytest_swe.sandbox.host import cgroups

    lacking = {"memory", "pids", "cpu"} - cgroups.find().parents.keys()
    return f"this user can make no control groups of {', '.join(sorted(lacking))}" if lacking else ""


def why_no_opensandbox() -> str:
    return "" if os.environ.get("PYTEST_SWE_OPENSANDBOX") else "PYTEST_SWE_OPENSANDBOX names no server (make test-all)"


def why_no_registry() -> str:
    return "" if shutil.which("docker-registry") else "no docker-registry here (apt-get install docker-registry)"


def why_no_sshd() -> str:
    return "" if shutil.which("sshd") and shutil.which("ssh") else "no sshd here (apt-get install openssh-server)"


def why_no_mounts() -> str:
    return "" if os.geteuid() == 0 and shutil.which("mount") else "file systems of the tests' own need root"


def why_no_kits() -> str:
    kits = os.environ.get("PYTEST_SWE_TEST_KITS", "")
    made = "`pytest-swe agent-kit mini-swe-agent DIR`, and PYTEST_SWE_TEST_KITS=DIR"
    return "" if kits and Path(kits, "mini-swe-agent").is_dir() else f"no kit of an agent here ({made})"


def why_no_faketime() -> str:
    found = [*Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")]
    return "" if found else "no libfaketime here (apt-get install faketime)"


WHY_NOT: Mapping[str, Callable[[], str]] = {
    "docker": why_no_docker,
    "compose": why_no_compose,
    "dockerd": why_no_dockerd,
    "rootless": why_no_rootless,
    "sshd": why_no_sshd,
    "podman": why_no_podman,
    "apptainer": why_no_apptainer,
    "shared_data": why_no_data,
    "busybox": why_no_busybox,
    "registry": why_no_registry,
    "kubernetes": why_no_kubernetes,
    "opensandbox": why_no_opensandbox,
    "bubblewrap": why_no_bubblewrap,
    "cgroups": why_no_cgroups,
    "mounts": why_no_mounts,
    "faketime": why_no_faketime,
    "kits": why_no_kits,
}

#: What `.ci/all.sh` starts: deselected in CI, too, where it was not started; the header of the run says so.
APART = frozenset({"apptainer", "compose", "kits", "kubernetes", "opensandbox", "podman", "rootless"})


def must_run_all(config: pytest.Config) -> bool:
    return bool(os.environ.get("CI")) or bool(config.getoption("--require-engine"))


def pytest_report_header(config: pytest.Config) -> list[str]:
    reasons = {marker: WHY_NOT[marker]() for marker in WHY_NOT if marker in APART or not must_run_all(config)}
    return [f"tests marked {marker} are deselected: {why}" for marker, why in reasons.items() if why]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what cannot run here; the header says why."""
    asked = APART if must_run_all(config) else WHY_NOT
    lacking = {marker for marker in asked if WHY_NOT[marker]()}
    if not config.getoption("--chaos"):
        lacking.add("chaos")
    gone = [item for item in items if any(item.get_closest_marker(marker) for marker in lacking)]
    if gone:
        config.hook.pytest_deselected(items=gone)
        items[:] = [item for item in items if item not in set(gone)]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Where all must run, a test that cannot is a failure, never a skip."""
    for marker, why_not in WHY_NOT.items():
        if item.get_closest_marker(marker) and (why := why_not()):
            pytest.fail(f"cannot run here: {why}", pytrace=False)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real public data; mark the test ``shared_data``."""
    return DATA


@pytest.fixture(scope="session")
def test_image() -> str:
    """Name of an image with git, patch and python3; mark the test ``docker``."""
    return TEST_IMAGE
