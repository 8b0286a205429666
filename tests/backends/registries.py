"""A real registry, and what stands before it in these tests: a proxy that answers badly when it is told to."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

CONFIG = """\
version: 0.1
log: {{level: error}}
storage: {{filesystem: {{rootdirectory: {place}}}, delete: {{enabled: true}}}}
http: {{addr: 127.0.0.1:{port}}}
"""
#: Seconds in which a registry must be there.
STARTED = 60


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def registry(place: Path) -> Iterator[int]:
    """Debian's docker-registry on a port of its own."""
    port = free_port()
    config = place / "config.yml"
    config.write_text(CONFIG.format(place=place / "data", port=port))
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(["docker-registry", "serve", str(config)], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + STARTED
        while not _answers(port):
            assert process.poll() is None, (place / "log").read_text()
            assert time.monotonic() < deadline, "the registry does not answer"
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(30)


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@dataclass
class Request:
    """One request as the proxy saw it. ``by_engine``: not by our own client."""

    method: str
    path: str
    by_engine: bool


#: What to do with a request: None passes it on, else it is answered by (status, headers), or cut, or left waiting.
Trouble = Callable[[Request], "tuple[int, dict[str, str]] | str | None"]


@dataclass
class Proxy:
    """Before the registry at ``port``; ``trouble`` decides about every request, ``seen`` keeps them."""

    registry_port: int
    trouble: Trouble = lambda request: None
    seen: list[Request] = field(default_factory=list)
    port: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def pulls(self) -> int:
        """How often the engine began to pull: it asks for the head of a manifest by its tag, then for all of it."""
        return sum("/manifests/" in r.path and r.method == "HEAD" and r.by_engine for r in self.seen)

    @property
    def blobs(self) -> list[str]:
        """Blobs that were fetched, in order."""
        return [request.path.rpartition("/")[2] for request in self.seen if "/blobs/" in request.path]


@contextlib.contextmanager
def proxy(registry_port: int) -> Iterator[Proxy]:
    made = Proxy(registry_port)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"made": made}))
    server.daemon_threads = True
    made.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield made
    finally:
        made.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    """Made for one proxy, see there."""

    protocol_version = "HTTP/1.1"
    made: Proxy

    def do_GET(self) -> None:
        agent = self.headers.get("User-Agent", "")
        request = Request(self.command, self.path, not agent.startswith("Python-urllib"))
        self.made.seen.append(request)
        answer = self.made.trouble(request)
        if answer is None:
            self._pass_on()
        elif answer == "hang":
            self.made.ended.wait(60)
            self.close_connection = True
        elif answer == "reset":
            # With unread or unsent data and no lingering the kernel sends RST.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.connection.close()
            self.close_connection = True
        else:
            assert not isinstance(answer, str)
            self._refuse(*answer)

    do_HEAD = do_GET

    def _refuse(self, status: int, headers: dict[str, str]) -> None:
        codes = {429: "TOOMANYREQUESTS", 401: "UNAUTHORIZED", 404: "MANIFEST_UNKNOWN"}
        body = b'{"errors": [{"code": "%s", "message": "told so"}]}' % codes.get(status, "UNKNOWN").encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _pass_on(self) -> None:
        upstream = http.client.HTTPConnection("127.0.0.1", self.made.registry_port, timeout=60)
        # An engine has a line for each type that it takes, in any order: the registry is to see them all.
        names = {name.lower() for name in self.headers if name.lower() != "connection"}
        headers = {name: ", ".join(self.headers.get_all(name, [])) for name in names}
        upstream.request(self.command, self.path, headers=headers)
        answer = upstream.getresponse()
        body = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "date", "server"):
                self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        upstream.close()

    def log_message(self, *_: object) -> None: ...
