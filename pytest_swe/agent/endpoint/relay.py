"""Runs inside a sandbox: listens on its loopback for the agent's client, and keeps each request until it is fetched.

    relay.py start PORT LIMIT           listen, detached (PORT 0: any); prints port and interpreter as JSON
    relay.py within PORT LIMIT WORD...  listen, and become the command WORD...

The host fetches requests and brings answers through ``errand.py``. A script of its own for Python 3.6 and later,
standard library only, that imports nothing of the package. It knows nothing that is secret. A frame is one line of
JSON, and a body. LIMIT bounds the bytes of a request's body.
"""

import collections
import contextlib
import http.server
import json
import os
import signal
import socket
import socketserver
import sys
import threading

#: The exit status when the port is taken.
CANNOT_LISTEN = 125

#: Requests that are under way, and connections of clients; more are turned away.
OUTSTANDING = 64
CONNECTIONS = 256

#: Seconds for which a client may be silent, and for which it may wait for an answer.
IDLE = 120
PATIENCE = 3600

#: Bytes of a body that is too large which are read all the same, so that its sender hears why.
DISCARD = 64 * 1024 * 1024
CHUNK = 256 * 1024

#: Names in the directory of both scripts.
SOCKET = "socket"
PID = "pid"


class TooLarge(Exception):
    """A body is over the limit."""


class Letter:
    """One request on its way out, and its answer on the way back."""

    def __init__(self, name: str, frame: bytes) -> None:
        self.name = name
        self.frame = frame
        self.answered = threading.Event()
        self.header: dict[str, object] = {}
        self.body = b""


class Desk:
    """Requests that wait, and those that were taken. For many threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: collections.deque[Letter] = collections.deque()
        self._letters: dict[str, Letter] = {}

    def post(self, header: "dict[str, object]", body: bytes) -> "Letter | None":
        """A new request; None when too many are under way."""
        name = os.urandom(8).hex()
        line = json.dumps(dict(header, id=name, length=len(body))).encode("ascii")
        letter = Letter(name, line + b"\n" + body)
        with self._changed:
            if len(self._letters) >= OUTSTANDING:
                return None
            self._letters[name] = letter
            self._waiting.append(letter)
            self._changed.notify()
        return letter

    def take(self, seconds: float) -> "Letter | None":
        """The request that has waited longest."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting), seconds)
            return self._waiting.popleft() if self._waiting else None

    def put_back(self, letter: Letter) -> None:
        """Who took it has gone."""
        with self._changed:
            self._waiting.appendleft(letter)
            self._changed.notify()

    def give(self, header: "dict[str, object]", body: bytes) -> None:
        with self._changed:
            letter = self._letters.pop(str(header.get("id")), None)
        if letter is not None:
            letter.header, letter.body = header, body
            letter.answered.set()

    def forget(self, letter: Letter) -> None:
        with self._changed:
            self._letters.pop(letter.name, None)
            with contextlib.suppress(ValueError):
                self._waiting.remove(letter)


