"""What a harness costs per instance, beyond the evaluation itself: pytest-swe, `swebench eval`, the bare engine.

All three evaluate the same tiny row (same image, patch, script and engine), one instance at a time, in turns. The
evaluation script times itself; what is left of the wall clock is overhead. Two sizes of run tell what is paid once
per run (imports, collection) from what is paid per instance.

    python benchmarks/overhead.py [--rounds N] [--instances N] [--slow-instances N]
"""

from __future__ import annotations

import argparse
import io
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import docker

IMAGE = "pytest-swe/bench:1"
HEEDFUL_IMAGE = "pytest-swe/bench-heedful:1"
BASE = os.environ.get("PYTEST_SWE_TEST_IMAGE") or "pytest-swe/test-base:1"
BIN = Path(sys.executable).parent

DOCKERFILE = f"""\
FROM {BASE}
WORKDIR /testbed
RUN git init -q && echo 1 > value.txt && echo 'grep -qx 2 value.txt' > check.sh \\
 && git add . && git -c user.name=bench -c user.email=bench@localhost commit -qm base
"""

HEEDFUL_DOCKERFILE = f"""\
FROM {IMAGE}
ENTRYPOINT ["bash", "-c", "trap 'exit 0' TERM; \\"$@\\" & wait", "first"]
"""

PATCH = """\
diff --git a/value.txt b/value.txt
--- a/value.txt
+++ b/value.txt
@@ -1 +1 @@
-1
+2
"""

TEST_PATCH = """\
diff --git a/check.sh b/check.sh
--- a/check.sh
+++ b/check.sh
@@ -1 +1 @@
-grep -qx 2 value.txt
+grep -qx 2 value.txt && echo 'PASSED check.sh::value'
"""

SCRIPT = f"""\
#!/bin/bash
set -uxo pipefail
bench_started=$(date +%s%N)
cd /testbed
git checkout {{commit}} check.sh
git apply -v - <<'EOF_114329324912'
{TEST_PATCH}
EOF_114329324912
: '>>>>> Start Test Output'
bash check.sh
: '>>>>> End Test Output'
git checkout {{commit}} check.sh
echo "bench_script_ns $(( $(date +%s%N) - bench_started ))"
"""

SCRIPT_TIME = re.compile(r"^bench_script_ns (\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds beyond the evaluation script: once per run, and for each instance."""

    per_run: float
    per_instance: float


def main() -> None:
    options = parse_options()
    engine = docker.DockerClient.from_env()
    commit = build_images(engine)
    script = SCRIPT.format(commit=commit)
    many, few = options.instances, options.slow_instances
    subjects: Mapping[str, Callable[[], Cost]] = {
        "bare engine cycle": lambda: bare_cost(engine, script, many),
        "pytest-swe": lambda: harness_cost(pytest_swe, script, commit, many),
        "swebench eval": lambda: harness_cost(swebench_eval, script, commit, few),
        "swebench eval, without its wait": lambda: harness_cost(swebench_eval, script, commit, few, HEEDFUL_IMAGE),
    }
    costs: dict[str, list[Cost]] = {name: [] for name in subjects}
    for turn in range(options.rounds):
        for name, measure in subjects.items():
            cost = measure()
            costs[name].append(cost)
            print(f"round {turn + 1}: {name} {cost.per_instance * 1000:.0f} ms", file=sys.stderr)
    print_table(engine, costs, options)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Overhead per instance, measured in turns.")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each harness (default 5)")
    parser.add_argument("--instances", type=int, default=12, help="instances of the larger run (default 12)")
    parser.add_argument("--slow-instances", type=int, default=3, help="the same for swebench eval (default 3)")
    return parser.parse_args()


def build_images(engine: docker.DockerClient) -> str:
    """Build the images of the row; returns the commit their work tree stands at."""
    for tag, dockerfile in ((IMAGE, DOCKERFILE), (HEEDFUL_IMAGE, HEEDFUL_DOCKERFILE)):
        engine.images.build(fileobj=io.BytesIO(dockerfile.encode()), tag=tag, rm=True)
    head: bytes = engine.containers.run(IMAGE, ["git", "rev-parse", "HEAD"], remove=True)
    return head.decode().strip()


def rows(script: str, commit: str, image: str, count: int) -> list[dict[str, object]]:
    """``count`` rows of the new generation that differ in their id only."""
    return [
        {
            "instance_id": f"bench__bench-{number}",
            "repo": "bench/bench",
            "base_commit": commit,
            "version": "1.0",
            "patch": PATCH,
            "test_patch": TEST_PATCH,
            "problem_statement": "",
            "FAIL_TO_PASS": json.dumps(["check.sh::value"]),
            "PASS_TO_PASS": "[]",
            "image": image,
            "eval_script": script,
            "log_parser": "parse_log_pytest",
            "eval_type": "pass_and_fail",
        }
        for number in range(1, count + 1)
    ]


