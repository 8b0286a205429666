"""The fixtures of an item. Users override ``swe_provider`` in a conftest.py; the others are there to be read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_swe.errors import SweError, UsageError
from pytest_swe.item import SweItem
from pytest_swe.jobs import job_of
from pytest_swe.model import Candidate, Instance
from pytest_swe.run import RUN
from pytest_swe.sandbox.base import Sandbox, SandboxProvider
from pytest_swe.working import Working


@pytest.fixture(scope="session")
def swe_provider(request: pytest.FixtureRequest) -> SandboxProvider:
    """Where candidates run; override it to wrap or replace the provider."""
    return request.config.stash[RUN].provider()


@pytest.fixture
def swe_instance(request: pytest.FixtureRequest) -> Instance:
    """The row of this item, normalised."""
    return _item(request).load_instance()


@pytest.fixture
def swe_candidate(request: pytest.FixtureRequest, swe_instance: Instance) -> Candidate:
    """What this item judges: a patch, or the unpatched tree."""
    return _item(request).load_candidate(swe_instance)


@pytest.fixture
def swe_job(
    request: pytest.FixtureRequest,
    swe_provider: SandboxProvider,
    swe_instance: Instance,
    swe_candidate: Candidate,
) -> Iterator[Working]:
    """This item's Job, with its first sandbox standing."""
    item = _item(request)
    _check_provider(swe_provider)
    job = job_of(item, swe_instance, swe_candidate, swe_provider)
    item.run.jobs.add(job)
    if item.run.stopping:  # told so since this item's setup began
        job.cancel()
    try:
        job.start()
        try:
            job.wait_standing()
        except SweError:
            item.keep_outcome(job)  # with the attempts that were made
            raise
        yield job
    finally:
        job.cancel()
        # The Job's own thread removes the sandbox, off the critical path; the session waits for it at its end.
        item.run.jobs = {other for other in item.run.jobs if not other.ended}


@pytest.fixture
def swe_sandbox(swe_job: Working) -> Sandbox:
    """The sandbox that this item's evaluation will run in."""
    assert swe_job.sandbox is not None
    return swe_job.sandbox


def _check_provider(provider: object) -> None:
    """What users put in the provider's place. Raises UsageError naming the fixture and what is missing."""
    lacking = [name for name in ("name", "capabilities", "acquire", "sweep", "close") if not hasattr(provider, name)]
    if lacking:
        kind = type(provider).__name__
        raise UsageError(
            f"the fixture swe_provider gave a {kind}, which has no {', '.join(lacking)}: expected a provider"
        )


def _item(request: pytest.FixtureRequest) -> SweItem:
    if not isinstance(request.node, SweItem):
        raise pytest.UsageError(f"{request.fixturename} belongs to items of a data set, not to {request.node.nodeid}")
    return request.node
