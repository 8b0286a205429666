"""An agent's kit: a directory of this host with what it needs to be installed where there is no network."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pytest_swe.agent.base import AgentSetupFailed
from pytest_swe.agent.surroundings import PLACE
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.images.context import tar_of_directory

#: Where a kit stands in a sandbox.
KIT = f"{PLACE}/kit"


def upload_kit(sandbox: Sandbox, kit: Path) -> str:
    """Put ``kit`` into ``sandbox`` and return its path there. Raises AgentSetupFailed, SandboxError."""
    if not kit.is_dir():
        raise AgentSetupFailed(f"{kit}: no such directory of an agent's kit", hint="--swe-agent-kit names it")
    with tempfile.TemporaryFile() as packed, tar_of_directory(kit) as tar:
        while chunk := tar.read(1024 * 1024):
            packed.write(chunk)
        packed.seek(0)
        sandbox.upload(packed, KIT)
    return KIT