def pytest_swe(dataset: Path) -> list[str]:
    return [str(BIN / "pytest"), "-q", "-n0", "-p", "no:cacheprovider", f"--swe-dataset={dataset}", "--swe-preds=gold"]


def swebench_eval(dataset: Path) -> list[str]:
    return [str(BIN / "swebench"), "eval", str(dataset), "--gold", "--workers", "1"]


def harness_cost(command: Callable[[Path], list[str]], script: str, commit: str, many: int, image: str = IMAGE) -> Cost:
    """From a run of one instance and a run of ``many``."""
    one, all_of_them = (overhead(command, rows(script, commit, image, count)) for count in (1, many))
    per_instance = (all_of_them - one) / (many - 1)
    return Cost(per_run=one - per_instance, per_instance=per_instance)


def overhead(command: Callable[[Path], list[str]], data: list[dict[str, object]]) -> float:
    """Seconds of one run that its evaluation scripts did not need. Every instance must resolve."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        dataset = Path(directory) / "rows.jsonl"
        dataset.write_text("".join(json.dumps(row) + "\n" for row in data))
        started = time.perf_counter()
        run = subprocess.run(command(dataset), cwd=directory, capture_output=True, text=True)
        seconds = time.perf_counter() - started
        resolved = sum(is_resolved(path) for path in Path(directory).rglob("report.json"))
        if run.returncode or resolved != len(data):
            sys.exit(f"{run.args}: status {run.returncode}, {resolved} resolved\n{run.stdout}\n{run.stderr}")
        return seconds - sum(script_seconds(path.read_text()) for path in Path(directory).rglob("test_output.txt"))


def is_resolved(report: Path) -> bool:
    verdicts: Mapping[str, Mapping[str, object]] = json.loads(report.read_text())
    return any(verdict.get("resolved") is True for verdict in verdicts.values())


def script_seconds(output: str) -> float:
    found = SCRIPT_TIME.search(output)
    if found is None:
        sys.exit(f"the evaluation script did not time itself:\n{output}")
    return int(found[1]) / 1e9


def bare_cost(engine: docker.DockerClient, script: str, many: int) -> Cost:
    """The engine calls that no harness can do without: create, start, one upload, one exec, remove."""
    archive = tar_of({"patch.diff": PATCH, "eval.sh": script})
    return Cost(per_run=0.0, per_instance=statistics.median(bare_cycle(engine, archive) for _ in range(many)))


def bare_cycle(engine: docker.DockerClient, archive: bytes) -> float:
    started = time.perf_counter()
    box = engine.containers.create(IMAGE, ["sleep", "600"], network_mode="none", labels={"pytest-swe.bench": "1"})
    try:
        box.start()
        box.put_archive("/", archive)
        result = box.exec_run(["bash", "-c", "git apply /patch.diff && bash /eval.sh 2>&1"], workdir="/testbed")
    finally:
        box.remove(force=True)
    seconds = time.perf_counter() - started
    assert isinstance(result.output, bytes)
    return seconds - script_seconds(result.output.decode())


def tar_of(files: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


def print_table(engine: docker.DockerClient, costs: Mapping[str, list[Cost]], options: argparse.Namespace) -> None:
    middle = {name: statistics.median(cost.per_instance for cost in series) for name, series in costs.items()}
    print(
        f"Python {platform.python_version()}, Docker {engine.version()['Version']}, pytest {version('pytest')}, "
        f"pytest-swe {version('pytest-swe')}, swebench {version('swebench')}, {os.cpu_count()} processors; "
        f"medians of {options.rounds} rounds, one instance at a time\n"
    )
    print("| | overhead per instance, ms | lowest to highest | x bare cycle | once per run, ms |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, series in costs.items():
        each = sorted(cost.per_instance * 1000 for cost in series)
        per_run = statistics.median(cost.per_run for cost in series) * 1000
        print(
            f"| {name} | {middle[name] * 1000:.0f} | {each[0]:.0f} to {each[-1]:.0f} "
            f"| {middle[name] / middle['bare engine cycle']:.2f} | {per_run:.0f} |"
        )
    print(f"\npytest-swe / swebench eval: {middle['pytest-swe'] / middle['swebench eval']:.3f}")


if __name__ == "__main__":
    main()
