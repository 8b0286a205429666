"""The table of reasons: who is tried again, how often, and when the control decides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_swe.model import Reason, Status
from pytest_swe.retries import RULES, control_decides, seconds_before_next
from pytest_swe.reward import Verdict

reasons = st.sampled_from(list(Reason))


def error(reason: Reason) -> Verdict:
    return Verdict("error", reason)


@pytest.mark.parametrize("status", ["resolved", "unresolved", "skipped"])
@given(reason=reasons, retries=st.integers(0, 9))
def test_what_is_no_error_is_never_tried_again(status: Status, reason: Reason, retries: int) -> None:
    assert seconds_before_next([Verdict(status, reason)], retries) is None
    assert not control_decides(Verdict(status, reason))


@given(ends=st.lists(reasons, min_size=1), retries=st.integers(0, 5))
def test_attempts_come_to_an_end(ends: list[Reason], retries: int) -> None:
    done: list[Verdict] = []
    for number in range(100):
        done.append(error(ends[number % len(ends)]))
        if seconds_before_next(done, retries) is None:
            break
    assert len(done) <= 1 + 1 + retries  # the first, one for what can be provoked, the retries


def test_what_can_be_provoked_is_tried_once_more_whatever_the_retries() -> None:
    for reason, rule in RULES.items():
        if rule.times == "once":
            assert seconds_before_next([error(reason)], 0) == rule.wait
            assert seconds_before_next([error(reason)] * 2, 9) is None
            assert control_decides(error(reason))


@pytest.mark.parametrize(
    "reason",
    [
        Reason.SANDBOX_LOST, Reason.OUT_OF_MEMORY, Reason.DISK_FULL, Reason.SUITE_DID_NOT_RUN, Reason.LOG_UNPARSEABLE,
        Reason.TEST_PATCH_FAILED, Reason.NETWORK_NEEDED, Reason.MODEL_FAILED, Reason.VERIFIER_FAILED,
        Reason.NOT_REMOVED, Reason.DEADLINE,
    ],
)  # fmt: skip
def test_a_null_reward_is_not_for_sale_by_any_of_these(reason: Reason) -> None:
    assert control_decides(error(reason))


def test_waits_grow() -> None:
    done = [error(Reason.ENGINE_UNAVAILABLE)]
    assert [seconds_before_next(done * count, 9) for count in (1, 2, 3)] == [2.0, 4.0, 8.0]


@pytest.mark.parametrize(
    "reason", [Reason.ROW_INVALID, Reason.UNSUPPORTED, Reason.IMAGE_UNAVAILABLE, Reason.INTERNAL, Reason.CANCELLED]
)
def test_where_another_attempt_says_the_same_there_is_none(reason: Reason) -> None:
    assert seconds_before_next([error(reason)], 9) is None
    assert not control_decides(error(reason))
