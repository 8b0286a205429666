"""What tests of the endpoint in sandboxes share: a client that runs inside, and what is seen from there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pytest_swe.agent.endpoint.gate import Opened
from pytest_swe.sandbox.base import Sandbox

#: Reads one line of JSON, then a body; asks as often and as many at a time as it is told; prints a line per answer.
CLIENT = """
import concurrent.futures, http.client, json, sys, time
from urllib.parse import urlsplit
order, _, body = sys.stdin.buffer.read().partition(b"\\n")
order = json.loads(order)
url = urlsplit(order["url"])
body = body * order["times_body"]

def ask(number):
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=120)
    begun = time.perf_counter()
    try:
        sent = iter([body[:10], body[10:]]) if order["chunked"] else body
        connection.request(order["method"], url.path + order["call"], sent or None, order["headers"])
        answer = connection.getresponse()
        found = answer.read()
        said = {"status": answer.status, "headers": dict(answer.getheaders()), "length": len(found)}
        said["body"] = found[:100000].decode("latin-1")
    except (OSError, http.client.HTTPException) as error:
        said = {"status": 0, "headers": {}, "length": 0, "body": repr(error)}
    return dict(said, seconds=time.perf_counter() - begun)

with concurrent.futures.ThreadPoolExecutor(order["parallel"]) as pool:
    for said in pool.map(ask, range(order["count"])):
        print(json.dumps(said))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """One answer as a client inside got it; status 0 for none."""

    status: int
    headers: dict[str, str]
    body: str
    length: int
    seconds: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    opened: Opened,
    body: bytes = b'{"model": "m", "messages": []}',
    *,
    call: str = "/v1/chat/completions",
    method: str = "POST",
    headers: dict[str, str] | None = None,
    count: int = 1,
    parallel: int = 1,
    chunked: bool = False,
    times_body: int = 1,
    url: str = "",
) -> list[Got]:
    """Ask from a command inside, ``count`` times."""
    order = {
        "url": url or opened.endpoint.url,
        "call": call,
        "method": method,
        "headers": headers or {"Content-Type": "application/json"},
        "count": count,
        "parallel": parallel,
        "chunked": chunked,
        "times_body": times_body,
    }
    stdin = json.dumps(order).encode() + b"\n" + body
    done = opened.sandbox.exec(["python3", "-c", CLIENT], stdin=stdin, timeout=300)
    assert done.exit_code == 0, done
    return [Got(**json.loads(line)) for line in done.stdout.splitlines()]


def shell(sandbox: Sandbox, script: str, user: str | None = None) -> str:
    """What a script prints, whatever its exit status."""
    done = sandbox.exec(["sh", "-c", script], user=user, timeout=120)
    assert not done.timed_out
    return (done.stdout + done.stderr).decode("utf-8", "replace")


#: Prints the command lines of all processes, without a program that an image may lack.
PROCESSES = "for place in /proc/[0-9]*; do tr '\\0' ' ' <$place/cmdline 2>/dev/null; echo; done"
