"""One sandbox that is a directory on this host, whatever encloses its commands."""

from __future__ import annotations

import errno
import os
import pwd
import shlex
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import BinaryIO, Protocol

from pytest_swe.errors import SandboxFileError, SandboxLost, Unsupported
from pytest_swe.model import ExecResult, Network, SandboxSpec
from pytest_swe.sandbox.base import ROOT, checked_argv
from pytest_swe.sandbox.host.cgroups import entered
from pytest_swe.sandbox.host.failures import as_sandbox_errors
from pytest_swe.sandbox.host.processes import MARK, Command, CommandEnd, kill_marked
from pytest_swe.sandbox.host.records import Records
from pytest_swe.sandbox.host.rooted import Rooted
from pytest_swe.sandbox.output import BoundedOutput

#: The private home, a path inside. At the top, because an interpreter may have to be seen below ``/home``.
HOME = "/swe-home"

#: Directories that every sandbox has beside its tree.
DIRECTORIES = (HOME, "/tmp", "/pytest-swe")


class Enclosure(Protocol):
    """How commands of a sandbox are kept in its directory ``root``, and where they see it.

    ``background``: whether processes may outlive their command.
    """

    background: bool

    def command(
        self, argv: Sequence[str], *, root: Path, cwd: str, network: Network, terminal: bool = False
    ) -> tuple[str, ...]:
        """What to run on the host so that ``argv`` runs inside."""
        ...

    def place(self, root: Path, path: str) -> str:
        """Where commands see the absolute path ``path`` of the API."""
        ...

    def start(self, root: Path, cwd: str) -> str:
        """The directory on the host in which `command` is started."""
        ...

    def reserved(self, path: str) -> bool:
        """Whether ``path`` is not the sandbox's: the host's own stands there inside."""
        ...


