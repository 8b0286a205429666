"""Runs one command as the ancestor of all that comes of it, so that nothing of it can be lost or left behind.

A script of its own (``python -I -S supervisor.py CONTROL STATUS SECONDS COMMAND...``); it imports nothing of the
package. It is a *child subreaper*: what forks, daemonises or starts a session becomes its child, never init's.

* CONTROL is the reading end of a pipe. At its end (the owner closed it, or died) everything is killed.
* SECONDS after the start everything is killed too.
* STATUS is the writing end of a pipe. It gets ``b"<exit code> <0 or 1>\\n"`` when the command has ended; 1 says that
  processes are left in the background: then the supervisor stays with them. It gets nothing if all was killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import signal
import sys
import time
from collections.abc import Iterator

# linux/prctl.h
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

#: Python ignores the first two, a shell that starts pytest in the background the next two; a command must not.
RESET_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM)


def main(arguments: list[str]) -> None:
    control, status, deadline = int(arguments[0]), int(arguments[1]), time.monotonic() + float(arguments[2])
    command = arguments[3:]
    os.set_inheritable(control, False)
    os.set_inheritable(status, False)
    _prctl(PR_SET_CHILD_SUBREAPER)
    # Nothing can change its user (sudo, setuid programs), so everything can be killed.
    _prctl(PR_SET_NO_NEW_PRIVS)
    wake = _wake_on_child()
    try:
        # A session of its own: a script that ends with `kill 0` must not reach this process.
        child = os.posix_spawnp(
            command[0], command, os.environ, setsid=True, setsigmask=(), setsigdef=list(RESET_SIGNALS)
        )
    except OSError as error:
        # As a shell says it: 127 for what is not there, 126 for what cannot be run.
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os.write(status, b"%d 0\n" % (127 if error.errno == errno.ENOENT else 126))
        return
    _let_go_of_streams()
    _watch(child, control, wake, status, deadline)


def _watch(child: int, control: int, wake: int, status: int, deadline: float) -> None:
    while True:
        seconds = deadline - time.monotonic()
        ready = select.select([control, wake], [], [], seconds)[0] if seconds > 0 else []
        if control in ready or not ready:
            _kill_descendants()
            return
        os.read(wake, 4096)
        ended, any_left = _reap()
        if child in ended:
            with contextlib.suppress(BrokenPipeError):
                os.write(status, b"%d %d\n" % (ended[child], any_left))
        if not any_left:
            return


def _reap() -> tuple[dict[int, int], bool]:
    """Exit codes of the children that have ended (128 + N for signal N), and whether others run."""
    ended: dict[int, int] = {}
    try:
        while True:
            pid, wait_status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return ended, True
            code = os.waitstatus_to_exitcode(wait_status)
            ended[pid] = code if code >= 0 else 128 - code
    except ChildProcessError:
        return ended, False


def _kill_descendants() -> None:
    """Kill until no child is left: what is orphaned by one round is a child in the next."""
    try:
        while True:
            for pid in _descendants():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)
    except ChildProcessError:
        return


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found = [os.getpid()]
    for pid in found:
        found += children.get(pid, ())
    return found[1:]


def _parents() -> Iterator[tuple[int, int]]:
    """Every process with its parent. The name before the fields may hold spaces and brackets."""
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", "rb") as stat:
                yield int(entry), int(stat.read().rpartition(b")")[2].split()[1])


def _let_go_of_streams() -> None:
    """Only the command holds its streams, or their readers would wait for this process."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _wake_on_child() -> int:
    """A file descriptor that can be read whenever a child has ended."""
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    return reading


def _prctl(option: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    main(sys.argv[1:])
