"""The provider ``local``, plain and, where bubblewrap works, with it."""

from __future__ import annotations

import dataclasses
import io
import os
import re
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_swe.errors import (
    EngineUnavailable,
    ImageUnavailable,
    SandboxFileError,
    SandboxLost,
    Unsupported,
)
from pytest_swe.model import SandboxSpec, Tree
from pytest_swe.sandbox.base import Sandbox, SandboxProvider
from pytest_swe.sandbox.host import bubblewrap, processes
from pytest_swe.sandbox.host.places import state_directory
from pytest_swe.sandbox.host.processes import Command
from pytest_swe.sandbox.local import LocalProvider
from pytest_swe.sandbox.output import BoundedOutput

WAYS = ["plain", "bubblewrap"] if bubblewrap.find()[0] else ["plain"]


@pytest.fixture
def spec(tree: Tree) -> SandboxSpec:
    return SandboxSpec(image="tiny", tree=tree, trusted=True)


@pytest.fixture(params=WAYS)
def provider(request: pytest.FixtureRequest, tmp_path: Path) -> LocalProvider:
    return LocalProvider(state=tmp_path / "state", isolate=request.param == "bubblewrap")


@pytest.fixture
def plain(tmp_path: Path) -> LocalProvider:
    return LocalProvider(state=tmp_path / "state", isolate=False)


@pytest.fixture
def acquire(spec: SandboxSpec) -> Iterator[Callable[..., Sandbox]]:
    made: list[Sandbox] = []

    def acquired(provider: SandboxProvider, **changes: object) -> Sandbox:
        sandbox = provider.acquire(dataclasses.replace(spec, **changes), labels={"instance": "a"})  # type: ignore[arg-type]
        made.append(sandbox)
        return sandbox

    yield acquired
    for sandbox in made:
        sandbox.close()


@pytest.fixture
def sandbox(provider: LocalProvider, acquire: Callable[..., Sandbox]) -> Sandbox:
    return acquire(provider)


@pytest.fixture
def token() -> str:
    """A number that no other command line holds; ``sleep`` takes it as seconds."""
    return f"3000.{uuid.uuid4().int}"


def sh(sandbox: Sandbox, script: str, *arguments: str, timeout: float = 60, **env: str) -> str:
    """What a script prints; it must end with 0."""
    done = sandbox.exec(["bash", "-c", script, "bash", *arguments], env=env, timeout=timeout)
    assert done.exit_code == 0, done
    return done.stdout.decode()


