"""A task's compose file is hostile: what it may not have is refused by name, in every service, before any starts."""

from __future__ import annotations

import time
from pathlib import Path

import docker
import pytest

from pytest_swe.errors import RowInvalid, SweError, Unsupported
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.compose.plan import plan_of
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.group import GroupSpec
from pytest_swe.testing.conformance.fixtures import new_labels

from .conftest import WriteTask

#: Of a sidecar: of main the spec's own limit holds.
MEMORY = "mem_limit: 3g"

#: What a service asks for, and the words of the refusal.
HOSTILE = {
    "privileged: true": "privileged",
    "network_mode: host": "network_mode",
    "network_mode: bridge": "network_mode",
    "network_mode: 'container:other'": "network_mode",
    "pid: host": "pid",
    "ipc: host": "ipc",
    "uts: host": "uts",
    "userns_mode: host": "userns_mode",
    "cgroup: host": "cgroup",
    "cgroup_parent: /": "cgroup_parent",
    "devices: ['/dev/sda:/dev/sda']": "devices",
    "device_cgroup_rules: ['a *:* rwm']": "device_cgroup_rules",
    "gpus: all": "gpus",
    "deploy: {resources: {reservations: {devices: [{capabilities: [gpu]}]}}}": "deploy",
    "volumes: ['/var/run/docker.sock:/var/run/docker.sock']": "volumes.0",
    "volumes: ['/:/host:ro']": "volumes.0",
    "volumes: ['../:/host:ro']": "volumes.0",
    "volumes: ['~/.ssh:/k:ro']": "volumes.0",
    "volumes: ['./way/out:/host:ro']": "volumes.0",
    "volumes: ['./side:/side']": "read-only",
    "volumes: [{type: bind, source: /etc, target: /e, read_only: true}]": "volumes.0",
    "volumes: [{type: bind, source: ./side, target: /e, read_only: true, bind: {propagation: shared}}]": "propagation",
    "volumes: [{type: npipe, source: x, target: /e}]": "npipe",
    "use_api_socket: true": "use_api_socket",
    "volumes_from: ['container:other']": "volumes_from",
    "extra_hosts: ['host:host-gateway']": "extra_hosts",
    "dns: [8.8.8.8]": "dns",
    "cap_add: [SYS_ADMIN]": "SYS_ADMIN",
    "cap_add: [ALL]": "ALL",
    "cap_add: [cap_net_raw]": "NET_RAW",
    "security_opt: ['seccomp=unconfined']": "security_opt",
    "security_opt: ['apparmor:unconfined']": "security_opt",
    "sysctls: {kernel.msgmax: 1}": "sysctls",
    "ulimits: {memlock: 9}": "memlock",
    "ulimits: {nofile: {soft: 1, hard: 99999999}}": "nofile",
    "runtime: other": "runtime",
    "ports: ['8000:8000']": "ports",
    "container_name: mine": "container_name",
    "restart: always": "restart",
    "pull_policy: always": "pull_policy",
    "logging: {driver: syslog}": "logging",
    "provider: {type: x}": "provider",
    "develop: {watch: []}": "develop",
    "post_start: [{command: x, privileged: true}]": "post_start",
    "extends: {file: /etc/passwd, service: x}": "extends",
    "env_file: /etc/passwd": "env_file.0",
    "env_file: [{path: ../../x}]": "env_file.0",
    "label_file: /etc/passwd": "label_file",
    "oom_score_adj: -1000": "oom_score_adj",
    "oom_kill_disable: true": "oom_kill_disable",
    "build: /": "build.context",
    "build: ..": "build.context",
    "build: way/out": "build.context",
    "build: 'https://example.org/x.git'": "build.context",
    "build: {context: side, dockerfile: ../../Dockerfile}": "build.dockerfile",
    "build: {context: side, dockerfile: outwards}": "build.dockerfile",
    "build: {context: side, additional_contexts: {x: /}}": "additional_contexts",
    "build: {context: side, ssh: [default]}": "build.ssh",
    "build: {context: side, secrets: [x]}": "build.secrets",
    "build: {context: side, network: host}": "build.network",
    "build: {context: side, entitlements: [security.insecure]}": "build.entitlements",
    "build: {context: side, privileged: true}": "build.privileged",
    "build: {context: side, cache_to: ['type=local,dest=/x']}": "cache_to",
    "storage_opt: {size: 1g}": "storage_opt",
    MEMORY: "mem_limit",
    "networks: {default: {ipv4_address: 10.0.0.1}}": "ipv4_address",
    "command: '${KEY}'": "KEY is a secret",
    "labels: {a: '${KEY}'}": "KEY is a secret",
    "build: {context: side, args: {A: '${KEY}'}}": "KEY is a secret",
    "build: {context: side, args: [KEY]}": "KEY is a secret",
}

#: The same, at the top of the file.
HOSTILE_FILES = {
    "include: [other.yaml]": "include",
    "networks: {x: {external: true}}": "external",
    "networks: {x: {driver: host}}": "driver",
    "networks: {x: {driver: macvlan, driver_opts: {parent: eth0}}}": "driver",
    "networks: {x: {name: bridge}}": "name",
    "volumes: {x: {external: true}}": "external",
    "volumes: {x: {driver_opts: {type: none, o: bind, device: /}}}": "driver_opts",
    "volumes: {x: {name: others}}": "name",
    "volumes: {x: {driver: rclone}}": "driver",
    "configs: {x: {file: /etc/passwd}}": "file",
    "configs: {x: {file: way/out/x}}": "file",
    "secrets: {x: {file: ../x}}": "file",
    "secrets: {x: {environment: PATH}}": "environment",
    "secrets: {x: {external: true}}": "external",
}

