"""`verify_task` on the provider local: from many threads, cancelled, interrupted; no sandbox is left."""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_swe import verify_task
from pytest_swe.dataset.source import open_dataset
from pytest_swe.model import Row
from pytest_swe.reward import Reward
from pytest_swe.sandbox.local import LocalProvider
from pytest_swe.verify import averify_task

from .conftest import QUICKSTART


@pytest.fixture
def provider(tmp_path: Path) -> LocalProvider:
    return LocalProvider(trust=True, state=tmp_path / "state")


@pytest.fixture
def row() -> Row:
    dataset = open_dataset(str(QUICKSTART))
    return dataset.load(dataset.refs[0])


def left(tmp_path: Path) -> list[str]:
    place = tmp_path / "state" / "local"
    return [entry.name for entry in place.iterdir()] if place.is_dir() else []


def test_threads_judge_one_row_into_one_place(provider: LocalProvider, row: Row, tmp_path: Path) -> None:
    gold = str(row["patch"])

    def judge(number: int) -> Reward:
        return verify_task(row, gold if number % 2 else None, provider=provider, log_dir=tmp_path / "logs")

    with ThreadPoolExecutor(8) as pool:
        rewards = list(pool.map(judge, range(8)))
    assert [reward.reward for reward in rewards] == [0.0, 1.0] * 4
    assert all((Path(reward.logs) / "report.json").is_file() for reward in rewards)
    assert left(tmp_path) == []


def test_logs_that_cannot_be_written_cost_no_verdict(provider: LocalProvider, row: Row, tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("not a directory")
    reward = verify_task(row, str(row["patch"]), provider=provider, log_dir=tmp_path / "logs")
    assert (reward.status, reward.flags, reward.logs) == ("resolved", ("logs_not_written",), "")


def test_an_interrupt_leaves_no_sandbox(provider: LocalProvider, row: Row, tmp_path: Path) -> None:
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    with contextlib.suppress(KeyboardInterrupt):  # or it was done before
        verify_task(row, str(row["patch"]), provider=provider)
    with contextlib.suppress(KeyboardInterrupt):
        timer.join()
    assert left(tmp_path) == []


def test_a_cancelled_task_of_an_event_loop_leaves_no_sandbox(provider: LocalProvider, row: Row, tmp_path: Path) -> None:
    async def cancel_one() -> None:
        task = asyncio.create_task(averify_task(row, str(row["patch"]), provider=provider))
        await asyncio.sleep(0.2)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(cancel_one())  # ends when its threads have ended
    assert left(tmp_path) == []
