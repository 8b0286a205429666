"""A task's health check that says no: what it said is told."""

from __future__ import annotations

import pytest

from .conftest import Try

pytestmark = pytest.mark.docker


def test_a_check_that_says_no_is_told_with_its_last_words(trial: Try) -> None:
    check = '[environment.healthcheck]\ncommand = "echo no database; exit 3"\nretries = 2\ninterval_sec = 0.1\n'
    done = trial({"task.toml": f"{check}start_period_sec = 0\n", "tests/test.sh": "exit 0\n"})
    assert (done.reward.status, done.reward.reason) == ("error", "sandbox_start_failed")
    assert "the health check failed 2 times: status 3: no database" in done.reward.detail


def test_an_entrypoint_that_ends_is_told(trial: Try) -> None:
    dockerfile = 'FROM pytest-swe/harbor-base:1\nWORKDIR /app\nENTRYPOINT ["/bin/false"]\n'
    done = trial({"environment/Dockerfile": dockerfile, "tests/test.sh": "exit 0\n"})
    assert (done.reward.status, done.reward.reason) == ("error", "sandbox_start_failed")
    assert "it printed nothing" in done.reward.detail
    assert "an ENTRYPOINT that starts its arguments" in done.reward.detail