#: What no reader of compose files takes, or what would unfold to more than fits.
BROKEN = {
    "services: {main: {nonsense_key: 1}}": "unknown key",
    "services: {main: {enviroment: {A: b}}}": "did you mean environment",
    "services: [main]": "expected a mapping",
    "services: {main: {image: a, image: b}}": "is there twice",
    "services: {main: {image: !!python/name:os.system x}}": "not YAML",
    "services: {main: [": "not YAML",
    "services: {main: {command: 'a ${UNKNOWN}'}}": "UNKNOWN} has no value",
    "services: {main: {command: 'a ${KEY'}}": "secret|not closed",
    "services: {main: {command: 'a $ b'}}": "dollar",
    "services: {main: {depends_on: [ghost]}}": "no service ghost",
    "services: {'../x': {image: a}}": "a name is of",
    "services: {side: {}}": "neither image nor build",
    "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
    "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\nx-e: [*d,*d,*d,*d]\nservices: {}": "too many values",
    "x-a: &a {b: *a}\nservices: {}": "too many values|not YAML",
    "- a": "expected a mapping",
}


@pytest.fixture
def write(task: WriteTask, tmp_path: Path) -> WriteTask:
    """A task with a sidecar's directory, and links that lead out of it."""
    (tmp_path / "x").write_text("outside")
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")

    def written(files: dict[str, str]) -> Path:
        root = task({"Dockerfile": "FROM scratch\n", "side/Dockerfile": "FROM scratch\n", **files})
        (root / "way").mkdir()
        (root / "way" / "out").symlink_to(tmp_path)
        (root / "side" / "outwards").symlink_to(tmp_path / "Dockerfile")
        return root

    return written  # type: ignore[return-value]


def spec_of(directory: Path) -> GroupSpec:
    return GroupSpec(
        main=SandboxSpec(image="", workdir="", user=""),
        directory=directory,
        compose=directory / "docker-compose.yaml",
        variables={"KEY": "the-value"},
        secrets=frozenset({"KEY"}),
    )


def refusal(directory: Path) -> SweError:
    with pytest.raises((Unsupported, RowInvalid)) as found:
        plan_of(spec_of(directory))
    assert "the-value" not in str(found.value)
    return found.value


@pytest.mark.parametrize(
    ("service", "asked"),
    [(service, asked) for service in ("main", "side") for asked in HOSTILE if (service, asked) != ("main", MEMORY)],
)
def test_what_reaches_out_is_refused_in_every_service(write: WriteTask, service: str, asked: str) -> None:
    base = "" if asked.startswith("build") else "image: x, "
    text = f"services: {{{service}: {{{base}{asked}}}}}"
    error = refusal(write({"docker-compose.yaml": text}))
    assert service in str(error)
    assert HOSTILE[asked] in str(error)


@pytest.mark.parametrize("asked", HOSTILE_FILES)
def test_what_reaches_out_is_refused_at_the_top(write: WriteTask, asked: str) -> None:
    error = refusal(write({"docker-compose.yaml": f"services: {{main: {{}}}}\n{asked}\n"}))
    assert isinstance(error, Unsupported)
    assert HOSTILE_FILES[asked] in str(error)


@pytest.mark.parametrize("text", BROKEN)
def test_what_cannot_be_understood_is_said_in_one_line(write: WriteTask, text: str) -> None:
    error = refusal(write({"docker-compose.yaml": text}))
    assert any(words in str(error) for words in BROKEN[text].split("|")), str(error)
    assert "\n" not in str(error)


def test_an_anchor_hides_nothing(write: WriteTask) -> None:
    text = "x-base: &base {privileged: true}\nservices:\n  side: {<<: *base, image: x}\n"
    assert "service side: privileged is refused" in str(refusal(write({"docker-compose.yaml": text})))


@pytest.mark.compose
def test_a_hostile_file_starts_and_builds_nothing(
    write: WriteTask, provider: DockerProvider, engine: docker.APIClient, test_image: str
) -> None:
    """A sandbox at the end shows that its events would have been seen."""
    begin = int(time.time()) - 1
    labels = new_labels()
    hostile = [asked for asked in HOSTILE if not asked.startswith(("build", "mem_limit"))]
    for asked in hostile:
        text = f"services:\n  good: {{build: side}}\n  main: {{depends_on: [good]}}\n  bad: {{image: x, {asked}}}\n"
        with pytest.raises(Unsupported):
            provider.acquire_group(spec_of(write({"docker-compose.yaml": text})), labels=labels)
    mine = {"label": [f"pytest-swe.run={labels['run']}"]}  # of several, Podman tells of whatever has any
    assert actions(engine, mine, begin) == []
    assert engine.containers(all=True, filters=mine) == []
    assert engine.networks(filters=mine) == []
    assert engine.volumes(filters=mine)["Volumes"] in (None, [])
    provider.acquire(SandboxSpec(image=test_image), labels=labels).close()
    assert {"create", "start"} <= set(actions(engine, mine, begin))


def actions(engine: docker.APIClient, filters: dict[str, list[str]], begin: int) -> list[str]:
    """What the engine did since ``begin`` with things of these labels."""
    events = engine.events(since=begin, until=int(time.time()) + 1, filters=filters, decode=True)
    return [event["Action"] for event in events]
