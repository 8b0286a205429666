"""A small repository with something of everything, and how a patch is applied to a clean copy of it."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from pathlib import Path

from pytest_swe.evaluation.driver import COMMAND, bundle, read
from pytest_swe.logs.markers import END, START
from pytest_swe.model import ApplyLog, ExecResult
from pytest_swe.sandbox.archive import unpack

from .directory import DirectorySandbox, git

SCRIPT = f"cd \"$TESTBED\"\n: '{START}'\n: '{END}'\n"

FILES: dict[str, bytes] = {
    "a.py": b"".join(b"line %d\n" % number for number in range(30)),
    "b.py": b"import a\n\nprint(a)\n",
    "crlf.txt": b"l1\r\nl2\r\nl3\r\n",
    "data.bin": bytes(range(256)) * 4,
    "d/e f.py": b"x = 1\n",
    "d/deep/er/g.py": b"y = 2\n",
    "empty": b"",
    "tests/test_a.py": b"def test_a():\n    assert True\n",
    "-dash": b"dash\n",
    'q"uote\t\\.txt': b"quote\n",
    "caf\u00e9/\u2028.txt": b"unicode\n",
    "forced.log": b"tracked, though the rules ignore it\n",
    ".gitignore": b"*.log\nbuild/\n",
}


def make(root: Path) -> Path:
    """A repository at ``root/testbed``: one commit, then as an image leaves it, with changed and untracked files."""
    tree = root / "testbed"
    for name, content in FILES.items():
        put(tree, name, content)
    (tree / "run.sh").write_bytes(b"#!/bin/sh\n")
    (tree / "run.sh").chmod(0o755)
    (tree / "link").symlink_to("a.py")
    git(tree, "init", "-q")
    git(tree, "add", "-A")
    git(tree, "add", "-f", "forced.log")
    git(tree, "commit", "-qm", "base")
    put(tree, "b.py", b"import a  # changed in the image\n\nprint(a)\n")
    put(tree, "untracked.txt", b"left by the image\n")
    put(tree, "build/made.o", b"made\n")
    put(tree, "old.log", b"of the image\n")
    return tree


def put(tree: Path, name: str, content: bytes) -> None:
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def copy_of(tree: Path, root: Path) -> tuple[DirectorySandbox, Path]:
    """A fresh copy of ``tree`` in a sandbox of its own."""
    root.mkdir()
    shutil.copytree(tree, root / "testbed", symlinks=True)
    return DirectorySandbox(root), root / "testbed"


def files_of(tree: Path) -> dict[str, tuple[str, bytes]]:
    """What git could say of a tree: every file with its kind, and its content; git's own directory aside."""
    found: dict[str, tuple[str, bytes]] = {}
    for folder, directories, names in os.walk(tree):
        if ".git" in directories:
            directories.remove(".git")
        for name in [*names, *(each for each in directories if os.path.islink(os.path.join(folder, each)))]:
            path = Path(folder, name)
            if path.is_symlink():
                found[str(path.relative_to(tree))] = ("link", os.fsencode(os.readlink(path)))
            elif path.is_file():
                kind = "program" if path.stat().st_mode & 0o100 else "file"
                found[str(path.relative_to(tree))] = (kind, path.read_bytes())
    return found


def apply_by_ladder(patch: bytes, tree: Path, here: Path) -> ApplyLog:
    """What the evaluation's own driver makes of a patch in ``tree``."""
    made = bundle(SCRIPT, b"", patch, "ab12")
    unpack(io.BytesIO(made.tar), here)
    env = {"PATH": os.environ["PATH"], "TESTBED": str(tree), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(COMMAND, cwd=here, env=env, capture_output=True, timeout=120)
    result = ExecResult(argv=COMMAND, exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr)
    return read(result, made, name="tests", timeout=60).apply
