"""Groups on a real engine: what runs, who sees whom, what ends them, and that nothing is left."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docker
import pytest

from pytest_swe.errors import ImageUnavailable, RowInvalid, SandboxStartFailed
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.group import Group, GroupProvider, GroupSpec
from pytest_swe.testing.conformance.fixtures import SOON, new_labels, shell

from .conftest import WriteTask

pytestmark = [pytest.mark.docker, pytest.mark.compose]

AcquireGroup = Callable[..., Group]

TEST_IMAGE = os.environ.get("PYTEST_SWE_TEST_IMAGE") or "pytest-swe/test-base:1"

#: A sidecar that serves /data, and main, which waits for it.
SERVER = """
services:
  main:
    depends_on:
      side: {{condition: service_healthy}}
    environment:
      - FROM_COMPOSE=1
      - OF_THE_TASK=compose
  side:
    image: {image}
    command: ["sh", "-c", "mkdir -p /data; echo hello > /data/log; exec python3 -m http.server 8000 --directory /data"]
    environment:
      SHOWN: "${{SHOWN:-unset}}"
      IMAGE: "${{MAIN_IMAGE_NAME}}"
      LIMITS: "$CPUS ${{MEMORY}}"
      HOST: "${{HOME:-none}}"
      DOLLAR: "$$HOME"
    healthcheck:
      test: ["CMD", "python3", "-c", "import urllib.request as u; u.urlopen('http://localhost:8000/log')"]
      interval: 1s
      retries: 60
"""

FETCH = "python3 -c \"import urllib.request as u; print(u.urlopen('http://side:8000/log', timeout=9).read().decode())\""

#: Tries to reach every ADDRESS:PORT at once, and prints those that answered.
REACH = """
import concurrent.futures, socket, sys
def reach(place):
    try:
        socket.create_connection(place.rsplit(":", 1), 5).close()
        print(place)
    except OSError:
        pass
with concurrent.futures.ThreadPoolExecutor() as pool:
    list(pool.map(reach, sys.argv[1:]))
