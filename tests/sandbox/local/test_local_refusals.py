"""What the provider ``local`` takes on, and what it refuses by name."""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path

import pytest

from pytest_swe.errors import (
    EngineUnavailable,
    Unsupported,
)
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.local import LocalProvider


def test_a_row_that_is_not_trusted_is_refused(provider: LocalProvider, spec: SandboxSpec, tmp_path: Path) -> None:
    untrusted = dataclasses.replace(spec, trusted=False)
    with pytest.raises(Unsupported, match=r"not marked trusted.*--swe-trust-local"):
        provider.acquire(untrusted, labels={})
    trusting = LocalProvider(state=tmp_path / "other", trust=True, isolate=provider.capabilities.isolated)
    trusting.acquire(untrusted, labels={}).close()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"cpus": 2.0}, "cpus=2.0"),
        ({"memory_mb": 512}, "memory_mb=512"),
        ({"pids": 100}, "pids=100"),
        ({"disk_mb": 100}, "disk_mb=100"),
        ({"capabilities": ("SYS_PTRACE",)}, "capabilities=SYS_PTRACE"),
        ({"platform": "linux/riscv64"}, "platform=linux/riscv64"),
        ({"user": "somebody-else"}, "somebody-else"),
        ({"workdir": "/"}, "workdir='/'"),
        ({"workdir": "testbed"}, "workdir='testbed'"),
        ({"workdir": "/a/../../b"}, "workdir="),
        ({"env": {"A": "\0"}}, "NUL"),
        ({"tree": None}, "no tree"),
    ],
)
def test_what_it_cannot_honour_is_refused_by_name(
    provider: LocalProvider, spec: SandboxSpec, tmp_path: Path, change: dict[str, object], named: str
) -> None:
    """Limits are honoured where there are cgroups; here are none."""
    provider = LocalProvider(state=tmp_path / "state", isolate=provider.capabilities.isolated, limit=False)
    with pytest.raises(Unsupported, match=re.escape(named)) as caught:
        provider.acquire(dataclasses.replace(spec, **change), labels={})  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_another_user_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(Unsupported, match="nobody-at-all"):
        sandbox.exec(["true"], user="nobody-at-all", timeout=60)
    for own in ("root", "0", str(os.getuid())):
        assert sandbox.exec(["true"], user=own, timeout=60).exit_code == 0


def test_the_check_says_whether_anything_isolates(provider: LocalProvider) -> None:
    isolated = provider.capabilities.isolated
    said = provider.check()
    assert re.match(r"local: git \d", said)
    assert ("no isolation, network not switched off" in said) is not isolated
    assert ("none" in provider.capabilities.networks) is isolated
    assert provider.capabilities.fixed_paths is isolated


def test_without_bubblewrap_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "git").symlink_to("/usr/bin/git")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert LocalProvider(state=tmp_path).check().endswith("bubblewrap is not installed")
    with pytest.raises(EngineUnavailable, match="bubblewrap is not installed"):
        LocalProvider(state=tmp_path, isolate=True)


def test_a_bubblewrap_that_fails_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'bwrap: no permission to do that' >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    provider = LocalProvider(state=tmp_path)
    assert provider.check().endswith("bubblewrap does not work here: bwrap: no permission to do that")
    assert not provider.capabilities.isolated


def test_without_git_it_is_no_engine(monkeypatch: pytest.MonkeyPatch, plain: LocalProvider, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineUnavailable, match="needs git"):
        plain.check()
