"""Which images queued items still want, kept by the process that sees items end; only with ``--swe-image-budget``."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pytest_swe.errors import SweError
from pytest_swe.item import loaded
from pytest_swe.run import Run
from pytest_swe.sandbox.images.needs import ImageNeeds


class ImageWantsPlugin:
    """For the controller, or the only process. Rows are read once more, before the first item starts."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._needs = ImageNeeds(f"{run.run_id}-{run.part}")
        self._images: dict[str, str] | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:  # none on a controller
            self._tell(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: list[str]) -> None:
        if self._images is None:  # workers collect alike
            self._tell(ids)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        image = (self._images or {}).pop(nodeid, None)
        if image is not None:
            self._needs.done(image)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self._needs.close()

    def _tell(self, nodeids: Iterable[str]) -> None:
        self._images = dict(self._wanted(nodeids))
        self._needs.want(self._images.values())

    def _wanted(self, nodeids: Iterable[str]) -> Iterable[tuple[str, str]]:
        for nodeid in nodeids:
            found = self._run.planned(nodeid)
            if found is None or found[1].work != "evaluate":
                continue
            try:
                _, instance = loaded(self._run, *found)
            except SweError:
                continue  # the item itself tells
            yield nodeid, instance.spec.image
