"""Conformance: commands, what they are given and what comes back."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_swe.errors import SweError, Unsupported
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import OUTPUT_HEAD, OUTPUT_TAIL, ROOT, Sandbox, SandboxProvider
from pytest_swe.testing.conformance.fixtures import SOON, Acquire, assert_refused, shell

#: Names are simple, values are not.
ODD_VALUES = {
    "ODD_SPACE": " a  b ",
    "ODD_LINES": "one\ntwo\n",
    "ODD_QUOTES": "'\"`$HOME$(id)\\",
    "ODD_EQUALS": "a=b=c",
    "ODD_UNICODE": "äß→\u2028",
    "ODD_EMPTY": "",
    "ODD_DASH": "-n -e",
}


def test_sandbox_is_one(sandbox: Sandbox) -> None:
    assert isinstance(sandbox, Sandbox)
    assert sandbox.id
    assert sandbox.attach
    assert all(isinstance(word, str) for word in sandbox.attach)


@pytest.mark.parametrize("code", [0, 1, 2, 126, 127, 137, 255])
def test_exit_code_is_a_result(sandbox: Sandbox, code: int) -> None:
    result = sandbox.exec(["sh", "-c", f"exit {code}"], timeout=SOON)
    assert (result.exit_code, result.timed_out, result.dropped) == (code, False, 0)
    assert result.argv == ("sh", "-c", f"exit {code}")


def test_death_by_a_signal_is_a_result(sandbox: Sandbox) -> None:
    result = sandbox.exec(["sh", "-c", "echo before; kill -9 $$"], timeout=SOON)
    assert result.exit_code not in (0, None)
    assert result.stdout == b"before\n"
    assert shell(sandbox, "echo still here") == "still here\n"


def test_command_not_found_is_a_result(sandbox: Sandbox) -> None:
    assert sandbox.exec(["no-such-command-anywhere"], timeout=SOON).exit_code in (126, 127)


@pytest.mark.parametrize("command", ["true", b"true", []])
def test_a_string_is_no_command(sandbox: Sandbox, command: list[str]) -> None:
    with pytest.raises(TypeError):
        sandbox.exec(command, timeout=SOON)


def test_arguments_arrive_as_they_are(sandbox: Sandbox) -> None:
    arguments = ["a b", "", "$HOME", "'\"\\", "*", "ä→", "-n", "two\nlines"]
    result = sandbox.exec(["printf", "[%s]", *arguments], timeout=SOON)
    assert result.stdout.decode() == "".join(f"[{argument}]" for argument in arguments)


def test_streams_arrive_apart(sandbox: Sandbox) -> None:
    result = sandbox.exec(["sh", "-c", "echo out; echo err >&2"], timeout=SOON)
    assert (result.stdout, result.stderr) == (b"out\n", b"err\n")


def test_streams_merged_inside_keep_their_order(sandbox: Sandbox) -> None:
    script = "exec 2>&1; i=0; while [ $i -lt 500 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done"
    expected = "".join(f"out {number}\nerr {number}\n" for number in range(500))
    assert shell(sandbox, script) == expected


def test_output_is_bytes(sandbox: Sandbox) -> None:
    result = sandbox.exec(["printf", r"\000\377\r\n\302"], timeout=SOON)
    assert result.stdout == b"\x00\xff\r\n\xc2"


def test_output_is_bounded_and_says_so(sandbox: Sandbox) -> None:
    size = 200_000_000
    script = f"echo first; head -c {size} /dev/zero | tr '\\0' x; echo last"
    result = sandbox.exec(["sh", "-c", script], timeout=5 * SOON)
    assert result.exit_code == 0
    assert result.stdout.startswith(b"first\nxxx")
    assert result.stdout.endswith(b"xxxlast\n")
    kept = OUTPUT_HEAD + OUTPUT_TAIL
    assert result.dropped == size + len(b"first\nlast\n") - kept
    line = f"\n[... {result.dropped} bytes left out ...]\n".encode()
    assert result.stdout.count(line) == 1
    assert len(result.stdout) == kept + len(line)


def test_what_a_command_leaves_running_does_not_hold_it(sandbox: Sandbox) -> None:
    result = sandbox.exec(["sh", "-c", "sleep 300 & echo done"], timeout=SOON)
    assert (result.exit_code, result.timed_out, result.stdout) == (0, False, b"done\n")


def test_a_command_that_closes_its_streams_is_waited_for(sandbox: Sandbox) -> None:
    result = sandbox.exec(["sh", "-c", "exec >&- 2>&-; sleep 1; exit 7"], timeout=SOON)
    assert (result.exit_code, result.timed_out) == (7, False)


def test_orphans_do_not_stay_as_zombies(sandbox: Sandbox) -> None:
    shell(sandbox, "i=0; while [ $i -lt 20 ]; do (sleep 0 &); i=$((i+1)); done; sleep 1")
    assert shell(sandbox, "cat /proc/[0-9]*/stat 2>/dev/null | grep -c ' Z ' || true") == "0\n"


@pytest.mark.parametrize(
    "data", [b"x", b"\x00\xff\r\n", b"0123456789abcdef" * 64 * 1024], ids=["one", "binary", "1MiB"]
)
def test_stdin_arrives_whole_and_ends(sandbox: Sandbox, data: bytes) -> None:
    result = sandbox.exec(["cat"], stdin=data, timeout=SOON)
    assert (result.exit_code, result.stdout == data) == (0, True)


def test_without_stdin_a_reader_sees_its_end(sandbox: Sandbox) -> None:
    result = sandbox.exec(["cat"], timeout=SOON)
    assert (result.exit_code, result.timed_out, result.stdout) == (0, False, b"")


def test_a_command_need_not_read_its_stdin(sandbox: Sandbox) -> None:
    assert sandbox.exec(["true"], stdin=b"x" * 5_000_000, timeout=SOON).exit_code == 0


@pytest.mark.parametrize("name", ODD_VALUES)
def test_env_of_a_command_arrives_as_it_is(sandbox: Sandbox, name: str) -> None:
    result = sandbox.exec(["sh", "-c", f'printf "[%s]" "${name}"'], env=ODD_VALUES, timeout=SOON)
    assert result.stdout.decode() == f"[{ODD_VALUES[name]}]"


def test_env_of_a_command_is_for_that_command(sandbox: Sandbox) -> None:
    sandbox.exec(["true"], env={"ONLY_ONCE": "x"}, timeout=SOON)
    assert shell(sandbox, 'printf "[%s]" "$ONLY_ONCE"') == "[]"


def test_env_of_the_spec_is_for_all_commands_and_the_command_wins(acquire: Acquire) -> None:
    made = acquire(env={**ODD_VALUES, "SPEC": "spec", "BOTH": "spec"})
    script = 'printf "%s,%s,%s" "$SPEC" "$BOTH" "$ODD_LINES"'
    result = made.exec(["sh", "-c", script], env={"BOTH": "command"}, timeout=SOON)
    assert result.stdout == b"spec,command,one\ntwo\n"


def test_env_of_the_host_does_not_leak(acquire: Acquire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST_CANARY", "chirp")
    assert "HOST_CANARY" not in shell(acquire(), "env")


def test_secrets_are_on_no_command_line_of_the_host(acquire: Acquire) -> None:
    spec_secret, secret, typed = (f"secret-{uuid.uuid4().hex}" for _ in range(3))
    made = acquire(env={"SPEC_SECRET": spec_secret})
    done = threading.Event()

    def run() -> None:
        made.exec(["sleep", "1"], env={"SECRET": secret}, stdin=typed.encode(), timeout=SOON)
        done.set()

    seen: set[bytes] = set()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run)
        while not done.wait(0.02) and not running.done():
            seen |= {_command_line(process) for process in Path("/proc").glob("[0-9]*")}
        running.result()
    text = b"\n".join(seen)
    assert b"sleep" in text
    assert not [word for word in (spec_secret, secret, typed) if word.encode() in text]


def _command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_work_directory_is_where_commands_start(
    provider: SandboxProvider, sandbox: Sandbox, sandbox_spec: SandboxSpec, at: Callable[[str], str]
) -> None:
    sandbox.write_file(at("here"), b"found")
    assert shell(sandbox, "cat here") == "found"
    if provider.capabilities.fixed_paths:
        assert shell(sandbox, "pwd") == sandbox_spec.workdir + "\n"


def test_cwd_of_a_command(sandbox: Sandbox, at: Callable[[str], str]) -> None:
    sandbox.write_file(at("sub dir/here"), b"below")
    assert sandbox.exec(["cat", "here"], cwd=at("sub dir"), timeout=SOON).stdout == b"below"


def test_user_of_a_command(provider: SandboxProvider, sandbox: Sandbox) -> None:
    if not provider.capabilities.users:
        with pytest.raises(Unsupported, match="user"):
            sandbox.exec(["id", "-u"], user="12345", timeout=SOON)
        # Our own commands ask for root by its number; where there are no users it stands for the only one.
        assert sandbox.exec(["true"], user=ROOT, timeout=SOON).exit_code == 0
        return
    assert sandbox.exec(["id", "-u"], user="12345", timeout=SOON).stdout == b"12345\n"


def test_user_of_the_spec(provider: SandboxProvider, acquire: Acquire) -> None:
    if not provider.capabilities.users:
        assert_refused(acquire, user="12345")
        return
    made = acquire(user="12345")
    assert shell(made, "id -u") == "12345\n"
    assert made.exec(["id", "-u"], user="root", timeout=SOON).stdout == b"0\n"


def test_commands_run_at_once_in_one_sandbox(sandbox: Sandbox) -> None:
    with ThreadPoolExecutor(4) as pool:
        printed = pool.map(lambda number: shell(sandbox, f"sleep 0.2; echo {number}"), range(8))
        assert list(printed) == [f"{number}\n" for number in range(8)]


def test_text_that_cannot_be_carried_is_refused_or_carried(sandbox: Sandbox) -> None:
    """Bytes that are no UTF-8 (as Python's file names have them) must not be changed in silence."""
    try:
        result = sandbox.exec(["printf", "%s", "\udcff"], timeout=SOON)
    except SweError:
        return
    assert result.stdout == b"\xff"
