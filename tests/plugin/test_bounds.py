"""Numbers and sizes that mean nothing are refused before anything runs."""

from __future__ import annotations

import pytest

from .conftest import Project


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("timeout", "inf", "of seconds more than 0, up to 31536000"),
        ("timeout", "1e18", "of seconds"),
        ("agent-timeout", "nan", "of seconds"),
        ("agent-setup-timeout", "inf", "of seconds"),
        ("timeout-multiplier", "nan", "up to 1000"),
        ("cpus", "nan", "of processors"),
        ("memory", "99999999999999g", "more than 1 PiB"),
        ("memory", "9" * 400 + "g", "more than 1 PiB"),
        ("budget", "memory=8g,memory=9g", "memory is there twice"),
        ("budget", "cpus=" + "9" * 400, "expected"),
        ("compose-var", "x", "expected NAME=VALUE"),
        ("compose-var", "1A=x", "1A: the name has to be letters, digits and '_', with no digit first"),
        ("compose-var", "A-B=x", "A-B: the name has to be"),
        ("env", "1A", "1A: the name has to be"),
        ("env", "A=s3cret", "A=...: expected NAME alone"),
        ("env", "", ": the name has to be"),
        ("agent-arg", "x", "expected NAME=VALUE"),
        ("agent-arg", "a b=s3cret", "a b: the name has to be letters, digits, '_' and '-'"),
    ],
)
def test_it_is_refused(project: Project, option: str, value: str, why: str) -> None:
    data = project.rows({"a-1": "resolved"})
    result = project.run(data, "--swe-preds=gold", f"--swe-{option}={value}", "-n0")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"--swe-{option}" in result.stderr.str()
    assert why in result.stderr.str()
    assert "s3cret" not in result.stderr.str()
