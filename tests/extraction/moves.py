"""Random things that an agent does to a tree, by hand and by git: each does what it can and never fails."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from .directory import git
from .trees import FILES

Move = Callable[[Path], object]

NAMES = (
    *FILES,
    "link",
    "run.sh",
    "untracked.txt",
    "new.py",
    "d/new.py",
    "d",
    "tests",
    "a.py/below",
    "sp ace/x",
    "tab\there",
    "line\nbreak",
    '"quoted"',
    "-n",
    ":(top)x",
    "\udcff\udcfe",
    "a b -> c",
    "trailing ",
    "b.orig",
    "x.log",
    "*",
)
CONTENTS = (
    b"",
    b"x",
    b"one\ntwo\n",
    b"one\r\ntwo\r\n",
    b"\0binary\0" * 20,
    b"-- \n--- a/x\n+++ b/x\n@@ -1 +1 @@\n",
    b"$Id$\n",
    b"trailing  \n\n\n",
    "\u00e4\u2028\ufeff\n".encode(),
    b"\xff\xfe\n",
    b"line\n" * 400,
    FILES["a.py"].replace(b"line 7\n", b"line seven\n"),
    FILES["a.py"] + b"line 30\n",
)
RULES = (
    b"*.py diff=own\n* filter=own\n",
    b"*.py binary\n*.bin text\n",
    b"* -text\n",
    b"*.txt -diff\n[attr]own -diff\n*.py own\n",
)
GIT = (
    ("add", "-A"),
    ("add", "-u"),
    ("add", "-f", "."),
    ("add", "-N", "."),
    ("commit", "-qam", "work"),
    ("commit", "-q", "--allow-empty", "-m", "empty"),
    ("commit", "-q", "--amend", "-am", "again"),
    ("checkout", "-q", "-b", "mine"),
    ("checkout", "-q", "-f", "trunk"),
    ("checkout", "-q", "--orphan", "alone"),
    ("stash", "-q"),
    ("stash", "-q", "-u"),
    ("stash", "pop", "-q"),
    ("reset", "-q", "--soft", "HEAD~"),
    ("reset", "-q", "--hard"),
    ("reset", "-q"),
    ("rm", "-q", "--cached", "a.py"),
    ("rm", "-q", "-r", "--cached", "."),
    ("mv", "-k", "b.py", "d"),
    ("clean", "-qfd"),
    ("gc", "-q", "--prune=now"),
    ("pack-refs", "--all"),
    ("update-index", "--assume-unchanged", "a.py"),
    ("update-index", "--skip-worktree", "b.py"),
    ("sparse-checkout", "set", "d"),
    ("config", "color.ui", "always"),
    ("config", "diff.noprefix", "true"),
    ("config", "diff.mnemonicPrefix", "true"),
    ("config", "diff.external", "/bin/false"),
    ("config", "diff.own.textconv", "tr a-z A-Z <"),
    ("config", "filter.own.clean", "tr a-z A-Z"),
    ("config", "filter.own.smudge", "tr A-Z a-z"),
    ("config", "core.fsmonitor", "/bin/true"),
    ("config", "core.quotePath", "false"),
    ("config", "core.autocrlf", "input"),
    ("config", "core.fileMode", "false"),
    ("config", "core.worktree", "/nowhere"),
    ("config", "core.bare", "true"),
)


@dataclass(frozen=True)
class Do:
    """A move with a name that a failing example shows."""

    name: str
    arguments: tuple[object, ...]
    move: Move

    def __repr__(self) -> str:
        return f"{self.name}{self.arguments!r}"


def _write(name: str, content: bytes) -> Do:
    def move(tree: Path) -> None:
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            path.unlink()
        path.write_bytes(content)

    return Do("write", (name, content), move)


def _delete(name: str) -> Do:
    def move(tree: Path) -> None:
        path = tree / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

    return Do("delete", (name,), move)


def _rename(old: str, new: str) -> Do:
    def move(tree: Path) -> None:
        (tree / new).parent.mkdir(parents=True, exist_ok=True)
        (tree / old).rename(tree / new)

    return Do("rename", (old, new), move)


def _mode(name: str, mode: int) -> Do:
    return Do("mode", (name, oct(mode)), lambda tree: None if (tree / name).is_dir() else (tree / name).chmod(mode))


def _link(name: str, target: str) -> Do:
    def move(tree: Path) -> None:
        (tree / name).unlink(missing_ok=True)
        (tree / name).symlink_to(target)

    return Do("link", (name, target), move)


def _git(arguments: tuple[str, ...]) -> Do:
    return Do("git", arguments, lambda tree: git(tree, *arguments, check=False))


def _break(name: str) -> Do:
    return Do("break", (name,), lambda tree: (tree / ".git" / name).write_bytes(b"broken\n"))


def _lose(name: str) -> Do:
    return Do("lose", (name,), lambda tree: (tree / name).rename(tree.parent / "lost"))


names = st.sampled_from(NAMES)
by_hand = st.one_of(
    st.builds(_write, names, st.sampled_from(CONTENTS)),
    st.builds(_write, names, st.binary(max_size=40)),
    st.builds(_write, st.just(".gitattributes"), st.sampled_from(RULES)),
    st.builds(_write, st.just(".gitignore"), st.sampled_from((b"", b"*.log\n", b"*.log\nbuild/\nnew*\n"))),
    st.builds(_delete, names),
    st.builds(_rename, names, names),
    st.builds(_mode, names, st.sampled_from((0o644, 0o755, 0o600))),
    st.builds(_link, names, st.sampled_from(("a.py", "..", "nowhere", "/etc/passwd", "link"))),
)
by_git = st.one_of(
    st.builds(_git, st.sampled_from(GIT)),
    st.builds(_git, st.sampled_from(GIT)),
    st.builds(_break, st.sampled_from(("HEAD", "index", "config", "packed-refs", "info/exclude"))),
    st.builds(_lose, st.sampled_from((".git", ".git/index", ".git/objects"))),
)
agents = st.lists(st.one_of(by_hand, by_hand, by_git), min_size=1, max_size=12)


def play(moves: list[Do], tree: Path) -> None:
    """Make every move that can be made."""
    for each in moves:
        try:
            each.move(tree)
        except OSError:
            continue
    for folder, _, _ in os.walk(tree):
        os.chmod(folder, 0o755)
