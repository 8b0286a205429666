"""One instance as a sandbox: commands through apptainer, files and process trees from the host."""

from __future__ import annotations

import contextlib
import os
import posixpath
import secrets
import subprocess
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import BinaryIO

from pytest_swe.errors import OutOfMemory, SandboxFileError, SandboxLost, SandboxStartFailed, Unsupported
from pytest_swe.model import ExecResult
from pytest_swe.sandbox.apptainer_instance import Instance
from pytest_swe.sandbox.apptainer_script import Identity, identity_of, refuse_env, refuse_text, script
from pytest_swe.sandbox.base import ROOT, ImageFacts, checked_argv
from pytest_swe.sandbox.host.failures import as_sandbox_errors
from pytest_swe.sandbox.host.processes import Command
from pytest_swe.sandbox.host.records import Records
from pytest_swe.sandbox.host.rooted import Rooted
from pytest_swe.sandbox.output import BoundedOutput

#: Seconds in which all processes must be dead after a time-out; then the sandbox is ended.
KILL_SECONDS = 10.0

#: Seconds in which an instance that runs nothing any more is gone, if it was ending.
LAST_MOMENTS = 2.0

#: File systems of the instance itself, not of its tree.
UNREACHABLE = ("/proc", "/sys", "/dev")

#: Exit statuses that a command also has when apptainer could not run it (255), or when the sandbox took it along.
SUSPECT = (137, 255)

#: A tmpfs of the instance's own: a full disk does not keep commands from being started.
_SCRIPTS = "/dev"


