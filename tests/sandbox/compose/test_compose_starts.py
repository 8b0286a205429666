"""What a group needs to stand: its values, its sidecars, its time."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docker
import pytest

from pytest_swe.errors import Cancelled, ImageUnavailable, RowInvalid, SandboxStartFailed
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.testing.conformance.fixtures import SOON, new_labels, shell

from .groups import SERVER, AcquireGroup, left, spec_of

pytestmark = pytest.mark.compose


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
    assert watched.seen == set()
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
    """Looks at what there is in a directory, again and again, and keeps the names that it saw."""

    def __init__(self, directory: Path) -> None:
        self.seen: set[str] = set()
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
            self.seen |= {path.name for path in self._directory.iterdir()}
            time.sleep(0.005)


def test_a_start_that_nobody_waits_for_any_more_is_ended(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], engine: docker.APIClient, test_image: str
) -> None:
    labels, over = new_labels(), threading.Event()
    never = SERVER.format(image=test_image).replace('"CMD", "python3"', '"CMD-SHELL", "false"')
    spec = spec_of(compose_task(never.replace("retries: 60", "retries: 6000")), stopped=over.is_set)
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(acquire_group, spec, labels)
        while len(left(engine, labels)) < 3:
            assert not starting.done()
            time.sleep(0.1)
        over.set()
        with pytest.raises(Cancelled):
            starting.result()
    assert left(engine, labels) == []


def test_an_unhealthy_sidecar_is_named(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], engine: docker.APIClient, test_image: str
) -> None:
    labels = new_labels()
    text = SERVER.format(image=test_image).replace('"CMD", "python3"', '"CMD-SHELL", "echo not yet; false"')
    text = text.replace("retries: 60", "retries: 1")
    with pytest.raises(SandboxStartFailed, match="service side did not become healthy: not yet"):
        acquire_group(spec_of(compose_task(text)), labels)
    assert left(engine, labels) == []


def test_an_unhealthy_sidecar_whose_check_prints_nothing_is_named_with_its_own_last_words(
    acquire_group: AcquireGroup, compose_task: Callable[..., Path], test_image: str
) -> None:
    check = "{test: 'false', interval: 1s, retries: 1}"
    side = f"{{image: {test_image}, command: [sh, -c, 'echo no config; exec sleep 999'], healthcheck: {check}}}"
    with pytest.raises(SandboxStartFailed, match="service side did not become healthy: no config"):
        acquire_group(spec_of(compose_task(f"services: {{side: {side}}}")))


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
