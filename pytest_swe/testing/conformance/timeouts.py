"""Conformance: a command at its time-out, whatever it does to survive it."""

from __future__ import annotations

import time
from collections.abc import Callable

from pytest_swe.sandbox.base import Sandbox
from pytest_swe.testing.conformance.fixtures import command_lines, new_marker, shell

#: Seconds for dead processes to leave /proc.
GONE = 5.0


def test_time_out_kills_the_tree_and_keeps_what_was_printed(sandbox: Sandbox) -> None:
    """A child, one that traps, a session of its own, a daemon (double fork): all are gone afterwards."""
    marker = new_marker()
    script = f"""
        echo printed before
        trap '' TERM INT HUP QUIT
        sleep {marker} &
        ( trap '' TERM INT HUP; sleep {marker}; sleep {marker} ) &
        command -v setsid >/dev/null && setsid sleep {marker} &
        ( ( trap '' TERM HUP; exec sleep {marker} ) >/dev/null 2>&1 </dev/null & )
        while :; do sleep {marker}; done
    """
    result = sandbox.exec(["sh", "-c", script], timeout=1)
    assert (result.exit_code, result.timed_out) == (None, True)
    assert result.stdout == b"printed before\n"
    assert result.seconds >= 1
    _assert_gone(sandbox, marker)


def test_time_out_of_a_command_that_closed_its_streams(sandbox: Sandbox) -> None:
    marker = new_marker()
    result = sandbox.exec(["sh", "-c", f"echo early; exec >&- 2>&-; sleep {marker}"], timeout=1)
    assert (result.exit_code, result.timed_out, result.stdout) == (None, True, b"early\n")
    _assert_gone(sandbox, marker)


def test_time_out_of_a_command_that_never_stops_printing(sandbox: Sandbox) -> None:
    result = sandbox.exec(["sh", "-c", "while :; do echo again; done"], timeout=1)
    assert (result.exit_code, result.timed_out) == (None, True)
    assert result.stdout.startswith(b"again\nagain\n")
    assert shell(sandbox, "echo answers") == "answers\n"


def test_time_out_of_a_command_that_does_not_read_its_stdin(sandbox: Sandbox) -> None:
    marker = new_marker()
    result = sandbox.exec(["sleep", marker], stdin=b"x" * 5_000_000, timeout=1)
    assert (result.exit_code, result.timed_out) == (None, True)
    _assert_gone(sandbox, marker)


def test_files_stay_after_a_time_out(sandbox: Sandbox, at: Callable[[str], str]) -> None:
    sandbox.exec(["sh", "-c", "echo partial > partial; sleep 600"], timeout=1)
    assert sandbox.read_file(at("partial")) == b"partial\n"


def _assert_gone(sandbox: Sandbox, marker: str) -> None:
    deadline = time.monotonic() + GONE
    while marker in (found := command_lines(sandbox)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert marker not in found
