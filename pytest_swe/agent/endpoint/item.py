"""The model of one item's agent, as whoever runs that agent sees it; also where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from pytest_swe.agent.base import ModelEndpoint, Usage
from pytest_swe.agent.endpoint.gate import ModelGate
from pytest_swe.agent.endpoint.routes import ModelRoute
from pytest_swe.errors import SweError
from pytest_swe.model import Reason
from pytest_swe.sandbox.base import Sandbox


class ModelUnavailable(SweError):
    """The model's server failed for good while the agent worked: its work is no measurement of the model."""

    reason = Reason.MODEL_UNAVAILABLE


class ModelOfItem:
    """``route`` is None for an agent that needs no model. ``calls_file`` gets a line per call."""

    def __init__(self, route: ModelRoute | None, calls_file: Path | None) -> None:
        self._gate = None if route is None else ModelGate([route], calls_file=calls_file)

    @contextmanager
    def opened(self, sandbox: Sandbox) -> Iterator[tuple[Sandbox, ModelEndpoint | None]]:
        """The sandbox through which to run the agent, and where it reaches its model, while the block lasts."""
        if self._gate is None:
            yield sandbox, None
            return
        with self._gate.opened(sandbox) as opened:
            yield opened.sandbox, opened.endpoint

    def raise_for_trouble(self) -> None:
        """Raises ModelUnavailable when the server failed for good.

        An agent can bring some of that about. Where the server answers us, that is what it did, and like all that a
        candidate can provoke it is tried once more.
        """
        trouble = self._gate.trouble if self._gate is not None else None
        if self._gate is not None and trouble is not None:
            reason = Reason.MODEL_FAILED if trouble.provokable and not self._gate.is_broken else None
            raise ModelUnavailable(f"the model's server did not answer: {trouble.detail}", reason=reason)

    def usage(self, own: Usage) -> Usage:
        """What was used, as the host counted it, with the steps that the agent tells of itself."""
        if self._gate is None:
            return own
        counted = self._gate.usage()
        cost = counted.cost_usd if counted.cost_usd is not None else own.cost_usd
        return replace(counted, steps=own.steps, cost_usd=cost)

    def close(self) -> None:
        """End every call under way."""
        if self._gate is not None:
            self._gate.close()
