"""docs/rewards.md names every reason and every field of a line, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_swe.model import Reason
from pytest_swe.reward import Reward

TEXT = (Path(__file__).parent.parent.parent / "docs" / "rewards.md").read_text(encoding="utf-8")


def cells(heading: str) -> set[str]:
    """The words in backticks of the first column of a table."""
    part = TEXT.split(heading)[1].split("\n## ")[0]
    return {word for row in re.findall(r"^\| (`[^|]*)\|", part, re.M) for word in re.findall(r"`(\w+)`", row)}


def test_every_reason_is_explained() -> None:
    assert cells("## Reasons") == {reason.value for reason in Reason}


def test_every_field_is_explained() -> None:
    fields = {field.alias or name for name, field in Reward.model_fields.items()}
    assert cells("# Reward lines") == fields
