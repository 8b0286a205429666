"""An agent of the tests: works on the steps of a task of datasets/swe-interact, asking its user over MCP.

Runs in the task's container, standard library only. First it prints, as one line of JSON, what it can see.
``SWE_ARG_BEHAVIOUR``: ``ask`` (default), ``guess`` asks nobody, ``pester`` asks one question too many.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

BEHAVIOUR = os.environ.get("SWE_ARG_BEHAVIOUR", "ask")
#: What only the task's top-level instruction says, and what the key of the user's model begins with: not in one piece,
#: since this file is looked through too.
WHOLE_REQUEST = "This is the whole " + "request"
KEY = "sk-planted-for-" + "the-user"
NUMBERS = itertools.count(1)


def main() -> None:
    step = step_of(Path(os.environ["SWE_INSTRUCTION"]).read_text())
    print(json.dumps({"step": step, **seen(thorough=step == "implement")}), flush=True)
    {"plan": plan, "implement": implement, "handoff": handoff, "tests": tests}[step]()


def step_of(instruction: str) -> str:
    words = {"agree on a plan": "plan", "Carry out the plan": "implement", "Add tests": "tests", "Hand over": "handoff"}
    return next(step for word, step in words.items() if word in instruction)


def plan() -> None:
    if BEHAVIOUR == "guess":
        Path("/tmp/plan.md").write_text("Cents that are left over go to the first people.\n")
        return
    tools = call("tools/list")["tools"]
    assert [tool["name"] for tool in tools] == ["ask_user"], tools
    wanted = ask_user("What do you want to have changed?")
    Path("/tmp/plan.md").write_text(wanted + "\n")
    print("agreed:", ask_user(f"This is my plan: {wanted} Do you agree?"))
    if BEHAVIOUR == "pester":
        print("third:", ask_user("And what is your favourite colour?"))


def implement() -> None:
    asked = posted(f"{os.environ['SWE_MODEL_URL']}/v1/chat/completions", {"model": "any", "messages": []})
    print("model:", asked["choices"][0]["message"]["content"])
    to_last = "last people" in Path("/tmp/plan.md").read_text()
    alike, more = "[share] * (people - left)", "[share + 1] * left"
    Path("/tmp/base_commit.txt").write_text(run("git", "rev-parse", "HEAD"))
    with open("/app/bill.py", "a") as code:
        code.write("\n\ndef split(total: int, people: int) -> list[int]:\n")
        code.write("    if people < 1:\n        raise ValueError(people)\n    share, left = divmod(total, people)\n")
        code.write(f"    return {' + '.join([alike, more] if to_last else [more, alike])}\n")
    run("git", "commit", "--quiet", "--all", "--message", "Bills can be split")
    if BEHAVIOUR == "ask":
        print("review:", ask_user("It is committed. Please review it."))


def handoff() -> None:
    base = Path("/tmp/base_commit.txt").read_text().strip()
    Path("/logs/artifacts/model.patch").write_text(run("git", "diff", f"{base}..HEAD"))


def tests() -> None:
    test = "import bill\n\n\ndef test_split() -> None:\n    assert sum(bill.split(10, 3)) == 10\n"
    Path("/app/tests/test_own.py").write_text(test)
    run("git", "add", "tests")
    run("git", "commit", "--quiet", "--message", "Tests of splitting")


def seen(*, thorough: bool) -> dict[str, object]:
    """What an agent should not find."""
    verifier = Path("/logs/verifier")
    found: dict[str, object] = {
        "graders": [str(path) for path in (Path("/tests"), Path("/solution")) if path.exists()],
        "verifier": [str(path) for path in verifier.rglob("*")] if verifier.is_dir() else [],
        "user_route": status(os.environ["SWE_MODEL_URL"].replace("/policy", "/user") + "/v1/chat/completions"),
    }
    if thorough:
        # Both as grep sees files, and as the kernel tells what processes were given. One of each is planted, and found.
        planted = Path("/tmp/planted")
        planted.write_text(KEY)
        process = subprocess.Popen(["sleep", "600"], env={"PATH": os.environ["PATH"], "PLANTED": KEY})
        places = [f"/{name}" for name in os.listdir("/") if name not in ("proc", "sys", "dev")]
        words = ["-e", WHOLE_REQUEST, "-e", KEY]
        found["files"] = run("grep", "-rlIsF", *words, *places, check=False).split()
        found["processes"] = [
            name for name in os.listdir("/proc") if name.isdigit() and KEY.encode() in environment(name)
        ]
        found |= {"planted_file": str(planted), "planted_process": str(process.pid)}
        process.kill()
    return found


def environment(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def ask_user(question: str) -> str:
    result = call("tools/call", {"name": "ask_user", "arguments": {"question": question}})
    assert not result.get("isError"), result
    return str(result["content"][0]["text"])


def call(method: str, parameters: dict[str, Any] | None = None) -> Any:
    """A request of the Model Context Protocol, to the server that the task names."""
    server = json.loads(Path(os.environ["SWE_MCP"]).read_text())["mcpServers"]["user-server"]
    message = {"jsonrpc": "2.0", "id": next(NUMBERS), "method": method, "params": parameters or {}}
    return posted(server["url"], message)["result"]


def posted(url: str, document: object) -> Any:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(url, json.dumps(document).encode(), headers)
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, b"{}"), timeout=300) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def run(*words: str, check: bool = True) -> str:
    done = subprocess.run(words, cwd="/app", capture_output=True, text=True, errors="replace", check=False)
    if check and done.returncode:
        sys.exit(f"{words}: {done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
