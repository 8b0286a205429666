"""What tests of providers without an engine share: a sandbox of one, and a tar to give it."""

from __future__ import annotations

import io
import tarfile

from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import Sandbox, SandboxProvider

SPEC = SandboxSpec(image="tiny:1")


def tar_of(files: dict[str, bytes]) -> io.BytesIO:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    packed.seek(0)
    return packed


def acquired(provider: SandboxProvider, spec: SandboxSpec = SPEC, **labels: str) -> Sandbox:
    return provider.acquire(spec, labels=labels)
