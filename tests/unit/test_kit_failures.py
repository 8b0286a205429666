"""pip's and npm's own words for a failure, as they print them, and the one line that is made of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_swe.agent.kit_failures import in_short

#: pip 26 under Python 3.11.
OTHER_PYTHON = """\
WARNING: Location 'file:///index/openhands/' is ignored: it is neither a file nor a directory.
ERROR: Ignored the following versions that require a different python version: 1.0.0 Requires-Python >=3.12; \
1.16.0 Requires-Python ==3.12.*; 1.2.0 Requires-Python >=3.12; 1.9.1 Requires-Python >=3.12
ERROR: Could not find a version that satisfies the requirement openhands<2,>=1 (from versions: 0.0.0)
ERROR: No matching distribution found for openhands<2,>=1
"""
NO_INDEX = """\
WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by \
'NewConnectionError("HTTPConnection(host='127.0.0.1', port=9): Failed to establish a new connection: [Errno 111] \
Connection refused")': /simple/nothing/
ERROR: Could not find a version that satisfies the requirement nothing>=1 (from versions: none)
ERROR: No matching distribution found for nothing>=1
"""
UNKNOWN = """\
ERROR: Could not find a version that satisfies the requirement nothing>=1 (from versions: none)
ERROR: No matching distribution found for nothing>=1
"""
CONFLICT = """\
ERROR: Cannot install a and b because these package versions have conflicting dependencies.
ERROR: ResolutionImpossible: for help visit https://pip.pypa.io
"""
NOT_BUILT = """\
  error: subprocess-exited-with-error
  x Building wheel for a did not run successfully.
ERROR: Failed to build 'a' when getting requirements to build wheel
"""
#: npm 10.
NO_VERSION = """\
npm error code ETARGET
npm error notarget No matching version found for is-odd@99.
npm error notarget In most cases you or one of your dependencies are requesting a package version that doesn't exist.
npm error A complete log of this run can be found in: /root/.npm/_logs/debug-0.log
"""
NO_REGISTRY = """\
npm error code ECONNREFUSED
npm error syscall connect
npm error errno ECONNREFUSED
npm error FetchError: request to http://127.0.0.1:9/is-odd failed, reason: connect ECONNREFUSED 127.0.0.1:9
npm error     at ClientRequest.<anonymous> (/usr/lib/node_modules/npm/index.js:130:14)
"""


@pytest.mark.parametrize(
    ("said", "short"),
    [
        (OTHER_PYTHON, "openhands<2,>=1: nothing of it is for Python 3.11: it needs Python ==3.12.*"),
        (NO_INDEX, "nothing>=1: the package index does not answer: [Errno 111] Connection refused"),
        (UNKNOWN, "nothing>=1: no such package, or none for this platform"),
        (CONFLICT, "Cannot install a and b because these package versions have conflicting dependencies."),
        (NOT_BUILT, "Failed to build 'a' when getting requirements to build wheel"),
        ("/usr/bin/python3: No module named pip\n", "/usr/bin/python3: No module named pip"),
        (NO_VERSION, "ETARGET: notarget No matching version found for is-odd@99."),
        (
            NO_REGISTRY,
            "ECONNREFUSED: FetchError: request to http://127.0.0.1:9/is-odd failed, reason: connect ECONNREFUSED "
            "127.0.0.1:9",
        ),
        ("", "it said nothing"),
        ("x" * 1000, "x" * 296 + " ..."),
    ],
)
def test_one_line_is_made_of_it(said: str, short: str) -> None:
    assert in_short(said, "3.11")[0] == short


def test_another_python_is_what_to_do() -> None:
    assert in_short(OTHER_PYTHON, "3.11")[1] == "--python names another one"
    assert in_short(UNKNOWN, "3.11")[1] == ""


def test_a_wrong_python_is_told_in_one_short_line(tmp_path: Path) -> None:
    """As a user sees it, with an interpreter whose pip says what pip says."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\n[ "$1" = -c ] && {{ echo 3.11; exit 0; }}\ncat >&2 <<"E"\n{OTHER_PYTHON}E\nexit 1\n')
    python.chmod(0o755)
    command = [sys.executable, "-m", "pytest_swe", "agent-kit", "openhands", str(tmp_path / "kits")]
    done = subprocess.run(
        [*command, "--python", str(python)], capture_output=True, text=True, env=dict(os.environ), timeout=60
    )
    assert done.returncode != 0
    [line] = done.stderr.splitlines()
    assert line.endswith(
        "pip install: openhands<2,>=1: nothing of it is for Python 3.11: it needs Python ==3.12.* "
        "(--python names another one)"
    )