"""


@pytest.fixture
def compose_task(task: WriteTask) -> Callable[[str, Mapping[str, str]], Path]:
    """A task with a compose file, and whatever else it is given."""

    def write(compose: str, more: Mapping[str, str] | None = None) -> Path:
        return task({"docker-compose.yaml": compose, **(more or {})})

    return write


def spec_of(directory: Path, *, network: str = "none", seconds: float = 600, **fields: object) -> GroupSpec:
    main = SandboxSpec(image=TEST_IMAGE, workdir="", user="", seconds=seconds, cpus=1, memory_mb=512)
    main = dataclasses.replace(main, network=network)  # type: ignore[arg-type]
    made = GroupSpec(main=main, directory=directory, compose=directory / "docker-compose.yaml", build_seconds=300)
    return dataclasses.replace(made, **fields)  # type: ignore[arg-type]


@pytest.fixture
def acquire_group(provider: DockerProvider) -> Iterator[AcquireGroup]:
    with contextlib.ExitStack() as stack:

        def acquire(spec: GroupSpec, labels: Mapping[str, str] | None = None) -> Group:
            group = provider.acquire_group(spec, labels=labels or new_labels())
            stack.callback(group.close)
            return group

        yield acquire


@dataclasses.dataclass(frozen=True)
class Standing:
    """A group that several tests look at, and its labels."""

    group: Group
    labels: Mapping[str, str]


@pytest.fixture(scope="module")
def standing(provider: DockerProvider, tmp_path_factory: pytest.TempPathFactory, test_image: str) -> Iterator[Standing]:
    """Main is built here, and has a command of its own."""
    directory, labels = tmp_path_factory.mktemp("environment"), new_labels()
    command = "    command: sh -c 'sleep 4321 & exec sleep 4321'\n"
    text = SERVER.format(image=test_image).replace("  main:\n", f"  main:\n{command}", 1)
    (directory / "docker-compose.yaml").write_text(text)
    (directory / "Dockerfile").write_text(f"FROM {test_image}\nWORKDIR /app\nRUN echo {labels}\n")
    spec = spec_of(directory, variables={"SHOWN": "fromtask"})
    main = dataclasses.replace(spec.main, image="", env={"OF_THE_TASK": "spec"})
    group = provider.acquire_group(dataclasses.replace(spec, main=main), labels=labels)
    yield Standing(group, labels)
    group.close()


def left(engine: docker.APIClient, labels: Mapping[str, str]) -> list[str]:
    """Names of all that an engine has with these labels."""
    mine = {"label": [f"pytest-swe.{key}={value}" for key, value in labels.items()]}
    containers = [each["Id"] for each in engine.containers(all=True, filters=mine)]
    networks = [each["Id"] for each in engine.networks(filters=mine)]
    volumes = [each["Name"] for each in engine.volumes(filters=mine)["Volumes"] or []]
    return [*containers, *networks, *volumes]


def test_the_provider_makes_groups(provider: DockerProvider) -> None:
    assert isinstance(provider, GroupProvider)
    assert provider.capabilities.groups


def test_services_see_each_other_by_name_and_variables_are_the_specs(standing: Standing) -> None:
    group = standing.group
    assert set(group.services) == {"main", "side"}
    assert group.services["main"] is group.main
    assert shell(group.main, FETCH) == "hello\n\n"
    assert shell(group.main, "pwd; echo $FROM_COMPOSE $OF_THE_TASK") == "/app\n1 spec\n"
    side = group.services["side"]
    said = shell(side, "echo $SHOWN; echo $IMAGE; echo $LIMITS; echo $HOST; echo $DOLLAR").splitlines()
    assert said[0] == "fromtask"
    assert said[1].startswith("pytest-swe/task:")
    assert said[2:] == ["1 512M", "none", "$HOME"]
    side.write_file("/data/two", b"2")
    assert side.read_file("/data/two") == b"2"


def test_every_service_is_held(standing: Standing, engine: docker.APIClient) -> None:
    group, labels = standing.group, standing.labels
    for name, sandbox in group.services.items():
        found = engine.inspect_container(sandbox.id)
        host = found["HostConfig"]
        assert host["CapDrop"] == ["ALL"], name
        assert "NET_RAW" not in host["CapAdd"]
        assert host["SecurityOpt"] == ["no-new-privileges:true"]
        assert host["Memory"] == host["MemorySwap"] > 0
        assert host["PidsLimit"] > 0
        assert host["RestartPolicy"]["Name"] in ("no", "")
        assert not host["Privileged"]
        assert {f"pytest-swe.{key}": value for key, value in labels.items()}.items() <= found["Config"][
            "Labels"
        ].items()
        assert "pytest-swe.deadline" in found["Config"]["Labels"]
    assert engine.inspect_container(group.main.id)["HostConfig"]["Memory"] == 512 * 1024 * 1024


def test_nothing_leaves_a_group_without_network(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], engine: docker.APIClient, test_image: str
) -> None:
    """Not to the world, to the host, to another group, nor by way of a name server; from no service."""
    text = SERVER.format(image=test_image) + "    networks: [default, second]\nnetworks: {second: {}}\n"
    specs = [spec_of(compose_task(text)), spec_of(compose_task(SERVER.format(image=test_image)))]
    with ThreadPoolExecutor(2) as pool:
        group, other = pool.map(acquire_group, specs)
    assert shell(group.main, FETCH) == "hello\n\n"
    with listening() as port:
        there = ["1.1.1.1:53", f"{address_of(engine, other.services['side'])}:8000"]
        there += [f"{gateway}:{port}" for gateway in gateways(engine, group.services["side"])]
        assert len(there) == 4
        for sandbox in group.services.values():
            assert sandbox.exec(["python3", "-c", REACH, *there, "side:8000"], timeout=SOON).stdout == b"side:8000\n"
            assert sandbox.exec(["getent", "hosts", "example.org"], timeout=SOON).exit_code == 2


def address_of(engine: docker.APIClient, sandbox: Sandbox) -> str:
    networks = engine.inspect_container(sandbox.id)["NetworkSettings"]["Networks"]
    return str(next(iter(networks.values()))["IPAddress"])


def gateways(engine: docker.APIClient, sandbox: Sandbox) -> list[str]:
    """The host's addresses in the networks of a service, if it had any."""
    networks = engine.inspect_container(sandbox.id)["NetworkSettings"]["Networks"].values()
    return [str(engine.inspect_network(each["NetworkID"])["IPAM"]["Config"][0]["Gateway"]) for each in networks]


@contextlib.contextmanager
def listening() -> Iterator[str]:
    """A port of this host that all of its addresses answer at."""
    with socket.create_server(("0.0.0.0", 0)) as server:
        yield str(server.getsockname()[1])


def test_a_group_with_network_reaches_out(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], engine: docker.APIClient, test_image: str
) -> None:
    group = acquire_group(spec_of(compose_task(SERVER.format(image=test_image)), network="full"))
    with listening() as port:
        for sandbox in group.services.values():
            (gateway,) = gateways(engine, sandbox)
            there = f"{gateway}:{port}"
            assert sandbox.exec(["python3", "-c", REACH, there], timeout=SOON).stdout.decode() == f"{there}\n"


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


