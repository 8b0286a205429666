"""pass@k against its definition: draw k attempts in every possible way and count."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_swe.report.pass_at_k import estimate, pass_at_k


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.integers(1, 8))
def test_the_estimate_is_the_share_of_draws_with_a_success(attempts: list[bool], k: int) -> None:
    k = min(k, len(attempts))
    draws = list(combinations(attempts, k))
    assert estimate(len(attempts), sum(attempts), k) == pytest.approx(sum(map(any, draws)) / len(draws))


def lines(**attempts: str) -> list[dict[str, object]]:
    """Letters: r resolved, u unresolved, e error; one word per instance."""
    words = {"r": "resolved", "u": "unresolved", "e": "error"}
    return [
        {"dataset": "d", "instance_id": name, "status": words[letter]}
        for name, said in attempts.items()
        for letter in said
    ]


def test_k_goes_up_to_the_fewest_attempts_and_holds_one() -> None:
    found = pass_at_k(lines(a="ruuuuu", b="uuuuu"))
    assert [each.k for each in found] == [1, 2, 4, 5]
    assert found[0].rate == pytest.approx(1 / 12)
    assert found[-1].rate == pytest.approx((1 - 1 / 6) / 2)


def test_an_attempt_that_was_not_measured_is_none_that_resolved() -> None:
    assert pass_at_k(lines(a="re"))[0].rate == 0.5


def test_one_attempt_each_is_told_by_the_rate_alone() -> None:
    assert pass_at_k(lines(a="r", b="u")) == []
    assert pass_at_k([]) == []


@given(st.lists(st.lists(st.booleans(), min_size=2, max_size=6), min_size=1, max_size=30))
def test_the_interval_holds_the_rate_and_is_never_certain(instances: list[list[bool]]) -> None:
    said = {f"i{number}": "".join("ur"[good] for good in each) for number, each in enumerate(instances)}
    for found in pass_at_k(lines(**said)):
        assert 0.0 <= found.low <= found.rate <= found.high <= 1.0
        assert found.high - found.low > 1.0 / (len(instances) + 5)


@pytest.mark.parametrize(("letter", "low", "high"), [("u", 0.0, 0.4899), ("r", 0.5101, 1.0)])
def test_four_instances_that_agree_leave_room_for_others(letter: str, low: float, high: float) -> None:
    [one, two] = pass_at_k(lines(**dict.fromkeys("abcd", 2 * letter)))
    assert (one.low, one.high) == pytest.approx((low, high), abs=5e-5)
    assert (two.low, two.high) == (one.low, one.high)
