"""What a sandbox costs on every provider that answers here: start, command, files, close; medians in milliseconds.

    python benchmarks/providers.py [--rounds N] [--provider NAME ...] [--option NAME.KEY=VALUE ...]

Providers take turns, so that what else the machine does is spread over all of them. The sandbox is the test image
(PYTEST_SWE_TEST_IMAGE), without a network where the provider can take it away; on provider local a tree of one file.
PYTEST_SWE_KUBECONFIG and PYTEST_SWE_OPENSANDBOX name a cluster and a server, as for the tests.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pytest_swe import registry
from pytest_swe.errors import SweError
from pytest_swe.model import Network, SandboxSpec, Tree
from pytest_swe.sandbox.base import SandboxProvider

IMAGE = os.environ.get("PYTEST_SWE_TEST_IMAGE") or "pytest-swe/test-base:1"
LABELS = {"run": f"bench-{os.getpid()}", "worker": "main", "instance": "bench"}
STEPS = ("start", "first exec", "exec", "write file", "read file", "close")
ONE_COMMIT = b"""\
blob
mark :1
data 2
x

commit refs/heads/main
mark :2
committer bench <bench@localhost> 0 +0000
data 5
bench
M 100644 :1 file

"""

#: Options of those whose backend the variables of the tests name.
OPTIONS = {
    "kubernetes": ("PYTEST_SWE_KUBECONFIG", ["kubeconfig={}", "image_pull_policy=Never", "pids_limit=enforced"]),
    "opensandbox": ("PYTEST_SWE_OPENSANDBOX", ["domain={}"]),
}

Times = dict[str, list[float]]


@contextmanager
def timed(times: Times, step: str) -> Iterator[None]:
    begin = time.monotonic()
    yield
    times[step].append((time.monotonic() - begin) * 1000)


def live(provider: SandboxProvider, spec: SandboxSpec, times: Times) -> None:
    """One sandbox from start to close."""
    with timed(times, "start"):
        sandbox = provider.acquire(spec, labels=LABELS)
    try:
        with timed(times, "first exec"):
            sandbox.exec(["true"], timeout=60)
        for _ in range(3):
            with timed(times, "exec"):
                result = sandbox.exec(["true"], timeout=60)
            assert result.exit_code == 0, result
        with timed(times, "write file"):
            sandbox.write_file(f"{spec.workdir}/bench", b"x" * 1000)
        with timed(times, "read file"):
            assert len(sandbox.read_file(f"{spec.workdir}/bench")) == 1000
    finally:
        with timed(times, "close"):
            sandbox.close()


def spec_for(provider: SandboxProvider, tree: Tree) -> SandboxSpec:
    network: Network = "none" if "none" in provider.capabilities.networks else "full"
    return SandboxSpec(image=IMAGE, network=network, tree=tree, trusted=True, seconds=600)


def one_commit(place: Path) -> Tree:
    """A repository of one file."""
    (place / "export").write_bytes(ONE_COMMIT)
    subprocess.run(["git", "init", "-q", "--bare", "r"], cwd=place, check=True)
    subprocess.run(["git", "-C", "r", "fast-import", "--quiet"], cwd=place, input=ONE_COMMIT, check=True)
    commit = subprocess.run(["git", "-C", "r", "rev-parse", "main"], cwd=place, capture_output=True, check=True)
    return Tree(export=place / "export", commit=commit.stdout.decode().strip())


def answering(names: Sequence[str], options: Sequence[str]) -> dict[str, SandboxProvider]:
    """The providers that answer; why another does not goes to stderr."""
    found: dict[str, SandboxProvider] = {}
    for name in names:
        variable, usual = OPTIONS.get(name, ("", []))
        mine = [text.format(os.environ[variable]) for text in usual if variable in os.environ]
        mine += [text.partition(".")[2] for text in options if text.partition(".")[0] == name]
        try:
            provider = registry.provider(name, mine)
            sys.stdout.write(f"{name}: {provider.check()}\n")
            found[name] = provider
        except SweError as error:
            sys.stderr.write(f"{name}: {error}\n")
    return found


def table(measured: dict[str, Times]) -> str:
    head = ["| provider | " + " | ".join(STEPS) + " |", "|---" * (len(STEPS) + 1) + "|"]
    rows = [
        f"| {name} | " + " | ".join(f"{statistics.median(times[step]):.0f}" for step in STEPS) + " |"
        for name, times in measured.items()
        if times["close"]
    ]
    return "\n".join([*head, *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--provider", action="append", help="default: every provider")
    parser.add_argument("--option", action="append", default=[], metavar="NAME.KEY=VALUE", help="of a provider")
    arguments = parser.parse_args()
    providers = answering(arguments.provider or registry.providers(), arguments.option)
    measured: dict[str, Times] = {name: defaultdict(list) for name in providers}
    with tempfile.TemporaryDirectory() as place:
        tree = one_commit(Path(place))
        for number in range(arguments.rounds + 1):
            for name, provider in providers.items():
                # The first life pays what is paid once: connections, images unpacked, imports.
                times = measured[name] if number else defaultdict(list)
                try:
                    live(provider, spec_for(provider, tree), times)
                except SweError as error:
                    sys.stderr.write(f"{name}: {error}\n")
    for provider in providers.values():
        provider.close()
    sys.stdout.write(f"\n{arguments.rounds} rounds, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n\n")
    sys.stdout.write(table(measured) + "\n")


if __name__ == "__main__":
    main()
