"""The part of the contract that a scripted sandbox keeps by itself, by the suite's own tests: files, ends, arguments.

Its handler really runs each command of the suite, on this host, over a copy of the virtual files, and takes over what
is left of them. So what the sandbox says of its files is held against what `ls`, `cat` and `find` say.
"""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_swe.model import ExecResult, SandboxSpec
from pytest_swe.sandbox.calls import Call
from pytest_swe.sandbox.scripted import ScriptedProvider
from pytest_swe.testing.conformance.commands import (
    test_a_string_is_no_command as test_a_string_is_no_command,
)
from pytest_swe.testing.conformance.commands import (
    test_sandbox_is_one as test_sandbox_is_one,
)
from pytest_swe.testing.conformance.files import *  # noqa: F403
from pytest_swe.testing.conformance.fixtures import acquire as acquire
from pytest_swe.testing.conformance.fixtures import at as at
from pytest_swe.testing.conformance.fixtures import sandbox as sandbox
from pytest_swe.testing.conformance.lifecycle import (
    test_a_closed_sandbox_is_lost as test_a_closed_sandbox_is_lost,
)
from pytest_swe.testing.conformance.lifecycle import (
    test_check_is_one_line as test_check_is_one_line,
)
from pytest_swe.testing.conformance.lifecycle import (
    test_close_from_many_threads as test_close_from_many_threads,
)
from pytest_swe.testing.conformance.lifecycle import (
    test_sandboxes_share_nothing as test_sandboxes_share_nothing,
)
from pytest_swe.testing.conformance.lifecycle import (
    test_sixteen_at_once as test_sixteen_at_once,
)

WORKDIR = "/testbed"


def really_run(call: Call) -> ExecResult:
    with tempfile.TemporaryDirectory() as place:
        with tarfile.open(fileobj=io.BytesIO(call.files.pack(WORKDIR))) as tar:
            tar.extraction_filter = lambda member, _: member  # with its modes; before 3.11.4 that is all there is
            tar.extractall(place)
        top = Path(place) / WORKDIR.strip("/")
        done = subprocess.run(call.argv, cwd=top, input=call.stdin, capture_output=True, timeout=call.timeout)
        call.files.remove(WORKDIR)
        call.files.unpack(packed(top), WORKDIR)
    return ExecResult(argv=call.argv, exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr)


def packed(top: Path) -> io.BytesIO:
    """Everything below ``top``, also what has no permissions."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(top.rglob("*")):
            member = tar.gettarinfo(path, str(path.relative_to(top)))
            if not member.isreg():
                tar.addfile(member)
                continue
            os.chmod(path, 0o600)
            with open(path, "rb") as data:
                tar.addfile(member, data)
    out.seek(0)
    return out


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(handler=really_run) as made:
        yield made


@pytest.fixture(scope="module")
def sandbox_spec() -> SandboxSpec:
    return SandboxSpec(image="none", workdir=WORKDIR)
