"""One close per sandbox of a Job: what is kept, a close that raises, a judge's own sandbox."""

from __future__ import annotations

import pytest

from pytest_swe.policy import Policy

from .bench import Bench, Judge, both


@both
@pytest.mark.parametrize(("play", "closes"), [("unresolved", 0), ("resolved", 1)])
def test_keep_is_asked_with_the_verdict(judged: Judge, play: str, closes: int) -> None:
    bench = Bench((play,))
    job = bench.job(policy=Policy(pace=0, keep=lambda candidate, verdict: verdict.status == "unresolved"))
    judged(job)
    job.cancel()
    assert bench.closes == [closes]


def test_only_the_last_sandbox_is_kept() -> None:
    bench = Bench(("lost", "unresolved"))
    outcome = bench.job(policy=Policy(pace=0, keep=lambda candidate, verdict: True)).run()
    assert bench.closes == [1, 0]
    assert outcome.kept == ("enter",)


@both
@pytest.mark.parametrize("plays", [("resolved",), ("lost", "resolved")], ids=" ".join)
def test_a_close_that_raises_costs_no_verdict(
    judged: Judge, plays: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise RuntimeError("close broke")

    bench = Bench(plays, closing=broken)
    assert judged(bench.job()) == ("resolved", "")
    assert caplog.text.count("closing sandbox") == len(plays)


@both
@pytest.mark.parametrize("play", ["resolved", "unresolved"])
def test_a_judge_has_a_sandbox_of_its_own_that_is_closed(judged: Judge, play: str) -> None:
    bench = Bench((play,), judges=True)
    assert judged(bench.job())[0] == play
    assert bench.closes == [1, 1]
