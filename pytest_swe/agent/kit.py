"""An agent's kit: a directory of this host with what it needs to be installed where there is no network."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pytest_swe.agent.base import AgentSetupFailed
from pytest_swe.agent.surroundings import PLACE
from pytest_swe.errors import UsageError
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.images.context import tar_of_directory

#: Where a kit stands in a sandbox.
KIT = f"{PLACE}/kit"

#: The file in a kit that says what it is; one that the user made has none.
LABEL = "swe-kit.json"


def kit_of(name: str, directory: Path) -> Path:
    """The kit of agent ``name``: ``directory`` itself, or the one of that name in it. Raises UsageError."""
    make = f"pytest-swe agent-kit {name} {directory}"
    try:
        os.stat(directory / name)
    except PermissionError as error:
        raise UsageError(f"--swe-agent-kit {directory}: {error.strerror}") from None
    except OSError:
        pass  # not there: looked at below
    if os.path.isdir(directory / name):
        return directory / name
    if not os.path.isdir(directory):
        raise UsageError(f"--swe-agent-kit {directory}: no such directory", hint=make)
    label = directory / LABEL
    if label.is_file():
        try:
            found = json.loads(label.read_bytes())["agent"]
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{label} cannot be read", hint="make the kit anew") from None
        if found != name:
            raise UsageError(f"--swe-agent-kit {directory} is that of {found}, not of {name}", hint=make)
    elif any(directory.glob(f"*/{LABEL}")):
        raise UsageError(f"--swe-agent-kit {directory}: none of these kits is that of {name}", hint=make)
    return directory


def upload_kit(sandbox: Sandbox, kit: Path) -> str:
    """Put ``kit`` into ``sandbox`` and return its path there. Raises AgentSetupFailed, SandboxError."""
    if not kit.is_dir():
        raise AgentSetupFailed(f"{kit}: no such directory of an agent's kit", hint="--swe-agent-kit names it")
    with tar_of_directory(kit) as tar:
        sandbox.upload(tar, KIT)
    return KIT
