"""Lets the simulated user look at the repository: a few commands that only read, run in /app, on port 8765.

    POST /tool  {"tool": "run_command", "args": {"command": "git show HEAD"}}  ->  {"ok": true, "stdout": "..."}
"""

import json
import shlex
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

READS = {
    "git": {"status", "diff", "show", "log", "ls-files", "grep"},
    "ls": None,
    "grep": None,
}
LONGEST = 20000


def run(command: str) -> dict[str, object]:
    words = shlex.split(command)
    if not words or words[0] not in READS:
        return {"ok": False, "error": f"only {', '.join(READS)} may be run"}
    kinds = READS[words[0]]
    if kinds is not None and (len(words) < 2 or words[1] not in kinds):
        return {"ok": False, "error": f"of {words[0]} there are {', '.join(sorted(kinds))}"}
    done = subprocess.run(words, cwd="/app", capture_output=True, text=True, errors="replace", timeout=30)
    return {"ok": True, "returncode": done.returncode, "stdout": done.stdout[:LONGEST], "stderr": done.stderr[:LONGEST]}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        try:
            asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
            said = run(str(asked["args"]["command"]))
        except (KeyError, TypeError, ValueError, OSError, subprocess.SubprocessError) as error:
            said = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        body = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is written."""


if __name__ == "__main__":
    ThreadingHTTPServer(("", 8765), Handler).serve_forever()
