"""Everybody who installs the plugin loads it in every pytest run, and every worker pays for it again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"datasets", "docker", "huggingface_hub", "kubernetes", "modal", "pandas", "pyarrow", "swebench"}

#: Resident memory of a worker before its first row, MiB. pytest with xdist alone takes 41.
WORKER_MIB = 60

CONFTEST = """
import json, pathlib, sys

def pytest_collection_modifyitems(config, items):
    status = pathlib.Path("/proc/self/status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
    seen = {"items": len(items), "kib": resident, "modules": sorted({name.split(".")[0] for name in sys.modules})}
    pathlib.Path(f"seen-{getattr(config, 'workerinput', {}).get('workerid', 'main')}.json").write_text(json.dumps(seen))
    items.clear()
"""


def run(directory: Path, *command: str) -> str:
    done = subprocess.run([sys.executable, *command], cwd=directory, capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, pytest.ExitCode.NO_TESTS_COLLECTED), done.stdout + done.stderr
    return done.stdout


def test_importing_the_package_loads_neither_sdks_nor_pytest(tmp_path: Path) -> None:
    loaded = run(tmp_path, "-c", "import pytest_swe, sys; print(*{name.split('.')[0] for name in sys.modules})").split()
    assert "pytest_swe" in loaded
    assert not (HEAVY | {"pydantic", "pytest", "xdist"}) & set(loaded)


def test_the_public_names_without_pytest(tmp_path: Path) -> None:
    loaded = run(
        tmp_path,
        "-c",
        "import sys; from pytest_swe import averify_task, regrade_log, verify_task;"
        "print(*{name.split('.')[0] for name in sys.modules})",
    ).split()
    assert not (HEAVY | {"pytest", "xdist"}) & set(loaded)


def test_a_plain_project_pays_nothing_for_the_installed_plugin(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_plain.py").write_text("def test_plain():\n    pass\n")
    run(tmp_path, "-m", "pytest", "-q", "-n0")
    seen = json.loads((tmp_path / "seen-main.json").read_text())
    assert seen["items"] == 1
    assert "pytest_swe" in seen["modules"]
    assert not (HEAVY | {"orjson", "pydantic"}) & set(seen["modules"])


def test_a_worker_is_small_before_its_first_row(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    row = {
        "repo": "tiny/tiny",
        "base_commit": "0" * 40,
        "version": "1",
        "patch": "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n",
        "test_patch": "",
        "FAIL_TO_PASS": '["test_a.py::test_a"]',
        "PASS_TO_PASS": "[]",
        "image": "tiny:1",
        "eval_script": ": '>>>>> Start Test Output'\npytest -rA\n: '>>>>> End Test Output'\n",
        "log_parser": "parse_log_pytest",
        "eval_type": "pass_and_fail",
    }
    rows = "".join(json.dumps({**row, "instance_id": f"tiny__tiny-{number}"}) + "\n" for number in range(500))
    (tmp_path / "rows.jsonl").write_text(rows)
    run(tmp_path, "-m", "pytest", "-q", "-n1", "--swe-dataset", "rows.jsonl", "--swe-preds", "gold")
    seen = json.loads((tmp_path / "seen-gw0.json").read_text())
    assert seen["items"] == 500
    assert not HEAVY & set(seen["modules"])
    assert seen["kib"] < WORKER_MIB * 1024
