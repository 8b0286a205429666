"""Docker engines of a test's own, beside the one that the other tests share: to stop, to kill, to reach over a network.

They need root and dockerd. Each has its own socket, data and bridge; the shared engine's bridge stays as it is.
"""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import docker

#: What `Daemon.load` makes: busybox, and a work directory.
TINY = "pytest-swe/tiny:1"

#: Seconds for an engine to start or to stop, on a loaded machine.
PATIENCE = 60


class Daemon:
    """One engine. ``options``: further arguments of dockerd."""

    def __init__(self, options: Sequence[str] = ()) -> None:
        # Not below pytest's own directory: it walks through what earlier runs left there, mounts and all.
        self.directory = Path(tempfile.mkdtemp(prefix="swe-engine-"))
        self.address = f"unix://{self.directory}/s"
        self._options = list(options)
        self._bridge = f"swe{secrets.token_hex(4)}"
        self._process: subprocess.Popen[bytes] | None = None
        net = f"10.{200 + secrets.randbelow(50)}.{secrets.randbelow(250)}.1/24"
        _run("ip", "link", "add", "name", self._bridge, "type", "bridge")
        _run("ip", "address", "add", net, "dev", self._bridge)
        _run("ip", "link", "set", self._bridge, "up")

    def start(self) -> None:
        where = self.directory
        # Never --bridge=none: it removes docker0, which is another engine's.
        own = [f"--data-root={where}/data", f"--exec-root={where}/exec", f"--pidfile={where}/pid"]
        own += [f"--host={self.address}", f"--bridge={self._bridge}"]
        quiet = ["--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"]
        with (where / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["dockerd", *own, *quiet, *self._options], stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            assert self._process.poll() is None, (where / "log").read_text()[-2000:]
            assert time.monotonic() < deadline, (where / "log").read_text()[-2000:]
            time.sleep(0.1)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """SIGTERM: it stops its containers first. SIGKILL: they live on, and it takes care of them when it is back."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE)
            self._process = None
            # Its containerd dies with it, but may stay as a zombie, which the next one would wait for in vain.
            (self.directory / "exec/containerd/containerd.pid").unlink(missing_ok=True)

    def close(self) -> None:
        self.stop()
        subprocess.run(["ip", "link", "delete", self._bridge], capture_output=True)
        for mount in reversed(Path("/proc/mounts").read_text().splitlines()):
            place = mount.split()[1]
            if place.startswith(f"{self.directory}/"):  # of containers that a killed engine left
                subprocess.run(["umount", "--lazy", place], capture_output=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    @contextlib.contextmanager
    def client(self) -> Iterator[docker.APIClient]:
        """The engine itself, behind a provider's back."""
        client = docker.APIClient(self.address)
        try:
            yield client
        finally:
            client.close()

    def load(self, image: str = TINY, programs: Sequence[str] = ()) -> None:
        """Make an image of busybox, and of these programs of this host, under this name."""
        name, _, tag = image.rpartition(":")
        with self.client() as client:
            client.import_image_from_data(busybox_image(programs), repository=name, tag=tag)

    def containers(self) -> int:
        with self.client() as client:
            return len(client.containers(all=True))

    def _answers(self) -> bool:
        command = ["docker", "-H", self.address, "version"]
        return subprocess.run(command, capture_output=True, timeout=PATIENCE).returncode == 0


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def busybox_image(programs: Sequence[str] = ()) -> bytes:
    """The layer of an image: busybox, a work directory, and programs of this host with the libraries that they load."""
    program = shutil.which("busybox")
    assert program is not None, "busybox-static is missing"
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, mode in (("bin", 0o755), ("etc", 0o755), ("root", 0o700), ("tmp", 0o1777), ("testbed", 0o777)):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, mode
            tar.addfile(folder)
        tar.add(program, "bin/busybox")
        for path in _with_libraries(programs):
            tar.add(os.path.realpath(path), path.lstrip("/"))
        for applet in set(listed) - {"busybox", *programs}:
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
        users = b"root:x:0:0:root:/root:/bin/sh\n"
        passwd = tarfile.TarInfo("etc/passwd")
        passwd.size = len(users)
        tar.addfile(passwd, io.BytesIO(users))
    return out.getvalue()


def _with_libraries(programs: Sequence[str]) -> list[str]:
    found: dict[str, None] = {}
    for program in programs:
        path = shutil.which(program)
        assert path is not None, f"{program} is missing"
        found[f"/bin/{program}"] = None
        words = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout.split()
        found |= dict.fromkeys(word for word in words if word.startswith("/"))
    return list(found)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
