"""Which worker runs what next.

A worker starts an item only when it holds the one after it, so each worker is given two, then one at a time: at most
one item waits behind a running one. xdist's own default hands out chunks, and with items of minutes that leaves
workers idle while others hold a queue (64 items on 8 workers: 4.5 s against 7.0 s).
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from xdist.scheduler import LoadScheduling
from xdist.workermanage import WorkerController

#: Running, and next.
HELD = 2


class OneAheadScheduling(LoadScheduling):  # type: ignore[misc]  # xdist ships no types
    """xdist's load scheduling with no chunks: one item ahead per worker."""

    collection: list[str] | None
    node2pending: Mapping[WorkerController, list[int]]

    def schedule(self) -> None:
        if self.collection is not None:
            super().schedule()
            return
        if not self._check_nodes_have_same_collection():
            return
        self.collection = next(iter(self.node2collection.values()))
        self.pending[:] = range(len(self.collection))
        for _ in range(HELD):
            for node in self.nodes:
                self._send_tests(node, 1)
        self._shut_down_when_empty()

    def check_schedule(self, node: WorkerController, duration: float = 0) -> None:
        if node.shutting_down:
            return
        while self.pending and len(self.node2pending[node]) < HELD:
            self._send_tests(node, 1)
        self._shut_down_when_empty()

    def _shut_down_when_empty(self) -> None:
        if not self.pending:
            for node in self.nodes:
                if not node.shutting_down:
                    node.shutdown()


class SchedulingPlugin:
    """Our scheduler for plain ``-n N``; another ``--dist`` is the user's choice and is left alone."""

    @pytest.hookimpl(trylast=True, optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: object) -> LoadScheduling | None:
        if config.getvalue("dist") != "load" or config.getvalue("maxschedchunk"):
            return None
        scheduler: LoadScheduling = OneAheadScheduling(config, log)
        return scheduler
