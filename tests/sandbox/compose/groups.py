"""Compose files and their specs, and what an engine has of a group."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import docker

from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.group import Group, GroupSpec

AcquireGroup = Callable[..., Group]

LONG = "services: {{main: {{command: sleep 9999}}, side: {{image: {image}, command: sleep 9999}}}}"

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


def spec_of(directory: Path, *, network: str = "none", seconds: float = 600, **fields: object) -> GroupSpec:
    main = SandboxSpec(image=TEST_IMAGE, workdir="", user="", seconds=seconds, cpus=1, memory_mb=512)
    main = dataclasses.replace(main, network=network)  # type: ignore[arg-type]
    made = GroupSpec(main=main, directory=directory, compose=directory / "docker-compose.yaml", build_seconds=300)
    return dataclasses.replace(made, **fields)  # type: ignore[arg-type]


def left(engine: docker.APIClient, labels: Mapping[str, str]) -> list[str]:
    """Names of all that an engine has with these labels."""
    mine = {"label": [f"pytest-swe.run={labels['run']}"]}  # of several, Podman finds volumes that have any
    containers = [each["Id"] for each in engine.containers(all=True, filters=mine)]
    networks = [each["Id"] for each in engine.networks(filters=mine)]
    volumes = [each["Name"] for each in engine.volumes(filters=mine)["Volumes"] or []]
    return [*containers, *networks, *volumes]


@dataclasses.dataclass(frozen=True)
class Standing:
    """A group that several tests look at, and its labels."""

    group: Group
    labels: Mapping[str, str]