def alive(token: str) -> list[int]:
    """Processes, zombies aside, whose command line holds ``token``."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                if token.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)


def tar_of(*members: tarfile.TarInfo | tuple[str, bytes]) -> io.BytesIO:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                tar.addfile(info, io.BytesIO(member[1]))
    packed.seek(0)
    return packed


def link_to(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


# -- what it takes on ------------------------------------------------------------------------------------------------


def test_a_row_that_is_not_trusted_is_refused(provider: LocalProvider, spec: SandboxSpec, tmp_path: Path) -> None:
    untrusted = dataclasses.replace(spec, trusted=False)
    with pytest.raises(Unsupported, match=r"not marked trusted.*--swe-trust-local"):
        provider.acquire(untrusted, labels={})
    trusting = LocalProvider(state=tmp_path / "other", trust=True, isolate=provider.capabilities.isolated)
    trusting.acquire(untrusted, labels={}).close()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"cpus": 2.0}, "cpus=2.0"),
        ({"memory_mb": 512}, "memory_mb=512"),
        ({"pids": 100}, "pids=100"),
        ({"disk_mb": 100}, "disk_mb=100"),
        ({"capabilities": ("SYS_PTRACE",)}, "capabilities=SYS_PTRACE"),
        ({"platform": "linux/riscv64"}, "platform=linux/riscv64"),
        ({"user": "somebody-else"}, "somebody-else"),
        ({"workdir": "/"}, "workdir='/'"),
        ({"workdir": "testbed"}, "workdir='testbed'"),
        ({"workdir": "/a/../../b"}, "workdir="),
        ({"env": {"A": "\0"}}, "NUL"),
        ({"tree": None}, "no tree"),
    ],
)
def test_what_it_cannot_honour_is_refused_by_name(
    provider: LocalProvider, spec: SandboxSpec, change: dict[str, object], named: str
) -> None:
    with pytest.raises(Unsupported, match=re.escape(named)) as caught:
        provider.acquire(dataclasses.replace(spec, **change), labels={})  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_another_user_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(Unsupported, match="nobody-at-all"):
        sandbox.exec(["true"], user="nobody-at-all", timeout=60)
    for own in ("root", str(os.getuid())):
        assert sandbox.exec(["true"], user=own, timeout=60).exit_code == 0


def test_the_check_says_whether_anything_isolates(provider: LocalProvider) -> None:
    isolated = provider.capabilities.isolated
    said = provider.check()
    assert re.match(r"local: git \d", said)
    assert ("no isolation, network not switched off" in said) is not isolated
    assert ("none" in provider.capabilities.networks) is isolated
    assert provider.capabilities.fixed_paths is isolated


def test_without_bubblewrap_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "git").symlink_to("/usr/bin/git")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert LocalProvider(state=tmp_path).check().endswith("bubblewrap is not installed")
    with pytest.raises(EngineUnavailable, match="bubblewrap is not installed"):
        LocalProvider(state=tmp_path, isolate=True)


def test_a_bubblewrap_that_fails_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'bwrap: no permission to do that' >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    provider = LocalProvider(state=tmp_path)
    assert provider.check().endswith("bubblewrap does not work here: bwrap: no permission to do that")
    assert not provider.capabilities.isolated


def test_without_git_it_is_no_engine(monkeypatch: pytest.MonkeyPatch, plain: LocalProvider, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineUnavailable, match="needs git"):
        plain.check()


# -- the tree --------------------------------------------------------------------------------------------------------


def test_the_tree_stands_at_its_commit_and_nothing_later_is_in_it(sandbox: Sandbox, tree: Tree) -> None:
    assert sandbox.read_file("/testbed/a.txt") == b"one\n"
    assert sh(sandbox, "git rev-parse HEAD").strip() == tree.commit
    assert sh(sandbox, "git status --short --branch") == "## main\n"
    assert sh(sandbox, "git for-each-ref --format='%(refname)'") == "refs/heads/main\n"
    # The fix is in no object, not even in one that nothing points to.
    assert "the fix" not in sh(
        sandbox,
        "git cat-file --batch-all-objects --batch-check --unordered | while read id rest; do git show $id; done",
    )
    assert sh(sandbox, "cat link; ./run.sh") == "one\nran\n"
    assert sh(sandbox, "git remote; ls -d .git/logs 2>/dev/null || true") == ""


def test_a_commit_may_be_a_name(provider: LocalProvider, acquire: Callable[..., Sandbox], tree: Tree) -> None:
    latest = acquire(provider, tree=dataclasses.replace(tree, commit="trunk"))
    assert latest.read_file("/testbed/a.txt") == b"the fix\n"


def test_the_tree_is_imported_once_and_then_copied(
    provider: LocalProvider, acquire: Callable[..., Sandbox], tmp_path: Path
) -> None:
    with ThreadPoolExecutor(8) as pool:
        sandboxes = list(pool.map(lambda _: acquire(provider), range(8)))
    (prepared,) = (path for path in (tmp_path / "state" / "trees").iterdir() if path.is_dir())
    sandboxes[0].write_file("/testbed/a.txt", b"changed")
    assert (prepared / "a.txt").read_bytes() == sandboxes[1].read_file("/testbed/a.txt") == b"one\n"
    (prepared / "mark").touch()
    assert acquire(provider).read_file("/testbed/mark") == b""


@pytest.mark.parametrize(
    ("export", "commit", "says"),
    [
        (None, "trunk", "no-such-file: No such file"),
        (b"no export", "trunk", "git fast-import: fatal: Unsupported command: no export"),
        (b"", "trunk", "git branch: fatal: not a valid object name: 'trunk^{commit}'"),
        (b"reset refs/heads/trunk\n", "f" * 40, "git branch: fatal: not a valid object name: 'fff"),
        (b"", "--help", "git branch: fatal: not a valid object name: '--help^{commit}'"),
    ],
)
def test_a_tree_that_cannot_be_had_says_why(
    provider: LocalProvider, spec: SandboxSpec, tmp_path: Path, export: bytes | None, commit: str, says: str
) -> None:
    source = tmp_path / "no-such-file"
    if export is not None:
        source.write_bytes(export)
    with pytest.raises(ImageUnavailable, match=re.escape(says)):
        provider.acquire(dataclasses.replace(spec, tree=Tree(export=source, commit=commit)), labels={})
    assert [path for path in (tmp_path / "state").glob("*/*") if path.suffix != ".lock"] == []


def test_another_workdir(provider: LocalProvider, acquire: Callable[..., Sandbox]) -> None:
    sandbox = acquire(provider, workdir="/srv/app")
    assert sandbox.read_file("/srv/app/a.txt") == b"one\n"
    assert sh(sandbox, 'cd "$TESTBED" && cat a.txt; cat "$SWE_ROOT/srv/app/a.txt"') == "one\none\n"


# -- what a command sees ---------------------------------------------------------------------------------------------


def test_the_environment_is_empty_but_for_what_is_needed(
    monkeypatch: pytest.MonkeyPatch, provider: LocalProvider, acquire: Callable[..., Sandbox]
) -> None:
    for name in ("SECRET_TOKEN", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTHONPATH", "GIT_DIR", "VIRTUAL_ENV"):
        monkeypatch.setenv(name, "from outside")
    sandbox = acquire(provider, env={"OF_SPEC": "1", "BOTH": "spec"})
    printed = sandbox.exec(["/usr/bin/env", "-0"], env={"BOTH": "exec", "OF_EXEC": "a\nb"}, timeout=60).stdout
    env = dict(entry.split("=", 1) for entry in printed.decode().split("\0") if entry)
    env.pop("PWD", None)
    assert env.keys() - {"SWE_SANDBOX"} == {
        *("PATH", "HOME", "TMPDIR", "LANG", "TESTBED", "SWE_ROOT", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"),
        *("PYTHONDONTWRITEBYTECODE", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL", "GIT_CEILING_DIRECTORIES"),
        *("OF_SPEC", "OF_EXEC", "BOTH"),
    }
    assert (env["BOTH"], env["OF_SPEC"], env["OF_EXEC"]) == ("exec", "1", "a\nb")
    assert env["PATH"] == f"{Path(sys.executable).parent}:/usr/bin:/bin"


def test_home_and_temporary_directory_are_private(sandbox: Sandbox) -> None:
    sh(sandbox, 'git config --global user.name me; echo 1 > "$TMPDIR/t"; test -z "$(ls "$HOME")"')
    assert b"me" in sandbox.read_file("/swe-home/.gitconfig")
    assert sandbox.read_file("/tmp/t") == b"1\n"
    assert not os.path.exists("/tmp/t")


def test_a_pytest_inside_sees_neither_this_plugin_nor_xdist(sandbox: Sandbox) -> None:
    sandbox.write_file("/testbed/test_a.py", b"def test_a():\n    pass\n")
    printed = sh(sandbox, "python -m pytest --trace-config -p no:cacheprovider test_a.py")
    assert "1 passed" in printed
    assert "pytest_swe" not in printed
    assert "xdist" not in printed


def test_arguments_that_are_paths_inside_are_understood(sandbox: Sandbox) -> None:
    sandbox.write_file("/pytest-swe/x", b"x")
    sandbox.write_file("/data/y", b"y")
    done = sandbox.exec(["cat", "/pytest-swe/x", "/data/y", "/testbed/a.txt", "/etc/hostname"], timeout=60)
    assert done.stdout.startswith(b"xyone\n")
    assert sandbox.exec(["/testbed/run.sh"], timeout=60).stdout == b"ran\n"
    assert sandbox.exec(["/bin/pwd"], cwd="/pytest-swe", timeout=60).stdout.endswith(b"/pytest-swe\n")


def test_git_does_not_look_above_the_sandbox(sandbox: Sandbox) -> None:
    assert "not a git repository" in sh(sandbox, "rm -rf .git; git status 2>&1 || true")


def test_a_command_gets_signals_as_from_a_shell(sandbox: Sandbox) -> None:
    assert sh(sandbox, 'yes | head -n 1 >/dev/null; echo "${PIPESTATUS[*]}"') == "141 0\n"
    ignored = int(sh(sandbox, "sed -n 's/^SigIgn://p' /proc/self/status"), 16)
    assert ignored & 0x7FFFFFFF == 0


def test_a_script_that_kills_its_group_ends_like_any_other(sandbox: Sandbox) -> None:
    assert sandbox.exec(["bash", "-c", "kill -KILL 0"], timeout=60).exit_code == 137


def test_what_cannot_be_started_is_a_result(sandbox: Sandbox) -> None:
    sandbox.write_file("/testbed/data", b"\0")
    assert sandbox.exec(["no-such-program"], timeout=60).exit_code == 127
    assert sandbox.exec(["/testbed/data"], timeout=60).exit_code == 126
    assert sandbox.exec(["echo", "x" * 2**20], timeout=60).exit_code == 126
    assert sandbox.exec(["true"], cwd="/no/such", timeout=60).exit_code == 127
    with pytest.raises(Unsupported):
        sandbox.exec(["echo", "a\0b"], timeout=60)


# -- files -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_text("secret")
    return folder


def test_no_symlink_leads_out(sandbox: Sandbox, outside: Path) -> None:
    up = "../" * 30
    sandbox.upload(tar_of(link_to("abs", str(outside)), link_to("rel", f"{up}{outside}")), "/testbed")
    for name in ("abs", "rel"):
        with pytest.raises(SandboxFileError):
            sandbox.read_file(f"/testbed/{name}/secret")
        sandbox.write_file(f"/testbed/{name}/new", b"1")
        sandbox.upload(tar_of((f"{name}/newer", b"2")), "/testbed")
        assert sandbox.read_file(f"/testbed/{name}/new") == b"1"
    assert [path.name for path in outside.iterdir()] == ["secret"]


def test_dots_do_not_lead_out(sandbox: Sandbox, outside: Path) -> None:
    up = "/testbed/" + "../" * 30
    with pytest.raises(SandboxFileError):
        sandbox.read_file(f"{up}{outside}/secret")
    sandbox.write_file(f"{up}data/new", b"1")
    assert sandbox.read_file("/data/new") == b"1"
    with pytest.raises(SandboxFileError, match="leads out"):
        sandbox.upload(tar_of(("../new", b"1")), "/testbed/deep")


def test_a_link_of_a_tar_does_not_lead_out_of_its_target(sandbox: Sandbox) -> None:
    sandbox.upload(tar_of(link_to("up", ".."), ("up/new", b"1")), "/testbed/deep")
    with pytest.raises(SandboxFileError):
        sandbox.read_file("/testbed/new")


def test_a_hard_link_is_replaced_not_written_into(
    plain: LocalProvider, acquire: Callable[..., Sandbox], outside: Path
) -> None:
    sandbox = acquire(plain)
    sh(sandbox, f"ln '{outside}/secret' hard; ln '{outside}/secret' harder")
    sandbox.write_file("/testbed/hard", b"1")
    sandbox.upload(tar_of(("harder", b"1")), "/testbed")
    assert (outside / "secret").read_text() == "secret"
    assert sandbox.read_file("/testbed/harder") == b"1"


def test_links_that_name_their_own_place_are_followed(sandbox: Sandbox) -> None:
    sh(sandbox, 'ln -s "$TESTBED/a.txt" b.txt; ln -s "$TESTBED" "$TMPDIR/tree"; ln -s loop loop')
    assert sandbox.read_file("/testbed/b.txt") == sandbox.read_file("/tmp/tree/link") == b"one\n"
    with pytest.raises(SandboxFileError, match="symbolic links"):
        sandbox.read_file("/testbed/loop")


@pytest.mark.parametrize("script", ["mkfifo f", "truncate -s 1T f", "mkdir f", "true", "mkfifo g; ln -s g f"])
def test_only_a_regular_file_of_sane_size_is_read(sandbox: Sandbox, script: str) -> None:
    sh(sandbox, script)
    with pytest.raises(SandboxFileError):
        sandbox.read_file("/testbed/f")


def test_a_download_leaves_out_what_is_no_file(sandbox: Sandbox) -> None:
    sh(sandbox, "mkdir -p d/e; mkfifo d/f; echo 1 > d/e/g; ln -s /etc d/h; chmod 750 d/e")
    with tarfile.open(fileobj=io.BytesIO(sandbox.download("/testbed/d"))) as tar:
        found = {member.name: (member.type, member.mode, member.linkname) for member in tar}
    assert found.keys() == {"d", "d/e", "d/e/g", "d/h"}
    assert found["d/e"] == (tarfile.DIRTYPE, 0o750, "")
    assert found["d/h"][::2] == (tarfile.SYMTYPE, "/etc")
    sh(sandbox, "truncate -s 1T d/big")
    with pytest.raises(SandboxFileError, match="larger"):
        sandbox.download("/testbed/d")


def test_an_upload_keeps_modes_times_and_links(sandbox: Sandbox) -> None:
    script = tarfile.TarInfo("s")
    script.mode, script.mtime = 0o755, 1_000_000_000
    sandbox.upload(tar_of(script, link_to("t", "s"), link_to("u", "s", tarfile.LNKTYPE)), "/new/place")
    assert sh(sandbox, 'cd "$SWE_ROOT/new/place"; stat -c "%n %a %Y %h" s; readlink t') == "s 755 1000000000 2\ns\n"
    with pytest.raises(SandboxFileError, match="neither"):
        sandbox.upload(tar_of(link_to("fifo", "", tarfile.FIFOTYPE)), "/testbed")
    with pytest.raises(SandboxFileError, match="unpacked"):
        sandbox.upload(io.BytesIO(b"no tar" * 1000), "/testbed")


def test_what_cannot_be_written_to_is_replaced_all_the_same(sandbox: Sandbox) -> None:
    sh(sandbox, "mkdir -p d/e; echo 1 > d/e/f; chmod 400 d/e/f; chmod 500 d/e; chmod 000 d")
    sandbox.write_file("/testbed/d/e/f", b"2")
    sandbox.upload(tar_of(("d/e/g", b"3")), "/testbed")
    assert sandbox.read_file("/testbed/d/e/f") + sandbox.read_file("/testbed/d/e/g") == b"23"


def test_a_path_must_be_absolute(sandbox: Sandbox) -> None:
    for path in ("a.txt", "", "/testbed/\0"):
        with pytest.raises(SandboxFileError):
            sandbox.read_file(path)


# -- time-outs and background processes ------------------------------------------------------------------------------

#: Leaves a tree of processes behind that resist: they trap TERM, start sessions, daemonise with an empty environment,
#: and start each other anew.
RESISTS = """
trap '' TERM HUP INT
setsid sh -c 'trap "" TERM; sleep $0; true' "$1" &
(env -i setsid sh -c 'cd /; (sleep $0 &); sleep $0; true' "$1" </dev/null >/dev/null 2>&1 &)
(setsid sh -c 'while :; do sleep $0; done' "$1" &)
echo started
while :; do sleep "$1"; done
"""


def test_a_time_out_kills_the_whole_tree_and_keeps_the_output(sandbox: Sandbox, token: str) -> None:
    done = sandbox.exec(["bash", "-c", RESISTS, "bash", token], timeout=1.5)
    assert alive(token) == []
    assert (done.timed_out, done.exit_code, done.stdout) == (True, None, b"started\n")
    assert sh(sandbox, "echo still here") == "still here\n"


def test_a_time_out_of_one_command_leaves_the_others(
    plain: LocalProvider, acquire: Callable[..., Sandbox], token: str
) -> None:
    sandbox = acquire(plain)
    sh(sandbox, 'sleep "$1" >/dev/null 2>&1 &', token)
    assert sandbox.exec(["sleep", f"{token}1"], timeout=0.3).timed_out
    assert len(alive(token)) == 1 + 1, "the process and its supervisor"


def test_a_stopped_supervisor_does_not_help(
    monkeypatch: pytest.MonkeyPatch, plain: LocalProvider, acquire: Callable[..., Sandbox], token: str
) -> None:
    monkeypatch.setattr(processes, "KILL_SECONDS", 0.3)
    done = acquire(plain).exec(
        ["bash", "-c", 'kill -STOP $PPID; (sleep "$1" &); sleep "$1"', "bash", token], timeout=0.5
    )
    assert done.timed_out
    assert alive(token) == []


def test_a_killed_supervisor_loses_the_sandbox_and_leaves_nothing(
    plain: LocalProvider, acquire: Callable[..., Sandbox], token: str
) -> None:
    with pytest.raises(SandboxLost, match="supervisor"):
        acquire(plain).exec(["bash", "-c", 'kill -KILL $PPID; sleep "$1"', "bash", token], timeout=60)
    assert alive(token) == []


def test_background_processes_end_with_the_sandbox_at_the_latest(
    provider: LocalProvider, sandbox: Sandbox, token: str
) -> None:
    assert sh(sandbox, 'sleep "$1" & (setsid sleep "$1" &) ; echo done', token) == "done\n"
    if provider.capabilities.isolated:
        assert alive(token) == []
    else:
        assert len(alive(token)) == 2 + 1
    sandbox.close()
    assert alive(token) == []


def test_a_command_ends_at_the_sandboxs_deadline(
    provider: LocalProvider, acquire: Callable[..., Sandbox], token: str
) -> None:
    sandbox = acquire(provider, seconds=1.0)
    with pytest.raises(SandboxLost, match="deadline"):
        sandbox.exec(["sleep", token], timeout=600)
    assert alive(token) == []
    with pytest.raises(SandboxLost, match="deadline"):
        sandbox.read_file("/testbed/a.txt")


def test_a_deadline_needs_nobody_to_watch_it(tmp_path: Path, token: str) -> None:
    command = Command(["sh", "-c", f"setsid sleep {token} & sleep {token}"], env={}, cwd=str(tmp_path), life=0.5)
    wait_until(lambda: alive(token) == [])
    with BoundedOutput() as out, BoundedOutput() as err:
        assert command.communicate(b"", 60, out, err).exit_code is None


OWNER = """
import sys
from pathlib import Path
from pytest_swe.model import SandboxSpec, Tree
from pytest_swe.sandbox.local import LocalProvider
from pytest_swe.sandbox.output import BoundedOutput
state, export, commit, isolate, token = sys.argv[1:]
provider = LocalProvider(state=state, isolate=isolate == "True")
spec = SandboxSpec(image="tiny", tree=Tree(export=Path(export), commit=commit), trusted=True)
sandbox = provider.acquire(spec, labels={"run": "r"})
sandbox.exec(["bash", "-c", "(setsid sleep $0 &); sleep $0", token.replace("!", "")], timeout=600)
"""


def test_a_dead_owner_leaves_no_process_and_a_sweep_removes_the_rest(
    provider: LocalProvider, acquire: Callable[..., Sandbox], tree: Tree, tmp_path: Path, token: str
) -> None:
    mine = acquire(provider)
    # The owner's own command line must not hold the token.
    arguments = [str(tmp_path / "state"), str(tree.export), tree.commit, str(provider.capabilities.isolated)]
    owner = subprocess.Popen([sys.executable, "-c", OWNER, *arguments, token[:-1] + "!" + token[-1]])
    wait_until(lambda: len(alive(token)) >= 2)
    assert provider.sweep() == 0
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    wait_until(lambda: alive(token) == [])
    assert len(list((tmp_path / "state" / "local").iterdir())) == 4
    assert provider.sweep() == 1
    assert provider.sweep() == 0
    assert len(list((tmp_path / "state" / "local").iterdir())) == 2
    assert mine.read_file("/testbed/a.txt") == b"one\n"


# -- the end ---------------------------------------------------------------------------------------------------------


def test_closing_removes_everything_and_may_be_repeated(sandbox: Sandbox, tmp_path: Path) -> None:
    sh(sandbox, "mkdir -p d/e && touch d/e/f && chmod 400 d/e/f && chmod 500 d/e && chmod 000 d")
    deep = 'import os\nfor _ in range(1500):\n    os.mkdir("d")\n    os.chdir("d")\n'
    assert sandbox.exec(["python", "-c", deep], cwd="/tmp", timeout=60).exit_code == 0
    threads = [threading.Thread(target=sandbox.close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sandbox.close()
    assert list((tmp_path / "state" / "local").iterdir()) == []
    for call in (lambda: sandbox.exec(["true"], timeout=60), lambda: sandbox.read_file("/testbed/a.txt")):
        with pytest.raises(SandboxLost, match="closed"):
            call()


def test_closing_ends_a_running_command(sandbox: Sandbox, token: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(
            sandbox.exec, ["bash", "-c", 'trap "" TERM; sleep "$1"; true', "bash", token], timeout=600
        )
        wait_until(lambda: alive(token) != [])
        sandbox.close()
        with pytest.raises(SandboxLost):
            running.result(60)
    assert alive(token) == []


def test_a_sweep_by_label_takes_what_carries_all_of_them(
    provider: LocalProvider, spec: SandboxSpec, token: str
) -> None:
    one = provider.acquire(spec, labels={"run": "r", "worker": "gw0"})
    other = provider.acquire(spec, labels={"run": "r", "worker": "gw1"})
    if not provider.capabilities.isolated:
        sh(one, 'sleep "$1" >/dev/null 2>&1 &', token)
    assert provider.sweep({"run": "q", "worker": "gw0"}) == 0
    assert provider.sweep({"run": "r", "worker": "gw0"}) == 1
    assert alive(token) == []
    with pytest.raises(SandboxLost, match="removed from outside"):
        one.exec(["true"], timeout=60)
    assert sh(other, "echo here") == "here\n"
    one.close()
    assert provider.sweep({"run": "r"}) == 1


def test_a_sweep_takes_what_is_past_its_deadline(provider: LocalProvider, spec: SandboxSpec) -> None:
    late = provider.acquire(dataclasses.replace(spec, seconds=-5.0), labels={})
    with pytest.raises(SandboxLost):
        late.exec(["true"], timeout=60)
    assert provider.sweep() == 1


def test_a_sweep_touches_nothing_else(provider: LocalProvider, tmp_path: Path) -> None:
    place = tmp_path / "state" / "local"
    (place / "keep").mkdir(parents=True)
    (place / "swe-local-x.json").write_text("{broken")
    (place / "swe-local-y.json").write_text('{"labels": []}')
    assert provider.sweep() == 0
    assert provider.sweep({}) == 0
    assert len(list(place.iterdir())) == 3


def test_the_command_to_enter_it(provider: LocalProvider, acquire: Callable[..., Sandbox]) -> None:
    sandbox = acquire(provider, env={"TOKEN": "s3cr3t"})
    sandbox.write_file("/testbed/a.txt", b"changed\n")
    command = [*sandbox.attach, "-c", 'cat a.txt; echo "$TOKEN"; test "$PWD" -ef "$TESTBED" && env | grep -c PYTEST_']
    shown = subprocess.run(command, capture_output=True, text=True, cwd="/", env={"PATH": os.defpath, "PYTEST_A": "1"})
    assert shown.stdout == "changed\ns3cr3t\n1\n", shown.stderr
    assert "s3cr3t" not in " ".join(sandbox.attach)
    assert Path(sandbox.attach[-1]).stat().st_mode & 0o777 == 0o600


# -- isolation -------------------------------------------------------------------------------------------------------


if "bubblewrap" in WAYS:

    @pytest.fixture
    def isolated(tmp_path: Path, acquire: Callable[..., Sandbox]) -> Sandbox:
        return acquire(LocalProvider(state=tmp_path / "state", isolate=True))

    def test_nothing_of_the_host_is_seen_but_programs(isolated: Sandbox, tmp_path: Path) -> None:
        interpreter = {path.lstrip("/").split("/")[0] for path in bubblewrap.interpreter()}
        seen = set(sh(isolated, "ls -A /").split())
        assert seen - interpreter <= {
            *bubblewrap.SYSTEM,
            *("dev", "etc", "proc", "pytest-swe", "swe-home", "testbed", "tmp"),
        }
        home = Path("~").expanduser()
        inside = set(sh(isolated, 'ls -A "$1" 2>/dev/null || true', str(home)).split())
        assert inside <= {
            Path(path).relative_to(home).parts[0] for path in bubblewrap.interpreter() if path.startswith(str(home))
        }
        assert sh(isolated, "ls /etc/shadow /etc/ssh /etc/sudoers 2>/dev/null || true") == ""
        assert str(tmp_path) not in sh(isolated, "ls /tmp")

    def test_the_system_cannot_be_changed(isolated: Sandbox) -> None:
        for path in ("/usr/new", "/etc/new", "/bin/new", f"{sys.prefix}/new", "/proc/sys/kernel/domainname"):
            assert isolated.exec(["bash", "-c", f"echo 1 > {path}"], timeout=60).exit_code == 1, path
        assert (
            isolated.exec(["bash", "-c", "mv /usr /u || ln -sfn /tmp /etc/x || rmdir /proc"], timeout=60).exit_code == 1
        )
        assert not Path("/usr/new").exists()

    def test_its_own_places_are_its_own(isolated: Sandbox) -> None:
        isolated.write_file("/pytest-swe/a", b"1")
        assert sh(isolated, "rm -rf /pytest-swe && mkdir /new && echo 2 > /new/b && ls /pytest-swe 2>&1 || true")
        assert isolated.read_file("/new/b") == b"2\n"
        for path in ("/usr/x", "/etc/passwd", "/proc/1/environ"):
            with pytest.raises(SandboxFileError, match="belongs to the host"):
                isolated.read_file(path)

    def test_no_network_unless_asked_for(tmp_path: Path, acquire: Callable[..., Sandbox]) -> None:
        provider = LocalProvider(state=tmp_path / "state", isolate=True)
        script = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5)"
        with socket.create_server(("127.0.0.1", 0)) as server:
            command = ["python", "-c", script, str(server.getsockname()[1])]
            assert acquire(provider).exec(command, timeout=60).exit_code == 1
            assert acquire(provider, network="full").exec(command, timeout=60).exit_code == 0

    def test_other_processes_are_not_seen(isolated: Sandbox, token: str) -> None:
        with subprocess.Popen(["sleep", token]) as other:
            wait_until(lambda: alive(token) != [])
            seen = sh(isolated, "cat /proc/[0-9]*/cmdline")
            other.kill()
        assert "cat" in seen
        assert token not in seen

    def test_a_workdir_where_the_host_stands_is_refused(tmp_path: Path, spec: SandboxSpec) -> None:
        provider = LocalProvider(state=tmp_path / "state", isolate=True)
        with pytest.raises(Unsupported, match=r"workdir=/usr/src/app, where the host's own files stand"):
            provider.acquire(dataclasses.replace(spec, workdir="/usr/src/app"), labels={})


# -- its place on the host -------------------------------------------------------------------------------------------


def test_state_stands_in_the_users_state_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert state_directory() == tmp_path / "xdg" / "pytest-swe"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_directory() == tmp_path / ".local" / "state" / "pytest-swe"
    assert state_directory().stat().st_mode & 0o777 == 0o700


def test_without_a_home_it_stands_in_the_temporary_directory_if_that_is_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "no-directory").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "no-directory"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    place = state_directory()
    assert place == tmp_path / f"pytest-swe-{os.getuid()}"
    place.chmod(0o777)
    with pytest.raises(PermissionError, match="by others"):
        state_directory()
