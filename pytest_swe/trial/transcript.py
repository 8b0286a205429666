"""An agent's conversation in a trial: found among its logs, and handed to the verifier."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pytest_swe.model import JSON
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.trial.inside import AGENT_LOGS
from pytest_swe.trial.unpacked import Unpacked

NAME = "trajectory.json"


def left_in(logs: Unpacked) -> dict[str, JSON] | None:
    """The one that an agent left itself among its logs, when it is in ATIF."""
    raw = logs.get(NAME)
    try:
        found = json.loads(raw) if isinstance(raw, bytes) else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("steps"), list) else None


def as_bytes(trajectory: Mapping[str, JSON]) -> bytes:
    """As it is written; half a character becomes a question mark."""
    return json.dumps(trajectory, indent=1, ensure_ascii=False).encode("utf-8", "replace")


def hand_over(sandbox: Sandbox, trajectory: Mapping[str, JSON]) -> None:
    """Where a verifier finds it. Raises SandboxError."""
    sandbox.write_file(f"{AGENT_LOGS}/{NAME}", as_bytes(trajectory))
