"""Runs inside a sandbox, once per errand of the host to the relay there.

    errand.py look PORT                  whether a relay can be reached from this command
    errand.py take SECONDS patient|once  print the next request; patient: wait for a relay too
    errand.py give                       an answer comes on stdin
    errand.py stop                       end the relay and remove the directory of both

A script of its own, apart from ``relay.py``, because each call of a model waits for two of these: for Python 3.6 and
later, with imports that cost nothing (``socket`` and ``json`` took as long as the interpreter itself).
"""

import os
import sys
import time
from _socket import AF_INET, AF_UNIX, SOCK_STREAM, socket

#: Exit statuses beside 0: there is no request; there is no relay.
NOTHING = 10
GONE = 11

#: Names in the directory, which is also the working directory: a path of a socket has room for a hundred bytes only.
SOCKET = "socket"
PID = "pid"
CLOSED = "closed"

CHUNK = 256 * 1024
#: Seconds that a relay may take to do what it is told, beyond those for which it waits on purpose.
PATIENCE = 60.0
#: Seconds between two looks for a relay that is not there yet.
LOOK_AGAIN = 0.02


def connected(seconds: float) -> socket:
    made = socket(AF_UNIX, SOCK_STREAM)
    made.settimeout(seconds)
    made.connect(SOCKET)
    return made


def look(port: int) -> int:
    connected(PATIENCE)
    other = socket(AF_INET, SOCK_STREAM)
    other.settimeout(PATIENCE)
    other.connect(("127.0.0.1", port))
    return 0


def take(seconds: float, patient: bool) -> int:
    end = time.monotonic() + seconds
    while True:
        try:
            relay = connected(seconds + PATIENCE)
            break
        except OSError:
            if not patient or os.path.exists(CLOSED):
                return GONE
            if time.monotonic() > end:
                return NOTHING
            time.sleep(LOOK_AGAIN)
    relay.sendall(b"take %f\n" % max(0.0, end - time.monotonic()))
    return _printed(relay)


def _printed(relay: socket) -> int:
    """Print a request: its length and a newline come before it. The relay keeps it until it hears of its arrival."""
    size = b""
    while not size.endswith(b"\n"):
        part = relay.recv(1)
        if not part:
            return GONE
        size += part
    left = int(size)
    if not left:
        return NOTHING
    while left > 0:
        part = relay.recv(min(CHUNK, left))
        if not part:
            return GONE
        sys.stdout.buffer.write(part)
        left -= len(part)
    sys.stdout.buffer.flush()
    relay.sendall(b"k")
    return 0


def give() -> int:
    answer = sys.stdin.buffer.read()
    relay = connected(PATIENCE)
    relay.sendall(b"give %d\n" % len(answer))
    relay.sendall(answer)
    return 0 if relay.recv(1) else GONE


def stop(directory: str) -> int:
    try:
        relay = connected(2)
        relay.sendall(b"stop\n")
        relay.recv(1)
    except OSError:
        kill()
    # Imported only here: see the module.
    import shutil

    shutil.rmtree(directory, ignore_errors=True)
    return 0


def kill() -> None:
    """End a relay that does not answer, if it is one: the file may say anything."""
    try:
        with open(PID) as file:
            pid = int(file.read(20))
        with open(f"/proc/{pid}/cmdline", "rb") as cmdline:
            ours = any(os.path.basename(word) == b"relay.py" for word in cmdline.read().split(b"\0"))
        if ours and pid > 1:
            os.kill(pid, 9)
    except (OSError, ValueError):
        pass


def main(words: "list[str]") -> int:
    home = os.path.dirname(os.path.abspath(__file__))
    os.chdir(home)
    try:
        if words[0] == "look":
            return look(int(words[1]))
        if words[0] == "take":
            return take(float(words[1]), words[2] == "patient")
        return give() if words[0] == "give" else stop(home)
    except (OSError, ValueError):
        return GONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
