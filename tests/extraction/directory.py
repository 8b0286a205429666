"""A directory of this host as a sandbox without any isolation, for agents that these tests write themselves."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from pytest_swe.errors import SandboxFileError
from pytest_swe.model import ExecResult
from pytest_swe.sandbox.archive import unpack

IDENTITY = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def git(tree: Path, *arguments: str, check: bool = True) -> bytes:
    """Run git in ``tree``; what it prints."""
    words = ["git", "-c", "init.defaultBranch=trunk", "-c", "protocol.file.allow=always", *arguments]
    env = {"PATH": os.environ["PATH"], "HOME": str(tree.parent), **IDENTITY}
    return subprocess.run(words, cwd=tree, env=env, check=check, capture_output=True, stdin=subprocess.DEVNULL).stdout


class DirectorySandbox:
    """``root`` stands for ``/`` in paths of calls and in whole arguments."""

    id = "directory"
    attach: tuple[str, ...] = ()

    def __init__(self, root: Path) -> None:
        self.root = root

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
        own = os.listdir(self.root)
        words = [f"{self.root}{word}" if word.startswith("/") and word.split("/")[1] in own else word for word in argv]
        started = subprocess.Popen(
            words,
            cwd=f"{self.root}{cwd or '/'}",
            env={"PATH": os.environ["PATH"], "HOME": str(self.root), "SWE_ROOT": str(self.root), **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        begun, timed_out = time.monotonic(), False
        try:
            out, err = started.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
            os.killpg(started.pid, signal.SIGKILL)
            out, err = started.communicate()
        code = None if timed_out else started.returncode
        seconds = time.monotonic() - begun
        return ExecResult(
            argv=tuple(argv), exit_code=code, stdout=out, stderr=err, timed_out=timed_out, seconds=seconds
        )

    def read_file(self, path: str) -> bytes:
        try:
            return Path(f"{self.root}{path}").read_bytes()
        except OSError as error:
            raise SandboxFileError(str(error), path=path) from error

    def write_file(self, path: str, data: bytes) -> None:
        target = Path(f"{self.root}{path}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)

    def upload(self, tar: BinaryIO, path: str) -> None:
        unpack(tar, Path(f"{self.root}{path}"))

    def download(self, path: str) -> bytes:
        raise NotImplementedError

    def close(self) -> None:
        pass
