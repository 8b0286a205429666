"""The same in real sandboxes: agents that are another user, or root and hostile."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_swe.agent.baseline import record
from pytest_swe.agent.concealment import ConcealmentFailed, conceal
from pytest_swe.agent.extraction import extract
from pytest_swe.model import SandboxSpec, Tree
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.host import bubblewrap
from pytest_swe.sandbox.local import LocalProvider

from . import trees
from .directory import git
from .test_concealment import SEARCH, made

WAYS = ["plain", "bubblewrap"] if bubblewrap.find()[0] else ["plain"]
WORK = r"""
set -e
printf 'two\n' >a.py; printf '\0\1' >'new file.bin'; rm b.py; chmod +x crlf.txt; ln -s nowhere link2
git config color.ui always; git config diff.noprefix true
git checkout -q -b mine; git add -A; git -c user.name=a -c user.email=a@b commit -q -m work
mkdir -p build; : >build/more.o
"""


def run(sandbox: Sandbox, script: str, *, user: str | None = None) -> bytes:
    done = sandbox.exec(["bash", "-c", script], cwd="/testbed", user=user, timeout=120)
    assert done.exit_code == 0, done
    return done.stdout


def packed(tree: Path, owner: int = 0) -> io.BytesIO:
    def owned(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = owner
        return member

    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        archive.add(tree, ".", filter=owned)
    tar.seek(0)
    return tar


@pytest.fixture
def docker(test_image: str) -> Iterator[Sandbox]:
    provider = DockerProvider(pull=False)
    sandbox = provider.acquire(SandboxSpec(image=test_image, workdir="/"), labels={"run": "test-extraction"})
    yield sandbox
    sandbox.close()
    provider.close()


@pytest.mark.docker
def test_an_agent_that_is_another_user(docker: Sandbox, tmp_path: Path) -> None:
    tree = trees.make(tmp_path)
    docker.upload(packed(tree, owner=65534), "/testbed")
    run(docker, "chown 65534:65534 /testbed")
    concealed = conceal(docker, "/testbed", git(tree, "rev-parse", "HEAD").decode().strip())
    baseline = record(docker, "/testbed")
    assert concealed.tip == git(tree, "rev-parse", "HEAD").decode().strip()
    assert baseline.dirty == {b"b.py", b"untracked.txt"}
    run(docker, WORK, user="65534")
    found = extract(docker, baseline)
    assert (found.problem, found.ignored) == ("", ("build/more.o",))
    assert set(found.paths) == {"a.py", "b.py", "crlf.txt", "link2", "new file.bin"}
    log = trees.apply_by_ladder(found.patch, tree, tmp_path / "driver")
    assert (log.outcome, log.whole, log.attempt) == ("applied", True, "git-apply")


@pytest.mark.docker
def test_the_agent_finds_no_later_history(docker: Sandbox, tmp_path: Path) -> None:
    tree, base = made(tmp_path)
    docker.upload(packed(tree, owner=65534), "/testbed")
    run(docker, "chown 65534:65534 /testbed")
    assert b"the_right_answer" in run(docker, SEARCH.replace("..", "."), user="65534")
    conceal(docker, "/testbed", base)
    for user in ("65534", "root"):
        assert b"the_right_answer" not in run(docker, SEARCH.replace("..", "."), user=user)
    assert run(docker, "git log --format=%s", user="65534") == b"base\nfirst\n"
    run(docker, "echo x >x && git add x && git -c user.name=a -c user.email=a@b commit -q -m x", user="65534")


@pytest.mark.docker
def test_what_is_left_over_is_seen_and_nothing_starts(docker: Sandbox, tmp_path: Path) -> None:
    """Here git itself copies more than it is asked for."""
    tree, base = made(tmp_path)
    docker.upload(packed(tree), "/testbed")
    real = run(docker, "command -v git").decode().strip()
    fake = f'#!/bin/sh\ncase "$*" in *pack-objects*) set -- "$@" --all;; esac\nexec {real} "$@"\n'
    docker.write_file("/usr/local/sbin/git", fake.encode())
    run(docker, "chmod +x /usr/local/sbin/git")
    with pytest.raises(ConcealmentFailed, match="still in the repository"):
        conceal(docker, "/testbed", base)


FAKE = "printf '#!/bin/sh\\n%%s\\n' '%s' >/usr/local/sbin/git; chmod +x /usr/local/sbin/git"
HOSTILE = {
    "git hangs": FAKE % "sleep 600",
    "git is gone": "rm -f $(command -v git)",
    "git prints for ever": FAKE % "exec yes",
    "git lies": FAKE % 'printf "swe-part patch 3\\nabcswe-end\\n"',
    "no shell": "rm -f /bin/bash /usr/bin/bash",
    "nowhere to write": "rm -rf /pytest-swe; : >/pytest-swe",
}


@pytest.mark.docker
@pytest.mark.parametrize("attack", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_root_has_no_patch_and_hangs_nobody(docker: Sandbox, tmp_path: Path, attack: str) -> None:
    docker.upload(packed(trees.make(tmp_path)), "/testbed")
    baseline = record(docker, "/testbed")
    run(docker, f"echo work >>a.py; {attack}")
    found = extract(docker, baseline, timeout=15)
    assert found.problem.startswith("the agent's work cannot be taken: ")
    assert found.patch == b""


@pytest.mark.docker
def test_a_forged_patch_may_not_touch_what_is_excluded(docker: Sandbox, tmp_path: Path) -> None:
    docker.upload(packed(trees.make(tmp_path)), "/testbed")
    baseline = record(docker, "/testbed")
    patch = b"diff --git a/tests/test_a.py b/tests/test_a.py\ndeleted file mode 100644\n"
    forged = b"swe-part changed 0\nswe-part patch %d\n%sswe-part errors 0\nswe-end\n" % (len(patch), patch)
    docker.write_file("/forged", forged)
    fake = '#!/bin/sh\nif [ "$2" = diff ]; then exec cat /forged; fi\nexec /bin/real "$@"\n'
    docker.write_file("/fake", fake.encode())
    run(docker, "chmod +x /fake; mv /bin/bash /bin/real; mv /fake /bin/bash")
    assert extract(docker, baseline).paths == ("tests/test_a.py",)
    assert "is excluded" in extract(docker, baseline, exclude=["tests"]).problem


@pytest.mark.parametrize("way", WAYS)
def test_a_directory_of_this_host(tmp_path: Path, way: str) -> None:
    tree = trees.make(tmp_path)
    base = git(tree, "rev-parse", "HEAD").decode().strip()
    (tmp_path / "export").write_bytes(git(tree, "fast-export", "--all"))
    provider = LocalProvider(state=tmp_path / "state", isolate=way == "bubblewrap")
    kept = Tree(export=tmp_path / "export", commit=base)
    sandbox = provider.acquire(SandboxSpec(image="x", tree=kept, trusted=True), labels={"run": "test-extraction"})
    try:
        assert conceal(sandbox, "/testbed", base).tip == base
        baseline = record(sandbox, "/testbed")
        run(sandbox, WORK)
        found = extract(sandbox, baseline)
        assert set(found.paths) == {"a.py", "b.py", "crlf.txt", "link2", "new file.bin"}
        assert (found.problem, found.ignored) == ("", ("build/more.o",))
    finally:
        sandbox.close()