def test_two_groups_of_one_task_do_not_meet(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], test_image: str
) -> None:
    text = SERVER.format(image=test_image) + "    volumes: ['kept:/kept']\nvolumes: {kept: {}}\n"
    spec = spec_of(compose_task(text))
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(lambda _: acquire_group(spec), range(2))
    one.services["side"].write_file("/kept/mark", b"one")
    one.services["side"].write_file("/data/log", b"changed")
    assert two.services["side"].exec(["ls", "/kept"], timeout=SOON).stdout == b""
    assert shell(two.main, FETCH) == "hello\n\n"
    assert shell(one.main, FETCH) == "changed\n"
    one.close()
    assert shell(two.main, FETCH) == "hello\n\n"


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
LONG = "services: {{main: {{command: sleep 9999}}, side: {{image: {image}, command: sleep 9999}}}}"


def test_all_services_end_at_their_deadline(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], engine: docker.APIClient, test_image: str
) -> None:
    """By themselves: nobody closes or sweeps them."""
    group = acquire_group(spec_of(compose_task(LONG.format(image=test_image)), seconds=30))
    for sandbox in group.services.values():
        assert engine.wait(sandbox.id, timeout=90)["StatusCode"] == 0


#: Acquires a group and dies at once. Arguments: this project, the task, labels, image.
OWNER = """
import json, os, signal, sys
from pathlib import Path
sys.path[:0] = [sys.argv[1]]
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.group import GroupSpec
place = Path(sys.argv[2])
main = SandboxSpec(image=sys.argv[4], workdir="", user="")
spec = GroupSpec(main=main, directory=place, compose=place / "docker-compose.yaml")
DockerProvider(pull=False).acquire_group(spec, labels=json.loads(sys.argv[3]))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_dead_owner_left_is_swept(
    compose_task: Callable[..., Path], engine: docker.APIClient, provider: DockerProvider, test_image: str
) -> None:
    """Any other run of this host may be the one that sweeps it, so only what is left in the end counts."""
    labels = new_labels()
    directory = compose_task(LONG.format(image=test_image))
    arguments = [str(Path(__file__).parents[3]), str(directory), json.dumps(labels), test_image]
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


def test_secrets_are_in_no_argument_label_file_or_error(
    acquire_group: AcquireGroup,
    compose_task: Callable[..., Path],
    engine: docker.APIClient,
    test_image: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    secret = "s3cret-$VALUE-'\"" + os.urandom(6).hex()
    text = SERVER.format(image=test_image).replace("SHOWN:-unset", "KEY")
    spec = spec_of(compose_task(text), variables={"KEY": secret}, secrets=frozenset({"KEY"}))
    watched = Watched(tmp_path / "tmp")
    with watched:
        group = acquire_group(spec)
    assert group.services["side"].exec(["printenv", "SHOWN"], timeout=SOON).stdout.decode() == secret + "\n"
    assert watched.modes == {0o700, 0o600}
    assert list((tmp_path / "tmp").iterdir()) == []
    assert secret not in json.dumps(engine.inspect_container(group.main.id))
    assert secret not in json.dumps(engine.inspect_container(group.services["side"].id)["Config"]["Labels"])
    broken = text.replace("urlopen('http://localhost:8000/log')", "urlopen('http://localhost:1/')")
    broken = broken.replace("retries: 60", "retries: 1").replace('"CMD", "python3"', '"CMD", "printenv", "SHOWN", "x"')
    with pytest.raises(SandboxStartFailed, match="service side did not become healthy") as failure:
        acquire_group(
            dataclasses.replace(spec, directory=(place := compose_task(broken)), compose=place / "docker-compose.yaml")
        )
    assert secret not in str(failure.value)
    assert "${KEY}" in str(failure.value)


class Watched:
    """Looks at what is written below a directory, again and again, and keeps the modes that it saw."""

    def __init__(self, directory: Path) -> None:
        self.modes: set[int] = set()
        self._directory = directory
        self._pool = ThreadPoolExecutor(1)
        self._over = False

    def __enter__(self) -> Watched:
        self._pool.submit(self._look)
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._pool.shutdown()

    def _look(self) -> None:
        while not self._over:
            for path in self._directory.glob("pytest-swe-compose-*"):
                for each in (path, path / "compose.json"):
                    with contextlib.suppress(OSError):
                        self.modes.add(each.stat().st_mode & 0o777)
            time.sleep(0.005)


def test_an_unhealthy_sidecar_is_named(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], engine: docker.APIClient, test_image: str
) -> None:
    labels = new_labels()
    text = SERVER.format(image=test_image).replace('"CMD", "python3"', '"CMD-SHELL", "echo not yet; false"')
    text = text.replace("retries: 60", "retries: 1")
    with pytest.raises(SandboxStartFailed, match="service side did not become healthy: not yet"):
        acquire_group(spec_of(compose_task(text)), labels)
    assert left(engine, labels) == []


def test_a_sidecar_that_ends_is_named(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], test_image: str
) -> None:
    text = f"services: {{side: {{image: {test_image}, command: ['sh', '-c', 'echo no config; exit 3']}}}}"
    with pytest.raises(SandboxStartFailed, match="service side ended with status 3: no config"):
        acquire_group(spec_of(compose_task(text)))


def test_a_start_has_its_time(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], engine: docker.APIClient, test_image: str
) -> None:
    labels = new_labels()
    text = SERVER.format(image=test_image).replace('"CMD", "python3"', '"CMD-SHELL", "false"')
    text = text.replace("retries: 60", "retries: 6000")
    with pytest.raises(SandboxStartFailed, match=r"in its time: .*service side did not become healthy"):
        acquire_group(spec_of(compose_task(text), build_seconds=12), labels)
    assert left(engine, labels) == []


def test_a_service_that_completes_is_waited_for(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], test_image: str
) -> None:
    text = (
        "services:\n"
        "  main: {depends_on: {fill: {condition: service_completed_successfully}}, volumes: ['data:/data']}\n"
        f"  fill: {{image: {test_image}, command: [sh, -c, 'sleep 1; echo full > /data/x'], volumes: ['data:/data']}}\n"
        "volumes: {data: {}}\n"
    )
    group = acquire_group(spec_of(compose_task(text)))
    assert group.main.read_file("/data/x") == b"full\n"


def test_sidecars_are_built_from_the_task_and_found_again(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], engine: docker.APIClient, test_image: str
) -> None:
    text = "services: {side: {build: {context: ./side, args: {WORD: '${WORD}'}}, volumes: ['./side:/task:ro']}}"
    dockerfile = f'FROM {test_image}\nARG WORD\nRUN echo $WORD > /word\nCMD ["sleep", "999"]\n'
    directory = compose_task(text, {"side/Dockerfile": dockerfile})
    group = acquire_group(spec_of(directory, variables={"WORD": "w1"}))
    side = group.services["side"]
    assert side.read_file("/word") == b"w1\n"
    assert side.read_file("/task/Dockerfile").decode() == dockerfile
    again = acquire_group(spec_of(directory, variables={"WORD": "w1"}))
    other = acquire_group(spec_of(directory, variables={"WORD": "w2"}))
    images = [engine.inspect_container(each.services["side"].id)["Image"] for each in (group, again, other)]
    assert images[0] == images[1] != images[2]


def test_a_sidecar_that_does_not_build(acquire_group: AcquireGroup, compose_task: Callable[..., Path]) -> None:
    directory = compose_task("services: {side: {build: side}}", {"side/Dockerfile": "FROM scratch\nRUN nothing\n"})
    with pytest.raises(ImageUnavailable, match="side/Dockerfile does not build"):
        acquire_group(spec_of(directory))


def test_a_missing_value_is_said_before_anything_and_preparing_needs_none(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], provider: DockerProvider, test_image: str
) -> None:
    spec = spec_of(compose_task(SERVER.format(image=test_image).replace("SHOWN:-unset", "LITELLM_API_KEY")))
    with pytest.raises(RowInvalid, match=r"LITELLM_API_KEY} has no value.*--swe-compose-var LITELLM_API_KEY="):
        acquire_group(spec)
    names = provider.prepare_group(spec)
    assert names == (test_image,)


def test_a_task_that_gives_main_a_server_of_its_own(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], test_image: str
) -> None:
    """As simulated users have it: an entrypoint taken away, a command that serves the repository, a health check."""
    text = """
services:
  main:
    entrypoint: []
    command: ["/bin/bash", "-lc", "python3 -m http.server 8765 --directory /app & sleep infinity"]
    healthcheck:
      test: ["CMD", "python3", "-c", "import socket; socket.create_connection(('localhost', 8765), 2).close()"]
      interval: 1s
      retries: 60
  user-server:
    image: IMAGE
    command: [sleep, infinity]
    expose: ["8000"]
""".replace("IMAGE", test_image)
    group = acquire_group(spec_of(compose_task(text)))
    group.main.write_file("/app/file", b"of main")
    ask = "import urllib.request as u; print(u.urlopen('http://main:8765/file', timeout=9).read())"
    user = group.services["user-server"]
    assert user.exec(["python3", "-c", ask], timeout=SOON).stdout == b"b'of main'\n"
    assert group.main.exec(["sh", "-c", "kill -9 -1; sleep 9"], timeout=SOON).exit_code is not None
    assert shell(group.main, "echo stands") == "stands\n"
