"""One container as a sandbox: commands and files, and whether it is over; `docker_causes` says why."""

from __future__ import annotations

import io
import posixpath
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import IO, BinaryIO

from pytest_swe.errors import SandboxFileError
from pytest_swe.model import ExecResult
from pytest_swe.sandbox import archive, docker_traces
from pytest_swe.sandbox.base import Change, ImageFacts, checked_argv
from pytest_swe.sandbox.docker_answers import NotStarted, Refused
from pytest_swe.sandbox.docker_causes import KILLED, reaching, standing
from pytest_swe.sandbox.docker_config import checked_env, checked_text
from pytest_swe.sandbox.docker_engine import Engine
from pytest_swe.sandbox.docker_stream import Demultiplexer, pump
from pytest_swe.sandbox.output import BoundedOutput

#: Seconds, and tries, in which a process tree must be dead after its time-out; then the container is killed.
#: At its pids limit a container took three seconds to let the killer in.
KILL_SECONDS = 10.0
KILL_TRIES = 3

#: Seconds to go on reading after the kill: the engine holds a closed stream open for two.
LINGER = 5.0

#: Bytes of one file or archive that are read out; a candidate decides how large they are.
FILE_LIMIT = 512 * 1024 * 1024

#: File systems of the running container that the engine's file calls do not see: they would go elsewhere.
UNREACHABLE = ("/proc", "/sys", "/dev")

#: The exit status of a command that the engine cannot start.
CANNOT_START = 126

#: Exit statuses that the engine gives to a command of a sandbox which is dying, killed or not even started:
#: "cannot exec in a stopped container", "error executing setns process" and more came with 126.
SUSPECT = (125, CANNOT_START, 127, 128, KILLED)

#: Seconds for a small command in a sandbox that may be dying; on a crowded host the start of one takes several.
LOOK_SECONDS = 20

#: Prints the cgroup's counter of processes that the kernel killed for memory, by cgroup v2 or v1; it is mounted
#: read-only. What root inside may put in place of this shell can harm nobody but itself.
OOM_KILLS = "cat /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control 2>/dev/null; :"


