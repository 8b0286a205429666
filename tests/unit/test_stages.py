"""Limits of stages under one deadline."""

from __future__ import annotations

import pytest

from pytest_swe.stages import DeadlineStruck, Stages


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_stage_has_its_own_limit_or_what_is_left_of_all() -> None:
    clock = Clock()
    stages = Stages({"setup": 60, "agent": 100}, clock)
    assert stages.enter("setup") == 60
    clock.now += 90
    assert stages.enter("agent") == 70


def test_the_deadline_names_the_stage_that_it_struck_in() -> None:
    clock = Clock()
    stages = Stages({"setup": 60, "agent": 100}, clock)
    stages.enter("setup")
    clock.now += 160
    with pytest.raises(DeadlineStruck, match="160 s for all stages struck in agent") as struck:
        stages.enter("agent")
    assert struck.value.stage == "agent"
