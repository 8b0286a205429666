"""What a run, and one session of it, is called."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from pathlib import Path


def latest_run(results: Path) -> str | None:
    """The id of the run in ``results`` whose reward file was written to last."""
    files = sorted(results.glob("*/rewards.jsonl"), key=lambda path: path.stat().st_mtime)
    return files[-1].parent.name if files else None


def new_run_id() -> str:
    """A run id that sorts by time and that two runs do not share."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def new_part() -> str:
    """What no other session on any machine is called."""
    return secrets.token_hex(8)
