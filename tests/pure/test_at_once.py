"""Work in threads: in order, its errors told, and ended when nobody waits for it any more."""

from __future__ import annotations

import time
from threading import Event, Thread

import pytest

from pytest_swe.at_once import at_once


def test_results_come_in_order() -> None:
    def late(number: int) -> int:
        time.sleep(0.05 * (3 - number))
        return number * 2

    assert list(at_once(late, range(4), jobs=3)) == [0, 2, 4, 6]
    assert list(at_once(late, [], jobs=3)) == []


def test_what_is_raised_is_raised_to_the_caller() -> None:
    def fails(number: int) -> int:
        raise ValueError(f"no {number}")

    with pytest.raises(ValueError, match="no 1"):
        list(at_once(fails, [1, 2], jobs=1))


def test_who_lets_go_ends_what_runs_and_begins_nothing_more() -> None:
    stopped, begun = Event(), []

    def work(number: int) -> int:
        begun.append(number)
        if number:
            stopped.wait(30)
        return number

    found = at_once(work, range(9), jobs=2, stopped=stopped)
    assert next(found) == 0
    closing = Thread(target=found.close)
    closing.start()
    closing.join(10)
    assert not closing.is_alive()
    assert len(begun) <= 3
