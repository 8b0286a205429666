"""What the model endpoint adds to one call of a model: beside the same call on the host, and a bare command.

    python benchmarks/model_endpoint.py [docker|local] [CALLS]

The model's server is a scripted one on loopback that answers at once. Calls and commands alternate, so that both see
the same machine.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "agent"))

from endpoint_parts import ask
from scripted_model import ScriptedModel

from pytest_swe.agent.endpoint.gate import ModelGate, Opened
from pytest_swe.agent.endpoint.routes import ModelRoute
from pytest_swe.model import SandboxSpec, Tree
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.docker import DockerProvider
from pytest_swe.sandbox.local import LocalProvider

IMAGE = "pytest-swe/test-base:1"


def acquired(provider: str, folder: Path) -> Sandbox:
    labels = {"instance": "benchmark"}
    if provider == "docker":
        return DockerProvider(pull=False).acquire(SandboxSpec(image=IMAGE, workdir="/"), labels=labels)

    def git(*arguments: str) -> bytes:
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        return subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, check=True).stdout

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "base")
    (folder / "export").write_bytes(git("fast-export", "--all"))
    tree = Tree(export=folder / "export", commit=git("rev-parse", "HEAD").decode().strip())
    spec = SandboxSpec(image="none", tree=tree, trusted=True)
    return LocalProvider(state=folder / "state").acquire(spec, labels=labels)


def command(opened: Opened, sandbox: Sandbox) -> float:
    begun = time.perf_counter()
    sandbox.exec(["python3", "-I", "-S", "-c", "pass"], timeout=60)
    return time.perf_counter() - begun


def main(provider: str, calls: int) -> None:
    with tempfile.TemporaryDirectory() as folder, ScriptedModel() as model:
        sandbox = acquired(provider, Path(folder))
        gate = ModelGate([ModelRoute(url=model.url, protocol="openai")])
        begun = time.perf_counter()
        with gate.opened(sandbox) as opened:
            ready = time.perf_counter() - begun
            seconds, commands = [], []
            for _ in range(0, calls, 10):
                seconds += [one.seconds for one in ask(opened, count=10)]
                commands += [command(opened, sandbox) for _ in range(10)]
            begun = time.perf_counter()
        closed = time.perf_counter() - begun
        gate.close()
        sandbox.close()
    call, bare = statistics.median(seconds) * 1000, statistics.median(commands) * 1000
    print(f"{provider}: {call:.0f} ms a call, {bare:.0f} ms a bare command of python (medians of {len(seconds)});")
    print(f"opened in {ready * 1000:.0f} ms, closed in {closed * 1000:.0f} ms")


if __name__ == "__main__":
    main((sys.argv[1:] or ["docker"])[0], int((sys.argv[2:] or ["50"])[0]))