class DockerSandbox:
    """See `pytest_swe.sandbox.base.Sandbox`. Files are read and written with the rights of root."""

    def __init__(self, engine: Engine, container: str, *, user: str, workdir: str, attach: tuple[str, ...]) -> None:
        self.id = container
        self.attach = attach
        self.image = ImageFacts()
        self._engine = engine
        self._outages = engine.outages
        self._oom_kills = 0
        self._user = user
        self._workdir = workdir

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

        A command that the engine cannot start (not found, no such user or directory) is a result: exit status 126,
        the engine's words in stdout.
        """
        command = checked_argv(argv)
        cwd, env, user = cwd or self._workdir, env or {}, user or self._user
        checked_text(*command, cwd, user)
        checked_env(env)
        with self._standing(), BoundedOutput() as stdout, BoundedOutput() as stderr:
            exec_id = self._engine.exec_create(self.id, command, env=env, user=user, cwd=cwd, stdin=bool(stdin))
            started = time.monotonic()
            feed = Demultiplexer(stdout, stderr).feed
            try:
                code, seconds = self._run(exec_id, stdin, feed, started, timeout)
            except NotStarted as refusal:
                stdout.write(f"{refusal}\n".encode())
                code, seconds = CANNOT_START, time.monotonic() - started
            oom = self._oom_kills
            if code in SUSPECT and self._is_over():
                raise Refused(0, f"a command ended with status {code}")
            return ExecResult(
                argv=command,
                exit_code=code,
                stdout=stdout.value(),
                stderr=stderr.value(),
                seconds=seconds,
                timed_out=code is None,
                dropped=stdout.dropped,
                oom_killed=code == KILLED and self._oom_kills > oom,
            )

    def read_file(self, path: str) -> bytes:
        """The bytes of a regular file, at most `FILE_LIMIT`; symlinks are followed. For errors see the contract."""
        with self._files(path):
            with self._engine.get(self.id, _checked_path(path)) as (stat, stream):
                if not stat.target:
                    return _content(path, stat.is_file, stat.size, stream)
            with self._engine.get(self.id, stat.target) as (stat, stream):
                return _content(path, stat.is_file, stat.size, stream)

    def write_file(self, path: str, data: bytes) -> None:
        """Write a file of root's with mode 0644, in place of a file or symlink of that name."""
        with self._files(path):
            self._engine.put(self.id, archive.one_file(_checked_path(path), data))

    def upload(self, tar: BinaryIO, path: str) -> None:
        """Unpack a tar below ``path``; see the contract, and `archive.rooted` for what is refused."""
        moved, count = archive.rooted(tar, _checked_path(path))
        with moved, self._files(path):
            if not count:
                self._make_directory(path)
                return
            size = moved.seek(0, io.SEEK_END)
            moved.seek(0)
            self._engine.put(self.id, moved if size > archive.SPOOL else moved.read())

    def download(self, path: str) -> bytes:
        """A tar of at most `FILE_LIMIT` bytes; a symlink is archived as such."""
        with self._files(path), self._engine.get(self.id, _checked_path(path)) as (_, stream):
            data = bytearray()
            while chunk := stream.read(1024 * 1024):
                data += chunk
                if len(data) > FILE_LIMIT:
                    raise SandboxFileError(f"{path}: more than {FILE_LIMIT} bytes", path=path)
            return bytes(data)

    def changed(self) -> Sequence[Change] | None:
        """See `pytest_swe.sandbox.base.TellsTraces`."""
        with self._standing():
            return docker_traces.changed(self._engine, self.id)

    def first_process(self) -> str:
        """See `pytest_swe.sandbox.base.TellsTraces`."""
        return docker_traces.first_process(self._engine, self.id)

    def close(self) -> None:
        self._engine.discard(self.id)

    def _run(
        self, exec_id: str, stdin: bytes, feed: Callable[[bytes], None], started: float, timeout: float
    ) -> tuple[int | None, float]:
        """Exit status, None at the time-out, and seconds taken."""
        code = None
        with self._engine.exec_start(exec_id) as (connection, first):
            feed(first)
            if pump(connection, stdin, feed, started + timeout):
                code = self._exit_code(exec_id, started + timeout)
            seconds = time.monotonic() - started
            if code is None:
                self._kill_everything()
                pump(connection, b"", feed, time.monotonic() + LINGER)
        return code, seconds

    def _exit_code(self, exec_id: str, deadline: float) -> int | None:
        """Wait for it: a command may close its streams long before it ends. None at the deadline."""
        pause = 0.002
        while (code := self._engine.exec_exit_code(exec_id)) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            time.sleep(min(pause, left))
            pause = min(pause * 2, 0.5)
        return code

    def end_commands(self) -> None:
        """Kill all that commands started and left, as a time-out does; with it the sandbox where that fails."""
        self._kill_everything()

    def _kill_everything(self) -> None:
        """Kill every process but the first, whatever it traps or left: if that fails, the container."""
        deadline = self._soon()
        try:
            for _ in range(KILL_TRIES):
                self._kill_once(deadline)
                if not self._survivors():
                    return
            self._engine.kill(self.id)
        except Refused:
            # Over already; the next call says so.
            return

    def _kill_once(self, deadline: float) -> None:
        self._as_root("kill -9 -1", deadline)

    def _soon(self) -> float:
        return time.monotonic() + KILL_SECONDS

    def _as_root(
        self, script: str, deadline: float, feed: Callable[[bytes], None] = lambda _: None, user: str = "0"
    ) -> int | None:
        """Exit status of a line of shell, None when it did not end in time."""
        argv = ["/bin/sh", "-c", script]
        exec_id = self._engine.exec_create(self.id, argv, env={}, user=user, cwd="/", stdin=False)
        with self._engine.exec_start(exec_id) as (connection, first):
            feed(first)
            ended = pump(connection, b"", feed, deadline)
        return self._exit_code(exec_id, deadline) if ended else None

    def _survivors(self) -> list[str]:
        """Names of living processes beside the first and the ``sleep`` it may wait for.

        Asked of the engine: a candidate that is root can put anything in place of the shell that did the killing.
        """
        state = self._engine.state(self.id)
        first = str(state.pid) if state else ""
        return [
            process["comm"]
            for process in self._engine.processes(self.id)
            if process["stat"][0] not in "ZX"
            and process["pid"] != first
            and (process["ppid"], process["comm"]) != (first, "sleep")
        ]

    def _is_over(self) -> bool:
        """Whether the whole container died, not only a command in it.

        The engine learns of a command's end before it learns of the first process's; so its word that the container
        runs counts only once a new command has run, or has had time to.
        """
        with BoundedOutput() as said:
            if self._as_root(OOM_KILLS, time.monotonic() + LOOK_SECONDS, Demultiplexer(said, said).feed) == 0:
                found = re.search(rb"^oom_kill (\d+)", said.value(), re.MULTILINE)
                self._oom_kills = int(found[1]) if found else 0
                return False
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            state = self._engine.state(self.id)
            if state is None or not state.running:
                return True
            time.sleep(0.1)
        return False

    def _standing(self) -> AbstractContextManager[None]:
        return standing(self._engine, self.id, self._outages)

    def _files(self, path: str) -> AbstractContextManager[None]:
        return reaching(self._engine, self.id, path)

    def _make_directory(self, path: str) -> None:
        try:
            with self._engine.get(self.id, path):
                return
        except Refused as refusal:
            if refusal.status != 404:
                raise
        self._engine.put(self.id, archive.one_directory(path))


def _checked_path(path: str) -> str:
    normal = posixpath.normpath(path)
    if not path.startswith("/") or "\0" in path:
        raise SandboxFileError(f"{path!r} is no absolute path", path=path)
    if any(normal == tree or normal.startswith(tree + "/") for tree in UNREACHABLE):
        raise SandboxFileError(f"{path}: only a command can reach it, not the engine's file calls", path=path)
    return path


def _content(path: str, is_file: bool, size: int, stream: IO[bytes]) -> bytes:
    if not is_file:
        raise SandboxFileError(f"{path}: not a regular file", path=path)
    if size > FILE_LIMIT:
        raise SandboxFileError(f"{path}: {size} bytes, more than {FILE_LIMIT}", path=path)
    return archive.first_file(stream)