class Front(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """What the agent's client connects to."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, port: int, limit: int, desk: Desk) -> None:
        self.limit = limit
        self.desk = desk
        self._room = threading.BoundedSemaphore(CONNECTIONS)
        super().__init__(("127.0.0.1", port), Client)

    def process_request(self, request: "socket.socket | tuple[bytes, socket.socket]", client_address: object) -> None:
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(
        self, request: "socket.socket | tuple[bytes, socket.socket]", client_address: object
    ) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: "socket.socket | tuple[bytes, socket.socket]", client_address: object) -> None:
        """A client that went away is nobody's trouble."""


class Client(http.server.BaseHTTPRequestHandler):
    """One connection of the agent's client."""

    server: Front
    protocol_version = "HTTP/1.1"
    timeout = IDLE
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        try:
            body = self._body()
        except TooLarge:
            self._refuse(413, f"the request is larger than the {self.server.limit} bytes that are allowed")
            self._discard()
            return
        except ValueError:
            self._refuse(400, "the body's length cannot be read")
            return
        names = {name.lower(): value for name, value in self.headers.items()}
        letter = self.server.desk.post({"method": self.command, "path": self.path, "headers": names}, body)
        if letter is None:
            self._refuse(503, "too many requests are under way")
        elif letter.answered.wait(PATIENCE):
            self._answer(letter)
        else:
            self.server.desk.forget(letter)
            self._refuse(504, "there was no answer in time")

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is written: who would read it."""

    def _answer(self, letter: Letter) -> None:
        headers = letter.header.get("headers")
        self.send_response(int(str(letter.header.get("status"))))
        for name, value in headers.items() if isinstance(headers, dict) else ():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(letter.body)))
        self.end_headers()
        self.wfile.write(letter.body)

    def _refuse(self, status: int, message: str) -> None:
        text = json.dumps({"type": "error", "error": {"type": "relay", "message": message}}).encode("ascii")
        self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text)

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return self._chunks()
        length = int(self.headers.get("Content-Length") or 0)
        if length < 0:
            raise ValueError
        if length > self.server.limit:
            raise TooLarge
        body = self.rfile.read(length)
        if len(body) < length:
            raise ValueError
        return body

    def _chunks(self) -> bytes:
        parts: list[bytes] = []
        left = self.server.limit
        while True:
            size = int(self.rfile.readline(1024).split(b";")[0], 16)
            left -= size
            if size < 0:
                raise ValueError
            if left < 0:
                raise TooLarge
            parts.append(self.rfile.read(size))
            if not size:
                break
            self.rfile.readline(16)
        while self.rfile.readline(65536).strip():
            pass
        return b"".join(parts)

    def _discard(self) -> None:
        left = DISCARD
        while left > 0:
            part = self.rfile.read1(CHUNK)
            if not part:
                return
            left -= len(part)


class Back(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """What the other commands of this script connect to."""

    daemon_threads = True

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        with contextlib.suppress(FileNotFoundError):
            os.unlink(SOCKET)
        super().__init__(SOCKET, Command)
        os.chmod(SOCKET, 0o600)

    def handle_error(self, request: "socket.socket | tuple[bytes, socket.socket]", client_address: object) -> None:
        """As of `Front`."""


class Command(socketserver.StreamRequestHandler):
    """One command of this script; ends the whole relay at ``stop``."""

    server: Back

    def handle(self) -> None:
        words = self.rfile.readline(100).split()
        if words[:1] == [b"take"]:
            self._take(float(words[1]))
        elif words[:1] == [b"give"]:
            frame = self.rfile.read(int(words[1]))
            if len(frame) == int(words[1]):
                line, _, body = frame.partition(b"\n")
                self.server.desk.give(json.loads(line.decode("ascii")), body)
                self.wfile.write(b"k")
        elif words == [b"stop"]:
            os._exit(0)

    def _take(self, seconds: float) -> None:
        letter = self.server.desk.take(seconds)
        if letter is None:
            self.wfile.write(b"0\n")
            return
        kept = False
        try:
            self.wfile.write(b"%d\n" % len(letter.frame))
            self.wfile.write(letter.frame)
            kept = self.rfile.read(1) == b"k"
        finally:
            if not kept:
                self.server.desk.put_back(letter)


def listen(port: int, limit: int) -> "tuple[Front, Back]":
    desk = Desk()
    return Front(port, limit, desk), Back(desk)


def detach(front: Front, back: Back) -> None:
    """Serve in a process that belongs to nobody; return in this one."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        front.socket.close()
        back.socket.close()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    with open(PID, "w") as file:
        file.write(str(os.getpid()))
    threading.Thread(target=back.serve_forever, daemon=True).start()
    front.serve_forever()


def start(port: int, limit: int) -> int:
    try:
        front, back = listen(port, limit)
    except OSError as error:
        sys.stderr.write(f"the relay cannot listen: {error}\n")
        return CANNOT_LISTEN
    found = front.server_address[1]
    detach(front, back)
    print(json.dumps({"port": found, "python": sys.executable}))
    return 0


def within(port: int, limit: int, directory: str, command: "list[str]") -> int:
    """Become ``command``, in the directory and with the signals that this script was started with."""
    try:
        front, back = listen(port, limit)
    except OSError as error:
        sys.stderr.write(f"the relay cannot listen: {error}\n")
        return CANNOT_LISTEN
    detach(front, back)
    os.chdir(directory)
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return 127 if isinstance(error, FileNotFoundError) else 126


def main(words: "list[str]") -> int:
    came_from = os.getcwd()
    home = os.path.dirname(os.path.abspath(__file__))
    # A path of a socket has room for a hundred bytes only; a name in this directory always fits.
    os.chdir(home)
    os.chmod(home, 0o700)
    port, limit = int(words[1]), int(words[2])
    return start(port, limit) if words[0] == "start" else within(port, limit, came_from, words[3:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
