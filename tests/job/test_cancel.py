"""A Job that is cancelled at every point: no further attempt, and nothing is left."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from pytest_swe.errors import Cancelled

from .bench import LONG, Bench, by_thread


def test_cancel_while_acquiring() -> None:
    bench = Bench(hold_acquire=True)
    job = bench.job()
    job.start()
    assert bench.reached.wait(LONG)
    job.cancel()
    bench.let_go.set()
    with pytest.raises(Cancelled):
        job.wait_standing()
    job.join(LONG)
    assert (bench.closes, bench.evaluated) == ([1], [])


def test_cancel_before_go() -> None:
    bench = Bench()
    job = bench.job()
    job.start()
    job.wait_standing()
    job.cancel()
    with pytest.raises(Cancelled):
        job.go()
    job.join(LONG)
    assert (bench.closes, bench.evaluated) == ([1], [])


@pytest.mark.parametrize("plays", [("hang",), ("lost", "hang")], ids=" ".join)
def test_cancel_while_evaluating_makes_no_further_attempt(plays: tuple[str, ...]) -> None:
    bench = Bench(plays)
    job = bench.job()
    job.start()
    job.wait_standing()
    raised: list[BaseException] = []
    waiting = threading.Thread(target=lambda: raised.append(_raised(job.go)))
    waiting.start()
    assert bench.reached.wait(LONG)
    job.cancel()
    job.cancel()
    waiting.join(LONG)
    assert isinstance(raised[0], Cancelled)
    assert bench.evaluated == list(plays)
    assert bench.closes == [1] * len(plays)


def test_cancel_after_the_verdict_changes_nothing_that_was_closed() -> None:
    bench = Bench()
    job = bench.job()
    assert by_thread(job) == ("resolved", "")
    job.cancel()
    assert bench.closes == [1]


def test_cancel_inside_a_close_does_not_wait_for_itself() -> None:
    """As a signal handler does that runs in the middle of a cancel."""
    bench = Bench(("hang",))
    job = bench.job()
    bench.closing = job.cancel
    job.start()
    job.wait_standing()
    job.cancel()
    job.join(LONG)
    assert job.ended
    assert bench.closes == [1]


def test_cancel_with_a_close_that_raises() -> None:
    def broken() -> None:
        raise RuntimeError("close broke")

    bench = Bench(("hang",), closing=broken)
    job = bench.job()
    job.start()
    job.wait_standing()
    job.cancel()
    job.join(LONG)
    assert bench.closes == [1]


def _raised(call: Callable[[], object]) -> BaseException:
    with pytest.raises(Cancelled) as raised:
        call()
    return raised.value


def test_a_close_that_hangs_does_not_hold_who_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_swe.working.CLOSING", 0.01)
    bench = Bench(("hang",))
    bench.closing = lambda: None if bench.let_go.wait(LONG) else pytest.fail("cancel waited for the close")
    job = bench.job()
    job.start()
    job.wait_standing()
    job.cancel()
    bench.let_go.set()
    job.join(LONG)
    assert bench.closes == [1]


def test_a_job_that_is_cancelled_while_it_is_judged_leaves_nothing() -> None:
    bench = Bench(("judge hangs",), judges=True)
    job = bench.job()
    job.start()
    job.wait_standing()

    def cancel_when_judging() -> None:
        assert bench.reached.wait(LONG)
        job.cancel()

    threading.Thread(target=cancel_when_judging, daemon=True).start()
    with pytest.raises(Cancelled):
        job.go()
    job.join(LONG)
    assert bench.closes == [1, 1]
