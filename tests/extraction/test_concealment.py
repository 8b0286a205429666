"""Nothing of what came after the task's commit can be found by the agent, by any way of git's."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_swe.agent.baseline import record
from pytest_swe.agent.concealment import Concealed, ConcealmentFailed, conceal
from pytest_swe.agent.extraction import Extracted, extract

from .directory import IDENTITY, DirectorySandbox, git
from .trees import put

#: A line that only the fix has.
FIX = "return the_right_answer"

#: As an agent would look: every way prints what it finds.
SEARCH = r"""
exec 2>/dev/null
git log --all -p; git log --reflog -p; git reflog --all; git stash list -p; git show stash@{0}; git notes list
git branch -a -vv; git tag -n99; git remote -v; git config --list; git worktree list; git for-each-ref
git fsck --full --unreachable --dangling --lost-found --no-reflogs
git cat-file --batch-all-objects --batch
cat .git/packed-refs .git/*_HEAD .git/COMMIT_EDITMSG; find .git/ -type f -path '*logs*' -exec cat {} +
for pack in $(find . -name '*.pack'); do
  own=$(mktemp -d); git init -q $own
  GIT_DIR=$own/.git git unpack-objects -r <"$pack"
  GIT_DIR=$own/.git git cat-file --batch-all-objects --batch
  rm -rf $own
done
git submodule foreach --recursive 'git log --all -p; git fsck --lost-found; git cat-file --batch-all-objects --batch'
find . -name .git -type d | while read -r repo; do GIT_DIR=$repo git log --all -p; done
cd "${1:-..}"
find . -name objects -type d | while read -r found; do
  GIT_DIR=${found%/*} git log --all -p
  GIT_DIR=${found%/*} git reflog
done
grep -r the_right_answer .
true
"""


def found_by_agent(tree: Path) -> bytes:
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tree.parent), **IDENTITY}
    return subprocess.run(["bash", "-c", SEARCH], cwd=tree, env=env, capture_output=True, check=True).stdout


def made(root: Path) -> tuple[Path, str]:
    """A repository whose later history is everywhere, checked out at the commit of the task."""
    tree = root / "testbed"
    put(tree, "code.py", b"return 0\n")
    git(tree, "init", "-q")
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "first")
    git(tree, "tag", "-a", "v1", "-m", "a release of before")
    put(tree, "code.py", b"return 1\n")
    git(tree, "commit", "-qam", "base")
    base = git(tree, "rev-parse", "HEAD").decode().strip()
    git(tree, "remote", "add", "origin", f"https://example.org/{FIX.replace(' ', '_')}.git")
    git(tree, "checkout", "-qb", "later")
    put(tree, "code.py", f"{FIX}\n".encode())
    git(tree, "commit", "-qam", f"fix: {FIX}")
    fix = git(tree, "rev-parse", "HEAD").decode().strip()
    git(tree, "tag", "-a", "v2", "-m", FIX)
    git(tree, "update-ref", "refs/remotes/origin/HEAD", fix)
    git(tree, "update-ref", "refs/original/x", fix)
    git(tree, "notes", "add", "-m", FIX, base)
    git(tree, "replace", base, fix)
    git(tree, "repack", "-qad")
    git(tree, "replace", "-d", base)
    git(tree, "checkout", "-qf", "trunk")
    put(tree, "code.py", f"{FIX} # stashed\n".encode())
    git(tree, "stash", "-q")
    put(tree, "loose", f"{FIX} # never reached\n".encode())
    git(tree, "hash-object", "-w", "loose")
    (tree / "loose").unlink()
    put(tree, ".git/FETCH_HEAD", f"{fix}\t\tbranch of {FIX}\n".encode())
    put(tree, ".git/COMMIT_EDITMSG", FIX.encode())
    put(tree, ".git/lost-found/other/x", FIX.encode())
    git(tree, "worktree", "add", "-q", "--no-checkout", str(root / "beside"), "later")
    subprocess.run(["rm", "-rf", root / "beside"], check=True)
    return tree, base


def assert_hidden(root: Path, base: str) -> Concealed:
    tree = root / "testbed"
    assert b"the_right_answer" in found_by_agent(tree)
    before = (tree / "code.py").read_bytes()
    found = conceal(DirectorySandbox(root), "/testbed", base)
    assert b"the_right_answer" not in found_by_agent(tree)
    assert (tree / "code.py").read_bytes() == before
    git(tree, "fsck", "--full", "--strict")
    return found


def test_everything_later_is_gone_and_the_past_is_there(tmp_path: Path) -> None:
    tree, base = made(tmp_path)
    status, log = git(tree, "status", "--porcelain"), git(tree, "log", "-p", "--no-notes", "trunk")
    found = assert_hidden(tmp_path, base)
    assert (found.tip, found.repositories, found.notes) == (base, (str(tree),), ())
    assert found.removed >= 8
    assert git(tree, "log", "-p") == log
    assert git(tree, "status", "--porcelain") == status == b""
    assert git(tree, "describe").startswith(b"v1-1-g")
    assert git(tree, "for-each-ref", "--format=%(refname)").split() == [b"refs/heads/trunk", b"refs/tags/v1"]
    assert git(tree, "remote") == b""


def test_twice_is_as_once(tmp_path: Path) -> None:
    _, base = made(tmp_path)
    assert_hidden(tmp_path, base)
    again = conceal(DirectorySandbox(tmp_path), "/testbed", base)
    assert (again.removed, again.notes, again.tip) == (0, (), base)


def test_an_agent_can_work_afterwards(tmp_path: Path) -> None:
    tree, base = made(tmp_path)
    sandbox = DirectorySandbox(tmp_path)
    conceal(sandbox, "/testbed", base)
    baseline = record(sandbox, "/testbed")
    assert extract(sandbox, baseline) == Extracted()
    git(tree, "checkout", "-qb", "mine")
    put(tree, "code.py", b"return 2\n")
    git(tree, "commit", "-qam", "mine")
    git(tree, "gc", "-q")
    assert extract(sandbox, baseline).paths == ("code.py",)


def on_later(tree: Path) -> None:
    """HEAD is the fix; the files are those of the base."""
    git(tree, "checkout", "-qf", "--ignore-other-worktrees", "later")
    put(tree, "code.py", b"return 1\n")


def reverted(tree: Path) -> None:
    git(tree, "checkout", "-qf", "--ignore-other-worktrees", "later")
    git(tree, "revert", "--no-edit", "HEAD")


def detached(tree: Path) -> None:
    git(tree, "checkout", "-qf", "--detach")


def staged(tree: Path) -> None:
    put(tree, "code.py", FIX.encode())
    git(tree, "add", "code.py")
    put(tree, "code.py", b"return 1\n")


def merging(tree: Path) -> None:
    put(tree, "code.py", b"return 3\n")
    git(tree, "commit", "-qam", "other")
    git(tree, "merge", "later", check=False)
    put(tree, "code.py", b"return 1\n")


def orphan(tree: Path) -> None:
    git(tree, "checkout", "-q", "--orphan", "none")


def shared(tree: Path) -> None:
    """Its objects stand in another repository."""
    git(tree.parent, "clone", "-q", "--shared", "testbed", "again")
    put(tree.parent, "again/.git/logs/later", FIX.encode())
    (tree).rename(tree.parent / "store")
    (tree.parent / "again").rename(tree)
    put(tree, ".git/objects/info/alternates", f"{tree.parent}/store/.git/objects\n".encode())
    subprocess.run(["rm", "-rf", tree.parent / "store/.git/logs"], check=True)


def linked(tree: Path) -> None:
    """The tree is a work tree of a repository elsewhere."""
    tree.rename(tree.parent / "main")
    git(tree.parent / "main", "worktree", "add", "-qf", "--detach", str(tree), "trunk")


def linked_within(tree: Path) -> None:
    git(tree, "worktree", "prune")
    git(tree, "worktree", "add", "-q", "--detach", "wt", "trunk")


def sha256(tree: Path) -> None:
    (tree / ".git").rename(tree.parent / "old")
    subprocess.run(["rm", "-rf", tree.parent / "old"], check=True)
    git(tree, "init", "-q", "--object-format=sha256")
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "base")
    put(tree, "code.py", FIX.encode())
    git(tree, "commit", "-qam", "later")
    git(tree, "reset", "-q", "--hard", "HEAD~")


WAYS = [detached, on_later, reverted, staged, merging, orphan, shared, linked, linked_within, sha256]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_however_the_image_was_made(tmp_path: Path, way: Callable[[Path], object]) -> None:
    tree, base = made(tmp_path)
    way(tree)
    if way is sha256:
        base = git(tree, "rev-parse", "HEAD").decode().strip()
    found = assert_hidden(tmp_path, base)
    assert git(tree, "merge-base", "--is-ancestor", base, "HEAD") == b""
    assert git(tree, "rev-parse", "HEAD").decode().strip() == found.tip


def test_a_commit_of_the_image_on_the_base_is_what_the_tree_shows(tmp_path: Path) -> None:
    tree, base = made(tmp_path)
    put(tree, "setup.cfg", b"pinned\n")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", f"between {FIX}")
    found = assert_hidden(tmp_path, base)
    assert found.tip != base
    assert git(tree, "rev-list", "--count", f"{base}..HEAD") == b"1\n"
    assert git(tree, "status", "--porcelain") == b""
    assert git(tree, "show", "HEAD:setup.cfg") == b"pinned\n"


def test_the_base_is_not_in_the_repository(tmp_path: Path) -> None:
    tree, base = made(tmp_path)
    found = assert_hidden(tmp_path, "1" * 40)
    assert (found.tip, found.notes) == (base, ("base_not_there",))
    assert git(tree, "rev-list", "--count", "HEAD") == b"2\n"


def test_a_shallow_repository(tmp_path: Path) -> None:
    tree, base = made(tmp_path / "from")
    (tmp_path / "here").mkdir()
    git(tmp_path / "here", "clone", "-q", "--depth=2", "--no-single-branch", f"file://{tree}", "testbed")
    git(tmp_path / "here/testbed", "checkout", "-q", base)
    assert_hidden(tmp_path / "here", base)
    assert git(tmp_path / "here/testbed", "log", "--format=%s") == b"base\nfirst\n"


def test_a_partial_clone_keeps_one_commit(tmp_path: Path) -> None:
    tree, base = made(tmp_path / "from")
    git(tree, "config", "uploadpack.allowFilter", "true")
    (tmp_path / "here").mkdir()
    git(tmp_path / "here", "clone", "-q", "--filter=blob:none", f"file://{tree}", "testbed")
    here = tmp_path / "here/testbed"
    git(here, "checkout", "-q", "origin/later")
    git(here, "checkout", "-q", base)
    subprocess.run(["rm", "-rf", tmp_path / "from"], check=True)
    found = assert_hidden(tmp_path / "here", base)
    assert found.notes == ("history_cut_to_one_commit",)
    assert git(here, "log", "--format=%s") == b"base\n"
    assert git(here, "status", "--porcelain") == b""


def test_submodules_within_submodules(tmp_path: Path) -> None:
    made(tmp_path / "inner")
    made(tmp_path / "outer")
    tree, _ = made(tmp_path / "here")
    git(tmp_path / "outer/testbed", "submodule", "--quiet", "add", "--", str(tmp_path / "inner/testbed"), "+in")
    git(tmp_path / "outer/testbed", "commit", "-qm", "with inner")
    git(tree, "submodule", "--quiet", "add", str(tmp_path / "outer/testbed"), "out")
    git(tree, "submodule", "--quiet", "update", "--init", "--recursive")
    git(tree, "commit", "-qm", "with outer")
    base = git(tree, "rev-parse", "HEAD").decode().strip()
    git(tree, "fetch", "-q", ".", "later")
    for name in ("inner", "outer"):
        subprocess.run(["rm", "-rf", tmp_path / name], check=True)
    found = assert_hidden(tmp_path / "here", base)
    assert found.repositories == tuple(sorted(str(tree / each) for each in (".", "out", "out/+in")))
    assert git(tree, "status", "--porcelain") == b""


def test_the_repository_around_the_tree(tmp_path: Path) -> None:
    tree, base = made(tmp_path)
    put(tree, "part/x.py", b"x\n")
    found = conceal(DirectorySandbox(tmp_path), "/testbed/part", base)
    assert (found.tip, found.repositories) == (base, (str(tree),))
    assert b"the_right_answer" not in found_by_agent(tree)


def test_no_repository(tmp_path: Path) -> None:
    put(tmp_path, "testbed/x", b"x")
    found = conceal(DirectorySandbox(tmp_path), "/testbed", "")
    assert (found.notes, found.repositories, found.removed) == (("no_repository",), (), 0)


@pytest.mark.parametrize("what", ["broken", "link", "objects"])
def test_what_cannot_be_read_is_an_error(tmp_path: Path, what: str) -> None:
    """An agent might read what we cannot: nothing is started."""
    tree, base = made(tmp_path)
    if what == "broken":
        (tree / ".git/HEAD").unlink()
    elif what == "link":
        (tree / ".git").rename(tmp_path / "store")
        (tree / ".git").symlink_to("../store")
    else:
        for pack in (tree / ".git/objects/pack").iterdir():
            pack.unlink()
    with pytest.raises(ConcealmentFailed, match="later history may be left in /testbed: "):
        conceal(DirectorySandbox(tmp_path), "/testbed", base)


def test_hooks_of_the_image_do_not_run_and_stay(tmp_path: Path) -> None:
    tree, base = made(tmp_path)
    for hook in ("reference-transaction", "post-index-change", "post-checkout"):
        put(tree, f".git/hooks/{hook}", f"#!/bin/sh\ntouch {tmp_path}/ran\n".encode())
        (tree / ".git/hooks" / hook).chmod(0o755)
    conceal(DirectorySandbox(tmp_path), "/testbed", base)
    assert not (tmp_path / "ran").exists()
    assert (tree / ".git/hooks/post-checkout").exists()


def test_copies_elsewhere_are_told(tmp_path: Path) -> None:
    tree, base = made(tmp_path)
    put(tree, "src/thing/__init__.py", b"")
    put(tmp_path, "usr/lib/python3/site-packages/thing/__init__.py", b"")
    put(tmp_path, "usr/lib/python3/site-packages/other/__init__.py", b"")
    put(tmp_path, "opt/wheels/thing-2.0-py3-none-any.whl", b"")
    put(tmp_path, "root/.cache/pip/http/0/1", b"")
    git(tmp_path, "clone", "-q", "--mirror", "testbed", "mirror.git")
    assert conceal(DirectorySandbox(tmp_path), "/testbed", base).caches == (
        "/mirror.git",
        "/opt/wheels/thing-2.0-py3-none-any.whl",
        "/root/.cache/pip",
        "/usr/lib/python3/site-packages/thing",
    )
