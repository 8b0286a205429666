"""What a verdict rests on beside its log, and when that keeps it."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_swe.model import Reason
from pytest_swe.regrading import why_kept
from pytest_swe.reward import Verdict

RESOLVED = Verdict("resolved")
FAILED = Verdict("unresolved", Reason.TESTS_FAILED)
TIMED_OUT = Verdict("unresolved", Reason.TESTS_TIMED_OUT)
TAMPERED = Verdict("unresolved", Reason.TAMPERED)
UNREADABLE = Verdict("error", Reason.LOG_UNPARSEABLE)
LOOKED: dict[str, Any] = {"phases_ms": {"second_look": 1.0}, "flags": []}
PLAIN: dict[str, Any] = {"phases_ms": {}, "flags": []}


@pytest.mark.parametrize(
    ("line", "before", "after", "why"),
    [
        (LOOKED, TAMPERED, RESOLVED, "a second look"),
        (LOOKED, FAILED, RESOLVED, "a second look"),  # denied by strict rules
        ({}, TAMPERED, RESOLVED, "a second look"),  # a log that does not tell its phases
        ({**PLAIN, "flags": ["flaky"]}, TIMED_OUT, RESOLVED, "another attempt"),
        ({**PLAIN, "flags": ["slow_environment"]}, FAILED, RESOLVED, "another attempt"),
        (PLAIN, Verdict("unresolved", Reason.SUITE_DID_NOT_RUN), UNREADABLE, "the control"),
        (PLAIN, Verdict("unresolved", Reason.SANDBOX_LOST), UNREADABLE, "the control"),
        (PLAIN, Verdict("error", Reason.SANDBOX_LOST), UNREADABLE, "ended from outside"),
    ],
)
def test_what_more_than_the_log_decided_is_kept(
    line: dict[str, Any], before: Verdict, after: Verdict, why: str
) -> None:
    assert why in why_kept(line, before, after)


@pytest.mark.parametrize(
    ("line", "before", "after"),
    [
        (PLAIN, FAILED, RESOLVED),
        (PLAIN, TAMPERED, RESOLVED),  # by the log, which a mended reader reads otherwise
        (LOOKED, TAMPERED, FAILED),
        (LOOKED, TAMPERED, UNREADABLE),
        (LOOKED, RESOLVED, FAILED),
        (PLAIN, Verdict("unresolved", Reason.SUITE_DID_NOT_RUN), RESOLVED),
        (PLAIN, Verdict("error", Reason.SUITE_DID_NOT_RUN), UNREADABLE),
        (PLAIN, FAILED, UNREADABLE),
        ({}, FAILED, RESOLVED),
    ],
)
def test_where_the_log_decides_it_is_believed(line: dict[str, Any], before: Verdict, after: Verdict) -> None:
    assert why_kept(line, before, after) == ""
