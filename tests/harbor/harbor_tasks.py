"""Small Harbor tasks, written for a test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILES: Mapping[str, str] = {
    "task.toml": 'schema_version = "1.4"\n',
    "instruction.md": "Do it.\n",
    "environment/Dockerfile": "FROM scratch\n",
    "tests/test.sh": "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n",
    "solution/solve.sh": "#!/bin/bash\n",
}


def write_task(directory: Path, files: Mapping[str, str | None] | None = None) -> Path:
    """A task that can be used; ``files`` replace or (None) remove some."""
    for path, text in {**FILES, **(files or {})}.items():
        if text is not None:
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(text, newline="")
    return directory


def conformance_cases(data: Path) -> dict[str, Any]:
    """Tasks with what Harbor 0.25.0 answered: name -> ``files``, ``observed``, ``observed_text``."""
    cases: dict[str, Any] = json.loads((data / "harbor-conformance" / "conformance.json").read_text())["cases"]
    return cases
