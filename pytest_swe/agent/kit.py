"""An agent's kit: a directory of this host with what it needs to be installed where there is no network."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path

from pytest_swe.agent.base import AgentSetupFailed
from pytest_swe.agent.described import described, described_names
from pytest_swe.agent.surroundings import PLACE
from pytest_swe.errors import UsageError
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.images.context import tar_of_directory

#: Where a kit stands in a sandbox.
KIT = f"{PLACE}/kit"

#: The file in a kit that says what it is; one that the user made has none.
LABEL = "swe-kit.json"

#: The kit of an agent that `pytest-swe agent-kit` makes none of.
OWN = "expected a directory that is there, with what the agent needs"


def kit_of(name: str, directory: Path, parts: Collection[str] = ()) -> Path:
    """The kit of agent ``name``: ``directory`` itself, or the one of that name in it. Raises UsageError.

    ``parts`` are what such a kit has; one without any of them is none, and would cost each item its uploads.
    """
    kit = _found(name, directory, parts)
    if parts and not _has_any(kit, parts):
        lacking = f"it has no {' or '.join(parts)}"
        raise UsageError(f"--swe-agent-kit {kit}: no kit of {name}: {lacking}", hint=_make(name, directory))
    return kit


def _make(name: str, directory: Path) -> str:
    """What to do next; of most agents we make no kit."""
    has_kit = name in described_names() and described(name).description.kit is not None
    return f"pytest-swe agent-kit {name} {directory}" if has_kit else OWN


def _has_any(kit: Path, parts: Collection[str]) -> bool:
    return any(os.path.lexists(kit / part) for part in parts)


def _found(name: str, directory: Path, parts: Collection[str]) -> Path:
    make = _make(name, directory)
    try:
        os.stat(directory / name)
    except PermissionError as error:
        raise UsageError(f"--swe-agent-kit {directory}: {error.strerror}") from None
    except OSError:
        pass  # not there: looked at below
    # A package in a kit may be called as the agent is: codex/codex.
    inner = directory / name
    is_package = not (inner / LABEL).is_file() and _has_any(directory, parts) and not _has_any(inner, parts)
    if os.path.isdir(inner) and not is_package and not (directory / LABEL).is_file():
        return inner
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
