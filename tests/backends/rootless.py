"""Rootless engines of a test's own: Docker and Podman as an ordinary user, whoever runs the tests.

Root lends a readable /dev/net/tun in a mount namespace of the engine's, and becomes a user with subordinate ids.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import docker
from daemons import PATIENCE, TINY, busybox_image
from rootless_users import docker_script, ordinary_user

#: What engines of ours are called in their directory; short, for a socket's name has 107 bytes.
SOCKET = "s"

# The host's own device may be root's alone, and slirp4netns opens it as the user.
_LEND_TUN = "mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200; exec "


class RootlessEngine:
    """One engine in a directory that is its user's. ``address``: its socket."""

    def __init__(self) -> None:
        user = ordinary_user()
        assert user is not None
        self.user = user
        # Not below pytest's own directory, which is root's alone.
        self.directory = Path(tempfile.mkdtemp(prefix="swe-rootless-"))
        self.address = f"unix://{self.directory}/{SOCKET}"
        for name in ("", "home", "run"):
            (self.directory / name).mkdir(mode=0o700, exist_ok=True)
            os.chown(self.directory / name, user.pw_uid, user.pw_gid)
        self._process: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        """What starts it, as its user."""
        raise NotImplementedError

    def environment(self) -> Mapping[str, str]:
        """Variables beside those that every process of this user has."""
        return {}

    def start(self) -> None:
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._as_user(self.command()), cwd=self.directory, env=self._variables(), stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            assert self._process.poll() is None, self._said()
            assert time.monotonic() < deadline, self._said()
            time.sleep(0.1)

    def close(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(PATIENCE)
        if os.geteuid() == 0:
            shutil.rmtree(self.directory, ignore_errors=True)
        else:  # what is in it belongs to subordinate ids
            subprocess.run(["rootlesskit", "rm", "-rf", self.directory], capture_output=True)

    @contextlib.contextmanager
    def client(self) -> Iterator[docker.APIClient]:
        """The engine itself, behind a provider's back."""
        client = docker.APIClient(self.address, timeout=PATIENCE)
        try:
            yield client
        finally:
            client.close()

    def load(self) -> None:
        """Make `TINY`. Podman names what it imports ``latest``, whatever it was asked for."""
        name, _, tag = TINY.rpartition(":")
        with self.client() as client:
            client.import_image_from_data(busybox_image(), repository=name, tag="latest")
            client.tag(f"{name}:latest", name, tag)

    def _as_user(self, command: Sequence[str]) -> list[str]:
        if os.geteuid():
            return list(command)
        become = [f"--reuid={self.user.pw_uid}", f"--regid={self.user.pw_gid}", "--init-groups", "--inh-caps=-all"]
        lend = ["unshare", "--mount", "--propagation", "slave", "sh", "-c", f'{_LEND_TUN}"$@"', "sh"]
        return [*lend, "setpriv", *become, *command]

    def _variables(self) -> dict[str, str]:
        home, run = f"{self.directory}/home", f"{self.directory}/run"
        path = f"/usr/sbin:/sbin:{os.environ['PATH']}"
        return {"PATH": path, "HOME": home, "XDG_RUNTIME_DIR": run, **self.environment()}

    def _answers(self) -> bool:
        command = ["docker", "-H", self.address, "version"]
        return subprocess.run(command, capture_output=True, timeout=PATIENCE).returncode == 0

    def _said(self) -> str:
        return (self.directory / "log").read_text(errors="replace")[-2000:]


class RootlessDocker(RootlessEngine):
    """The Docker engine, by its own script for that."""

    def command(self) -> list[str]:
        script, where = docker_script(), self.directory
        assert script is not None
        own = [f"--data-root={where}/data", f"--exec-root={where}/exec", f"--pidfile={where}/pid"]
        return ["sh", script, *own, f"--host={self.address}"]


class RootlessPodman(RootlessEngine):
    """Podman's service. Its configuration is as in ``.ci/podman.sh``, and for the same reasons."""

    def command(self) -> list[str]:
        where = self.directory
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        processes = min(32768, resource.getrlimit(resource.RLIMIT_NPROC)[1] % (1 << 63))
        limits = f'default_ulimits = ["nofile={files}:{files}", "nproc={processes}:{processes}"]'
        engine = ['runtime = "runc"', 'cgroup_manager = "cgroupfs"', 'events_logger = "file"', "exit_command_delay = 1"]
        storage = ['driver = "overlay"', f'graphroot = "{where}/storage"', f'runroot = "{where}/run/storage"']
        (where / "containers.conf").write_text("\n".join(["[containers]", limits, "[engine]", *engine, ""]))
        (where / "storage.conf").write_text("\n".join(["[storage]", *storage, ""]))
        return ["podman", "system", "service", "--time=0", self.address]

    def environment(self) -> Mapping[str, str]:
        where = self.directory
        return {"CONTAINERS_CONF": f"{where}/containers.conf", "CONTAINERS_STORAGE_CONF": f"{where}/storage.conf"}

    def close(self) -> None:
        """Also what it leaves: the process that holds its namespaces, and at times its own child."""
        held = [int(found.read_text()) for found in (self.directory / "run").rglob("pause.pid")]
        super().close()
        with contextlib.suppress(ProcessLookupError):
            if self._process is not None:
                os.killpg(self._process.pid, signal.SIGKILL)
        for pid in held:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