class ApptainerSandbox:
    """See `pytest_swe.sandbox.base.Sandbox`. Files are read and written with root's rights (a user: with its own)."""

    def __init__(self, instance: Instance, *, image: ImageFacts, records: Records) -> None:
        self.id = instance.name
        self.image = image
        self._instance = instance
        self._records = records
        self._lock = threading.Lock()
        self._closed = False
        self._switches: bool | None = None
        # Held while this object lives, so that a number used again is never taken for this sandbox.
        root = os.open(f"/proc/{instance.processes.pid}/root/.", os.O_RDONLY | os.O_DIRECTORY)
        weakref.finalize(self, os.close, root)
        self._files = Rooted(f"/proc/self/fd/{root}/.")
        self._files.make_directory(instance.spec.workdir)
        self.attach = self._write_entrance()

    def exec(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        stdin: bytes = b"",
        timeout: float,
    ) -> ExecResult:
        """Run a command; see the contract. A time-out kills every process of the sandbox but its first.

        A command that cannot be started is a result: exit status 126 or 127, the shell's words in stderr.
        """
        argv, cwd = checked_argv(argv), cwd or self._instance.spec.workdir
        refuse_text(*argv, cwd)
        refuse_env(env or {})
        self._standing()
        identity = self._identity(user or self._instance.spec.user)
        every = {**self._instance.spec.env, **(env or {})}
        text = script(argv, cwd=cwd, env=every, identity=identity, data_mb=self._instance.data_mb)
        begun = time.monotonic()
        with as_sandbox_errors(self.id), BoundedOutput() as out, BoundedOutput() as err:
            code, timed_out = self._run(text, stdin, timeout, out, err)
            return ExecResult(
                argv=argv,
                exit_code=code,
                stdout=out.value(),
                stderr=err.value(),
                seconds=time.monotonic() - begun,
                timed_out=timed_out,
                dropped=out.dropped,
            )

    def read_file(self, path: str) -> bytes:
        return self._reach(path).read(path)

    def write_file(self, path: str, data: bytes) -> None:
        self._reach(path).write(path, data)

    def upload(self, tar: BinaryIO, path: str) -> None:
        self._reach(path).unpack(tar, path)

    def download(self, path: str) -> bytes:
        return self._reach(path).pack(path)

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._records.remove(self.id)
        self._instance.processes.wait(KILL_SECONDS)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._instance.keeper.wait(KILL_SECONDS)

    def _run(
        self, text: bytes, stdin: bytes, timeout: float, out: BoundedOutput, err: BoundedOutput
    ) -> tuple[int | None, bool]:
        """Exit status (None at the time-out) and whether it timed out."""
        place = f"{_SCRIPTS}/.swe-{secrets.token_hex(8)}"
        # Nobody inside can put back afterwards what it could not read before.
        text = f"# {secrets.token_hex(16)}\n".encode() + text
        self._files.write(place, text, mode=0o600)
        instance, life = self._instance, max(0.1, self._instance.ends - time.monotonic())
        words = ["/bin/sh", place]
        arguments = instance.program.exec_arguments(instance.spec, name=self.id, parts=instance.parts, words=words)
        argv = [instance.program.path, *arguments]
        command = Command(argv, env=instance.program.environment(instance.home), cwd="/", life=life + KILL_SECONDS)
        end = command.communicate(stdin, min(timeout, life), out, err)
        if end.timed_out and not instance.processes.end_others(KILL_SECONDS):
            instance.processes.end()
        if end.exit_code in SUSPECT or end.exit_code is None:
            self._standing()
        if end.exit_code is None and not end.timed_out:
            raise SandboxLost(f"{self.id}: the command was killed from outside")
        left = self._left(place) if end.exit_code else b""
        if left != b"":
            # It would have emptied itself first: what failed is apptainer, mostly because the instance was just ending,
            # which takes the script's file system along before its first process is gone.
            self._instance.processes.wait(LAST_MOMENTS)
            self._standing()
        if left == text:
            raise SandboxStartFailed(f"{self.id}: apptainer did not run a command: {err.value()[-300:]!r}")
        self._files.remove(place)
        return end.exit_code, end.timed_out

    def _standing(self) -> None:
        """Raise SandboxLost or OutOfMemory when the sandbox is gone or just about to be."""
        if self._closed:
            raise SandboxLost(f"{self.id} is closed")
        if not self._instance.processes.is_over():
            if time.monotonic() < self._instance.ends:
                return
            raise SandboxLost(f"{self.id} is past its deadline of {self._instance.spec.seconds:g} s")
        if self._instance.out_of_memory:
            limit = self._instance.spec.memory_mb
            raise OutOfMemory(f"{self.id} was ended: its processes took more than {limit} MiB")
        raise SandboxLost(f"{self.id} has ended: its first process is gone")

    def _reach(self, path: str) -> Rooted:
        self._standing()
        normal = posixpath.normpath(path)
        if any(normal == tree or normal.startswith(tree + "/") for tree in UNREACHABLE):
            raise SandboxFileError(f"{path}: only a command can reach it", path=path)
        return self._files

    def _identity(self, user: str) -> Identity:
        """Whom ``user`` is. Raises Unsupported for one that a command here cannot be."""
        if user in ("", "root", "0"):
            return Identity()
        if not self._instance.program.is_root:
            raise Unsupported(f"provider apptainer cannot run commands as user {user!r}", hint="only root has users")
        passwd, group = (self._text(path) for path in ("/etc/passwd", "/etc/group"))
        found = identity_of(user, passwd, group)
        if found is None:
            raise Unsupported(f"user {user!r}: the image has no such user")
        if self._switches is None:
            probe = ["/bin/sh", "-c", "setpriv --reuid=0 --regid=0 --clear-groups -- true"]
            self._switches = self.exec(probe, cwd="/", user=ROOT, timeout=60).exit_code == 0
        if not self._switches:
            raise Unsupported(f"user {user!r}: the image has no setpriv (of util-linux) to become it")
        return found

    def _text(self, path: str) -> str:
        return (self._left(path) or b"").decode("utf-8", "surrogateescape")

    def _left(self, path: str) -> bytes | None:
        """What a file holds; None where there is none."""
        try:
            return self._files.read(path)
        except SandboxFileError:
            return None

    def _write_entrance(self) -> tuple[str, ...]:
        """The command that opens a shell as commands see it; what it must not show stands in a file inside."""
        instance, place = self._instance, f"{_SCRIPTS}/.swe-enter"
        shell = ("/bin/sh", "-c", "command -v bash >/dev/null && exec bash --norc || exec sh")
        env = {**instance.spec.env, "TERM": "xterm", "PS1": r"(sandbox) \w\$ "}
        text = script(shell, cwd=instance.spec.workdir, env=env, identity=Identity())
        self._files.write(place, text.replace(b': > "$0"\n', b"", 1), mode=0o600)
        arguments = instance.program.exec_arguments(
            instance.spec, name=self.id, parts=instance.parts, words=("/bin/sh", place)
        )
        return ("env", f"APPTAINER_CONFIGDIR={instance.home}", instance.program.path, *arguments)
