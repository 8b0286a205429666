"""The models of one item, as whoever runs its agent and its services sees them; also where there are none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from pytest_swe.agent.base import AgentSetupFailed, ModelEndpoint, Usage
from pytest_swe.agent.endpoint.gate import ModelGate, Planned
from pytest_swe.agent.endpoint.routes import Limits, ModelRoute, RouteName
from pytest_swe.errors import SandboxLost, SandboxStartFailed, SweError, Unsupported
from pytest_swe.model import JSON, Reason
from pytest_swe.sandbox.base import Sandbox

#: The agent asked for more than ``--swe-model-calls`` or ``--swe-model-tokens`` allow.
OVER_LIMIT = "model_limit_reached"

#: Prints what a service's own processes have for variables, with nothing but a shell.
_VARIABLES = "export -p"


class ModelUnavailable(SweError):
    """The model's server failed for good while the agent worked: its work is no measurement of the model."""

    reason = Reason.MODEL_UNAVAILABLE


class ModelOfItem:
    """``route`` is that of the agent's model, None where it needs none; ``user`` that of a simulated user.

    ``calls_file`` gets a line per call. ``questions`` bounds those to the user. Raises UsageError as `ModelGate`.
    """

    def __init__(
        self,
        route: ModelRoute | None,
        calls_file: Path | None,
        *,
        user: ModelRoute | None = None,
        questions: int | None = None,
    ) -> None:
        routes = [each for each in (route, user) if each is not None]
        limits = Limits(questions=questions)
        self._user = user
        self._gate = ModelGate(routes, calls_file=calls_file, limits=limits) if routes else None
        self._planned: list[Planned] = []

    @contextmanager
    def opened(self, sandbox: Sandbox, *, wanted: bool = True) -> Iterator[tuple[Sandbox, ModelEndpoint | None]]:
        """The sandbox through which to run the agent, and where it reaches its model, while the block lasts.

        ``wanted``: whether the agent has a use for a model.
        """
        if self._gate is None or not wanted or "policy" not in self._gate.routes:
            yield sandbox, None
            return
        with self._gate.opened(sandbox) as opened:
            yield opened.sandbox, opened.endpoint

    def planned(self, route: RouteName) -> str:
        """The address of a route for a service that is still to be started. Raises UsageError without that route."""
        known = next((plan for plan in self._planned if plan.route == route), None)
        if known is None:
            known = (self._gate or ModelGate([])).planned(route)
            self._planned.append(known)
        return known.endpoint.url

    @contextmanager
    def opened_in(self, services: Mapping[str, Sandbox], names: Iterable[str]) -> Iterator[None]:
        """Every planned address reachable in each of ``names`` that has it among its variables.

        Raises Unsupported for a service without python3, SandboxError, SandboxStartFailed where a relay does not start.
        """
        with ExitStack() as stack:
            for name in names if self._planned else ():
                try:
                    done = services[name].exec(["sh", "-c", _VARIABLES], timeout=60)
                except SandboxLost:
                    continue  # it has done its work before the others started, and is gone
                said = done.stdout.decode("utf-8", "replace")
                for plan in self._planned:
                    if plan.endpoint.url in said:
                        stack.enter_context(self._opened_at(plan, name, services[name]))
            yield

    def _opened_at(self, plan: Planned, name: str, service: Sandbox) -> ExitStack:
        assert self._gate is not None
        with ExitStack() as stack:
            try:
                stack.enter_context(self._gate.opened(service, plan.route, port=plan.port))
            except AgentSetupFailed as error:
                raise SandboxStartFailed(f"service {name} cannot reach its model: {error}") from error
            except Unsupported as error:
                raise Unsupported(f"service {name} cannot reach its model: {error}") from error
            return stack.pop_all()

    def user_to_json(self) -> dict[str, JSON] | None:
        """The simulated user on a reward line: its model, what it was asked, what it used. None where nobody has it."""
        if self._gate is None or self._user is None or all(plan.route != "user" for plan in self._planned):
            return None
        usage, counts = self._gate.usage("user"), self._gate.counts("user")
        return {
            "model": self._user.model,
            "questions": self._gate.questions.to_json(),
            "calls": counts.sent,
            "failed": counts.failed,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cost_usd": usage.cost_usd,
        }

    def raise_for_trouble(self) -> None:
        """Raises ModelUnavailable when the server failed for good.

        An agent can bring some of that about. Where the server answers us, that is what it did, and like all that a
        candidate can provoke it is tried once more.
        """
        trouble = self._gate.trouble if self._gate is not None else None
        if self._gate is not None and trouble is not None:
            reason = Reason.MODEL_FAILED if trouble.provokable and not self._gate.is_broken else None
            raise ModelUnavailable(f"the model's server did not answer: {trouble.detail}", reason=reason)

    @property
    def flags(self) -> tuple[str, ...]:
        """What of it stands on the reward line."""
        over = self._gate is not None and self._gate.counts().over_limit
        return (OVER_LIMIT,) if over else ()

    def usage(self, own: Usage) -> Usage:
        """What was used, as the host counted it, with the steps that the agent tells of itself."""
        if self._gate is None or "policy" not in self._gate.routes:
            return own
        counted = self._gate.usage()
        cost = counted.cost_usd if counted.cost_usd is not None else own.cost_usd
        return replace(counted, steps=own.steps, cost_usd=cost)

    def close(self) -> None:
        """End every call under way."""
        if self._gate is not None:
            self._gate.close()