class HostSandbox:
    """A sandbox of the provider ``local``. ``root`` on the host is ``/`` of the API; commands run in ``groups``."""

    def __init__(
        self,
        sandbox_id: str,
        folder: Path,
        spec: SandboxSpec,
        *,
        enclosure: Enclosure,
        records: Records,
        groups: Sequence[Path] = (),
    ) -> None:
        self.id = sandbox_id
        self.root = folder / "root"
        self._spec = spec
        self._enclosure = enclosure
        self._records = records
        self._groups = groups
        self._files = Rooted(self.root)
        self._ends = time.monotonic() + spec.seconds
        self._numbers = count()
        self._commands: list[Command] = []
        self._closed = False
        self._lock = threading.Lock()
        for path in DIRECTORIES:
            self._files.make_directory(path)
        self.attach: tuple[str, ...] = ("sh", str(self._write_entrance(folder / "enter")))

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
        """As the contract says. ``user`` can only be the one who runs pytest; ``root`` is taken to mean that one."""
        argv = checked_argv(argv)
        refuse_user(user)
        refuse_text(argv, env or {})
        life = self._life_left()
        cwd = cwd or self._spec.workdir
        begun = time.monotonic()
        mark = f"{self.id}.{next(self._numbers)}."
        if not (self._enclosure.reserved(cwd) or self._files.is_directory(cwd)):
            return ExecResult(argv=argv, exit_code=127, stderr=f"{cwd}: no such directory\n".encode())
        with as_sandbox_errors(self.id), BoundedOutput() as out, BoundedOutput() as err:
            try:
                command = self._started(argv, cwd, {**self._environment(), **(env or {}), MARK: mark}, life)
            except OSError as error:
                if error.errno != errno.E2BIG:
                    raise
                return ExecResult(argv=argv, exit_code=126, stderr=f"{argv[0]}: {error.strerror}\n".encode())
            end = command.communicate(stdin, min(timeout, life), out, err)
            self._settle(command, end, mark)
            return ExecResult(
                argv=argv,
                exit_code=end.exit_code,
                stdout=out.value(),
                stderr=err.value(),
                seconds=time.monotonic() - begun,
                timed_out=end.timed_out,
                dropped=out.dropped,
            )

    def read_file(self, path: str) -> bytes:
        return self._here(path).read(path)

    def write_file(self, path: str, data: bytes) -> None:
        self._here(path).write(path, data)

    def upload(self, tar: BinaryIO, path: str) -> None:
        self._here(path).unpack(tar, path)

    def download(self, path: str) -> bytes:
        return self._here(path).pack(path)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            commands, self._commands = self._commands, []
        for command in commands:
            command.kill()
        self._records.remove(self.id)

    def _started(self, argv: Sequence[str], cwd: str, env: Mapping[str, str], life: float) -> Command:
        enclosed = self._enclosure.command(argv, root=self.root, cwd=cwd, network=self._spec.network)
        command = entered(self._groups, enclosed)
        started = Command(command, env=env, cwd=self._enclosure.start(self.root, cwd), life=life)
        with self._lock:
            self._commands.append(started)
            closed = self._closed
        if closed:
            started.kill()
        return started

    def _settle(self, command: Command, end: CommandEnd, mark: str) -> None:
        """Forget a command of which nothing is left. Raises SandboxLost if it was killed and not for its time-out."""
        if not (end.left and self._enclosure.background):
            command.kill()
            with self._lock:
                self._commands = [other for other in self._commands if other is not command]
        if end.exit_code is None:
            kill_marked(mark)
            self._life_left()
        if end.exit_code is None and not end.timed_out:
            raise SandboxLost(f"{self.id}: the command and its supervisor were killed from outside")

    def _life_left(self) -> float:
        """Seconds until the deadline. Raises SandboxLost when the sandbox is gone."""
        left = self._ends - time.monotonic()
        if self._closed:
            raise SandboxLost(f"{self.id} is closed")
        if left <= 0:
            raise SandboxLost(f"{self.id} is past its deadline of {self._spec.seconds:g} s")
        if not self.root.is_dir():
            raise SandboxLost(f"{self.id} was removed from outside")
        return left

    def _here(self, path: str) -> Rooted:
        self._life_left()
        if self._enclosure.reserved(path):
            raise SandboxFileError(f"{path}: belongs to the host, not to the sandbox", path=path)
        return self._files

    def _environment(self) -> dict[str, str]:
        """All that a command sees of the outside. Nothing of the user's, of pytest's or of xdist's comes through."""

        def place(path: str) -> str:
            return self._enclosure.place(self.root, path)

        return {
            "PATH": f"{os.path.dirname(sys.executable)}:/usr/bin:/bin",
            "HOME": place(HOME),
            "TMPDIR": place("/tmp"),
            "LANG": "C.UTF-8",
            "TESTBED": place(self._spec.workdir),
            "SWE_ROOT": place("/").rstrip("/"),
            # The interpreter's environment holds this plugin and xdist; pytest inside must load neither.
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": place(f"{HOME}/.gitconfig"),
            # A tree whose .git was removed must not make git find the user's repository above it.
            "GIT_CEILING_DIRECTORIES": place("/"),
            **self._spec.env,
        }

    def _write_entrance(self, script: Path) -> Path:
        """A script that opens a shell as commands see it: values in a private file, not in an argument list."""
        shell = ("bash", "--norc")
        workdir = self._spec.workdir
        enclosed = self._enclosure.command(
            shell, root=self.root, cwd=workdir, network=self._spec.network, terminal=True
        )
        command = entered(self._groups, enclosed)
        env = {**self._environment(), "TERM": "xterm", "PS1": r"(sandbox) \w\$ ", MARK: f"{self.id}.shell."}
        words = ["env", "-i", "-C", self._enclosure.start(self.root, workdir)]
        words += [f"{name}={value}" for name, value in env.items()]
        script.touch(mode=0o600)
        script.write_text(f'exec {shlex.join([*words, *command])} "$@"\n')
        return script


def refuse_text(argv: Sequence[str], env: Mapping[str, str]) -> None:
    """Raise Unsupported for what the system cannot carry: its strings end at NUL, a name of a variable at ``=``."""
    for value in (*argv, *env, *env.values()):
        if "\0" in value:
            raise Unsupported(f"{value!r}: an argument or variable cannot hold NUL")
    for name in env:
        if not name or "=" in name:
            raise Unsupported(f"env: {name!r} is no name of a variable")


def refuse_user(user: str | None) -> None:
    """Raise Unsupported for a user that is neither root, which stands for whoever runs this, nor that user."""
    own = {"", "root", ROOT, str(os.getuid())}
    if user is None or user in own:
        return
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = ""
    if user != name:
        raise Unsupported(f"provider local cannot run commands as user {user!r}", hint="use --swe-provider docker")
