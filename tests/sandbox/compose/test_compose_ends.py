"""What ends a group of services, and that nothing of it is left."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docker
import pytest

from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.testing.conformance.fixtures import SOON, new_labels, shell

from .groups import FETCH, LONG, SERVER, AcquireGroup, Standing, left, spec_of

pytestmark = pytest.mark.compose


def test_close_removes_everything_from_several_threads(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], engine: docker.APIClient, test_image: str
) -> None:
    labels = new_labels()
    text = SERVER.format(image=test_image) + "    volumes: ['kept:/kept', '/anonymous']\nvolumes: {kept: {}}\n"
    group = acquire_group(spec_of(compose_task(text)), labels)
    assert len(left(engine, labels)) == 4
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: group.close(), range(4)))
    assert left(engine, labels) == []
    group.close()


def test_a_time_out_ends_commands_and_spares_the_service(standing: Standing) -> None:
    group = standing.group
    assert group.main.exec(["true"], timeout=SOON).exit_code == 0
    for name, own in (("main", 2), ("side", 0)):
        sandbox = group.services[name]
        escapes = "trap '' TERM; (setsid sleep 1234 >/dev/null 2>&1 &) ; sleep 1234"
        assert sandbox.exec(["sh", "-c", escapes], timeout=2).timed_out
        running = shell(sandbox, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
        assert running.count("sleep 1234 ") == 0
        assert running.count("sleep 4321 ") >= own
    assert shell(group.main, FETCH) == "hello\n\n"


def test_stopping_main_leaves_the_others_and_its_files(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], engine: docker.APIClient, test_image: str
) -> None:
    group = acquire_group(spec_of(compose_task(SERVER.format(image=test_image))))
    group.main.write_file("/kept/file", b"done")
    group.stop_main()
    group.stop_main()
    assert not engine.inspect_container(group.main.id)["State"]["Running"]
    assert group.main.read_file("/kept/file") == b"done"
    assert shell(group.services["side"], "cat /data/log") == "hello\n"


#: Two services that would go on for hours.
def test_all_services_end_at_their_deadline(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], engine: docker.APIClient, test_image: str
) -> None:
    """By themselves: nobody closes or sweeps them."""
    group = acquire_group(spec_of(compose_task(LONG.format(image=test_image)), seconds=30))
    for sandbox in group.services.values():
        assert engine.wait(sandbox.id, timeout=90)["StatusCode"] == 0


#: Acquires a group and dies at once. Arguments: this project, the task, labels, image, whose.
OWNER = """
import json, os, signal, sys
from pathlib import Path
sys.path[:0] = [sys.argv[1]]
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.podman import PodmanProvider
from pytest_swe.sandbox.group import GroupSpec
provider = {"docker": DockerProvider, "podman": PodmanProvider}[sys.argv[5]]
place = Path(sys.argv[2])
main = SandboxSpec(image=sys.argv[4], workdir="", user="")
spec = GroupSpec(main=main, directory=place, compose=place / "docker-compose.yaml")
provider(pull=False).acquire_group(spec, labels=json.loads(sys.argv[3]))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_dead_owner_left_is_swept(
    compose_task: Callable[..., Path], kind: str, engine: docker.APIClient, provider: DockerProvider, test_image: str
) -> None:
    """Any other run of this host may be the one that sweeps it, so only what is left in the end counts."""
    labels = new_labels()
    directory = compose_task(LONG.format(image=test_image))
    arguments = [str(Path(__file__).parents[3]), str(directory), json.dumps(labels), test_image, kind]
    ran = subprocess.run([sys.executable, "-c", OWNER, *arguments], capture_output=True)
    try:
        assert ran.returncode == -signal.SIGKILL, ran.stderr
        provider.sweep()
        assert left(engine, labels) == []
    finally:
        provider.sweep(labels)


def test_a_sweep_takes_whole_groups(
    acquire_group: AcquireGroup,
    compose_task: Callable[..., Path],
    engine: docker.APIClient,
    provider: DockerProvider,
    test_image: str,
) -> None:
    mine, others = new_labels(), new_labels()
    text = SERVER.format(image=test_image) + "    volumes: ['kept:/kept']\nvolumes: {kept: {}}\n"
    spec = spec_of(compose_task(text))
    acquire_group(spec, mine)
    acquire_group(spec, others)
    provider.sweep()  # their owner lives
    assert len(left(engine, mine)) == 4
    assert provider.sweep(mine) == 2
    assert left(engine, mine) == []
    assert len(left(engine, others)) == 4
