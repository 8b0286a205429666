"""Work trees from ``git fast-export`` texts: imported once per host, then copied.

What is kept holds the commit and its history, nothing later, no tag and no other branch: a candidate must not find
the fix in it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock

from pytest_swe.errors import ImageUnavailable
from pytest_swe.model import Tree

_BASE = "swe-base"


def prepared(tree: Tree, cache: Path) -> Path:
    """A clean work tree of ``tree``, on a branch ``main`` that ends at its commit; shared, only to be copied.

    Raises ImageUnavailable when the export cannot be read or does not hold the commit.
    """
    try:
        export = tree.export.read_bytes()
    except OSError as error:
        raise ImageUnavailable(f"{tree.export}: {error.strerror}", hint="the row's tree must be a file") from error
    key = hashlib.sha256(export + b"\0" + tree.commit.encode()).hexdigest()[:32]
    ready = cache / key
    if not ready.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(cache / f"{key}.lock"):
            if not ready.is_dir():
                _prepare(tree, ready)
    return ready


def _prepare(tree: Tree, ready: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="import-", dir=ready.parent) as folder:
        store, made = os.path.join(folder, "store"), os.path.join(folder, "tree")
        _git(folder, "init", "--quiet", "--bare", "--template=", store)
        with tree.export.open("rb") as export:
            _git(store, "fast-import", "--quiet", stdin=export)
        _git(store, "branch", "--force", _BASE, "--end-of-options", f"{tree.commit}^{{commit}}")
        # --no-local: objects that the branch does not reach stay behind.
        options = ("--quiet", "--no-local", "--no-tags", "--single-branch", "--template=")
        _git(folder, "clone", *options, "--branch", _BASE, store, made)
        _git(made, "branch", "--move", "main")
        _git(made, "remote", "remove", "origin")
        shutil.rmtree(os.path.join(made, ".git", "logs"))
        os.rename(made, ready)


def _git(directory: str, command: str, *arguments: str, stdin: BinaryIO | None = None) -> None:
    """Run git free of the configuration of user and system. Raises ImageUnavailable with what git says."""
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "LC_ALL": "C",
    }
    argv = ["git", "-C", directory, command, *arguments]
    try:
        done = subprocess.run(argv, env=env, stdin=stdin or subprocess.DEVNULL, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise ImageUnavailable("git is not installed", hint="the local provider needs git on PATH") from error
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        fatal = next((line for line in said if line.startswith("fatal:")), said[-1])
        raise ImageUnavailable(f"cannot make the work tree: git {command}: {fatal}")
