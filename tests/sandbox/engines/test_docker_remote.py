"""Engines over a network: TLS with certificates of both sides, and ssh through a real sshd; the contract holds there.

All that a connection can change of it is tried over TLS, and over ssh (slower) what its two directions matter to.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemons import PATIENCE, TINY, Daemon, free_port

from pytest_swe.errors import EngineUnavailable
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.testing.conformance.commands import *  # noqa: F403
from pytest_swe.testing.conformance.files import *  # noqa: F403
from pytest_swe.testing.conformance.fixtures import acquire as acquire
from pytest_swe.testing.conformance.fixtures import at as at
from pytest_swe.testing.conformance.fixtures import isolated as isolated
from pytest_swe.testing.conformance.fixtures import sandbox as sandbox
from pytest_swe.testing.conformance.timeouts import *  # noqa: F403

pytestmark = [pytest.mark.dockerd, pytest.mark.sshd]


def run(*command: object) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("remote")


@pytest.fixture(scope="module")
def certificates(place: Path) -> Path:
    """ca.pem, and cert.pem and key.pem of both a server at 127.0.0.1 and a client."""
    made = place / "certificates"
    made.mkdir()
    key = ("-newkey", "rsa:2048", "-nodes", "-days", 2)
    run("openssl", "req", "-x509", *key, "-keyout", made / "ca-key.pem", "-out", made / "ca.pem", "-subj", "/CN=ca")
    (made / "about").write_text("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n")
    run("openssl", "req", *key[:3], "-keyout", made / "key.pem", "-out", made / "asked", "-subj", "/CN=both")
    signed = ("-CA", made / "ca.pem", "-CAkey", made / "ca-key.pem", "-CAcreateserial", "-days", 2)
    run(
        "openssl", "x509", "-req", "-in", made / "asked", *signed, "-extfile", made / "about", "-out", made / "cert.pem"
    )
    return made


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def daemon(certificates: Path, port: int) -> Iterator[Daemon]:
    files = ("cacert", "ca"), ("cert", "cert"), ("key", "key")
    tls = [f"--tls{option}={certificates}/{name}.pem" for option, name in files]
    made = Daemon([f"--host=tcp://127.0.0.1:{port}", "--tlsverify", *tls])
    try:
        made.start()
        made.load()
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def ssh_host(place: Path) -> Iterator[str]:
    """A name for this host that ``ssh`` on PATH finds, through a sshd of the test's own."""
    keys, port = place / "ssh", free_port()
    keys.mkdir()
    for name in ("host", "user"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / name)
    server = [f"Port {port}", "ListenAddress 127.0.0.1", f"HostKey {keys}/host", f"PidFile {keys}/pid"]
    server += [f"AuthorizedKeysFile {keys}/user.pub", "StrictModes no", "UsePAM no"]
    (keys / "server").write_text("\n".join(server) + "\n")
    client = ["Host swe-engine", "HostName 127.0.0.1", f"Port {port}", f"IdentityFile {keys}/user", "LogLevel ERROR"]
    client += [f"UserKnownHostsFile {keys}/known", "StrictHostKeyChecking accept-new"]
    (keys / "client").write_text("\n".join(client) + "\n")
    program = keys / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {keys}/client "$@"\n')
    program.chmod(0o755)
    Path("/run/sshd").mkdir(exist_ok=True)
    with subprocess.Popen([str(shutil.which("sshd")), "-D", "-e", "-f", str(keys / "server")]) as sshd:
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
            deadline = time.monotonic() + PATIENCE
            while subprocess.run(["ssh", "swe-engine", "true"], capture_output=True).returncode:
                assert time.monotonic() < deadline
                time.sleep(0.1)
            yield "swe-engine"
        sshd.terminate()


@pytest.fixture(scope="module")
def context(place: Path, certificates: Path, port: int, daemon: Daemon) -> Iterator[str]:
    """A Docker context with certificates, as ``docker context create`` leaves it."""
    digest = hashlib.sha256(b"far").hexdigest()
    meta, tls = place / "config/contexts/meta" / digest, place / "config/contexts/tls" / digest / "docker"
    for folder in (meta, tls):
        folder.mkdir(parents=True)
    where = {"Host": f"tcp://127.0.0.1:{port}", "SkipTLSVerify": False}
    (meta / "meta.json").write_text(json.dumps({"Name": "far", "Metadata": {}, "Endpoints": {"docker": where}}))
    for name in ("ca", "cert", "key"):
        shutil.copy(certificates / f"{name}.pem", tls)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("DOCKER_CONFIG", str(place / "config"))
        yield "far"


