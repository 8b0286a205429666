"""A work tree with the driver beside it, run by a real shell without an engine."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pytest_swe.errors import SandboxFileError
from pytest_swe.evaluation.driver import COMMAND, Bundle, bundle, read
from pytest_swe.logs.markers import END, START
from pytest_swe.model import ExecResult, StepLog
from pytest_swe.sandbox.archive import unpack

SCRIPT = f"set -uxo pipefail\ncd \"${{TESTBED:-/testbed}}\"\n: '{START}'\n%s\n: '{END}'\n"
NONCE = "ab12"
FILES: dict[str, bytes] = {
    "a.py": b"one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n",
    "crlf.txt": b"l1\r\nl2\r\nl3\r\n",
    "data.bin": bytes(range(256)),
    "d/e f.py": b"x = 1\n",
    "gone/only.txt": b"only\n",
    "run.sh": b"echo\n",
}


@dataclass
class Bench:
    """A work tree and the driver's directory beside it."""

    tree: Path
    here: Path

    def git(self, *args: str) -> bytes:
        return subprocess.run(["git", *args], cwd=self.tree, capture_output=True, check=True).stdout

    def diff_of(self, change: Callable[[Path], object], *options: str) -> tuple[bytes, dict[str, tuple[str, bytes]]]:
        """The patch that makes ``change``, and the files after it. The tree is left as it was."""
        change(self.tree)
        after = self.files()
        self.git("add", "--all", ":!untracked.egg-info")
        patch = self.git("diff", "--cached", "--binary", "-M", *options)
        self.git("reset", "--quiet", "--hard")
        return patch, after

    def files(self) -> dict[str, tuple[str, bytes]]:
        return {name: found for name, found in self.state().items() if found[1] != b"/"}

    def run(self, patch: bytes | None, tests: str = "true", test_patch: str = "", timeout: float = 30) -> StepLog:
        made = bundle(SCRIPT % tests, test_patch.encode(), patch, NONCE)
        return read(self.drive(made, timeout), made, name="tests", timeout=timeout)

    def drive(self, made: Bundle, timeout: float = 30, env: Mapping[str, str] | None = None) -> ExecResult:
        shutil.rmtree(self.here, ignore_errors=True)
        unpack(io.BytesIO(made.tar), self.here)
        return self.command(COMMAND, timeout=timeout, env=env)

    def command(self, argv: Sequence[str], *, timeout: float, env: Mapping[str, str] | None = None) -> ExecResult:
        """Run in the driver's directory; at the time-out everything is killed and what was printed is kept."""
        started = subprocess.Popen(
            argv,
            cwd=self.here,
            env={**os.environ, "TESTBED": str(self.tree), "LC_ALL": "C.UTF-8", **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        timed_out = False
        try:
            out, err = started.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
            os.killpg(started.pid, signal.SIGKILL)
            out, err = started.communicate()
        code = None if timed_out else started.returncode
        return ExecResult(argv=tuple(argv), exit_code=code, stdout=out, stderr=err, timed_out=timed_out)

    def state(self) -> dict[str, tuple[str, bytes]]:
        """Everything in the tree but git's own files: kind with mode, and content."""
        found: dict[str, tuple[str, bytes]] = {}
        for path in sorted(self.tree.rglob("*")):
            name = os.fsencode(path.relative_to(self.tree)).decode("utf-8", "backslashreplace")
            if name == ".git" or name.startswith(".git/"):
                continue
            if path.is_symlink():
                found[name] = ("link", os.fsencode(os.readlink(path)))
            else:
                found[name] = (oct(path.stat().st_mode), path.read_bytes() if path.is_file() else b"/")
        return found


class BenchSandbox:
    """What a harness needs of a sandbox, on a bench: one upload and one command in a real shell."""

    id = "bench"
    attach: tuple[str, ...] = ()

    def __init__(self, bench: Bench, env: Mapping[str, str] | None = None) -> None:
        self._bench = bench
        self._env = env
        self.calls: list[str] = []

    def upload(self, tar: BinaryIO, path: str) -> None:
        self.calls.append(f"upload {path}")
        unpack(tar, self._bench.here)

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
        self.calls.append(f"exec {' '.join(argv)}")
        return self._bench.command(argv, timeout=timeout, env=self._env)

    def read_file(self, path: str) -> bytes:
        try:
            return (self._bench.here / Path(path).name).read_bytes()
        except OSError as error:
            raise SandboxFileError(str(error), path=path) from None

    def write_file(self, path: str, data: bytes) -> None:
        raise NotImplementedError

    def download(self, path: str) -> bytes:
        raise NotImplementedError

    def close(self) -> None:
        pass


def make_bench(folder: Path) -> Bench:
    """A bench whose tree has `FILES` committed and one untracked file that tests would need."""
    made = Bench(folder / "tree", folder / "swe")
    made.tree.mkdir()
    made.git("init", "--quiet")
    made.git("config", "user.email", "a@example.com")
    made.git("config", "user.name", "A")
    for name, content in FILES.items():
        (made.tree / name).parent.mkdir(exist_ok=True)
        (made.tree / name).write_bytes(content)
    made.git("add", "--all")
    made.git("commit", "--quiet", "--message", "base")
    (made.tree / "untracked.egg-info").mkdir()
    (made.tree / "untracked.egg-info" / "PKG-INFO").write_bytes(b"needed\n")
    return made


def edit_bytes() -> bytes:
    return b"--- a/a.py\n+++ b/a.py\n@@ -4,3 +4,3 @@\n four\n-five\n+5\n six\n"