BY_SSH = (
    "test_exit_code_is_a_result",
    "test_streams_merged_inside_keep_their_order",
    "test_stdin_arrives_whole_and_ends",
    "test_a_command_need_not_read_its_stdin",
    "test_secrets_are_on_no_command_line_of_the_host",
    "test_a_large_file_comes_back_as_it_went",
    "test_commands_run_at_once_in_one_sandbox",
    "test_time_out_",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "provider" in metafunc.fixturenames:
        ways = ["tls", "ssh"] if metafunc.function.__name__.startswith(BY_SSH) else ["tls"]
        metafunc.parametrize("provider", ways, indirect=True, scope="module")


@pytest.fixture(scope="module")
def provider(request: pytest.FixtureRequest, daemon: Daemon) -> Iterator[DockerProvider]:
    if request.param == "tls":
        made = DockerProvider(host=request.getfixturevalue("context"), pull=False)
    else:
        made = DockerProvider(host=f"ssh://{request.getfixturevalue('ssh_host')}{daemon.directory}/s", pull=False)
    yield made
    made.close()


@pytest.fixture(scope="module")
def sandbox_spec() -> SandboxSpec:
    return SandboxSpec(image=TINY, seconds=900)


def test_the_docker_command_reads_the_context_too(context: str, sandbox_spec: SandboxSpec) -> None:
    """What is printed for people enters the sandbox."""
    provider = DockerProvider(host=context, pull=False)
    with contextlib.closing(provider.acquire(sandbox_spec, labels={"run": "attach"})) as made:
        assert made.attach[:3] == ("docker", "--context", context)
        command = [word.replace("-it", "-i").replace("bash", "sh") for word in made.attach]
        done = subprocess.run(command, input=b"echo inside", capture_output=True, timeout=PATIENCE, check=True)
        assert done.stdout == b"inside\n"
    provider.close()


def test_the_current_context_and_the_environment(
    context: str, port: int, certificates: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    (place / "config/config.json").write_text(json.dumps({"currentContext": context}))
    assert reached() == f"tcp://127.0.0.1:{port}"
    (place / "config/config.json").unlink()
    monkeypatch.setenv("DOCKER_CONTEXT", context)
    assert reached() == f"tcp://127.0.0.1:{port}"
    monkeypatch.delenv("DOCKER_CONTEXT")
    for name, value in {"HOST": f"tcp://127.0.0.1:{port}", "TLS_VERIFY": "1", "CERT_PATH": str(certificates)}.items():
        monkeypatch.setenv(f"DOCKER_{name}", value)
    assert reached() == f"tcp://127.0.0.1:{port}"


def reached() -> str:
    provider = DockerProvider()
    assert provider.check()
    address = provider._pool.links[0].engine().endpoint.address
    provider.close()
    return address


def test_a_stranger_is_not_let_in(
    port: int, daemon: Daemon, certificates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No certificate of ours, and a server that we do not know: one line each."""
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path))
    provider = DockerProvider(host=f"tcp://127.0.0.1:{port}")
    with pytest.raises(EngineUnavailable, match="certificate verify failed"):
        provider.check()
    shutil.copy(certificates / "ca.pem", tmp_path)
    with pytest.raises(EngineUnavailable) as raised:
        provider.check()
    assert "certificate" in str(raised.value)
    assert "\n" not in str(raised.value)
    provider.close()


def test_ssh_that_does_not_get_through_says_why(ssh_host: str, tmp_path: Path) -> None:
    provider = DockerProvider(host=f"ssh://{ssh_host}{tmp_path}/no.sock")
    with pytest.raises(EngineUnavailable, match=r"no\.sock"):
        provider.check()
    provider.close()
    provider = DockerProvider(host="ssh://127.0.0.1:9")
    with pytest.raises(EngineUnavailable, match="refused"):
        provider.check()
    provider.close()


def test_nothing_of_ssh_is_left(ssh_host: str, daemon: Daemon, sandbox_spec: SandboxSpec) -> None:
    provider = DockerProvider(host=f"ssh://{ssh_host}{daemon.directory}/s", pull=False)
    made = provider.acquire(dataclasses.replace(sandbox_spec), labels={"run": "ssh"})
    assert made.exec(["cat"], stdin=b"x", timeout=PATIENCE).stdout == b"x"
    made.close()
    dialler = provider._pool.links[0].engine()._api._dialler  # type: ignore[attr-defined]
    ssh = dialler.close.__self__
    assert ssh._processes
    provider.close()
    assert not ssh._processes
