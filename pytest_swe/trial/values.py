"""What names in a task's compose file stand for: the user's word first, then what the task says itself.

A model's address is chosen before anything is started, and reached in the services that got it once they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pytest_swe.agent.endpoint.routes import RouteName
from pytest_swe.errors import UsageError
from pytest_swe.harbor.variables import resolved, secrets_in

OPTION = "--swe-compose-var"
_ROUTES: Mapping[str, RouteName] = {"policy": "policy", "user": "user"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeValue:
    """One value of the user's: a text, or the address of a model. ``secret``: no file, log or container but those of
    services may hold it."""

    text: str = field(default="", repr=False)
    model: RouteName | None = None
    secret: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupValues:
    """``variables`` are for the compose file, ``secrets`` names among them, ``main`` the variables of that service."""

    variables: Mapping[str, str]
    secrets: frozenset[str]
    main: Mapping[str, str]


def compose_value(name: str, said: str, of_host: Callable[[str], str | None]) -> ComposeValue:
    """``literal``, ``env:NAME``, ``model:policy`` or ``model:user``. Raises UsageError for what is not there."""
    kind, colon, rest = said.partition(":")
    if kind == "env" and colon:
        value = of_host(rest)
        if value is None:
            raise UsageError(f"{OPTION} {name}={said}: {rest} is not set in the environment of pytest")
        return ComposeValue(text=value, secret=True)
    if kind == "model" and colon:
        if rest not in _ROUTES:
            raise UsageError(f"{OPTION} {name}={said}: models are model:policy and model:user")
        return ComposeValue(model=_ROUTES[rest], secret=True)
    return ComposeValue(text=said)


def of_group(
    table: Mapping[str, str],
    given: Mapping[str, str],
    chosen: Mapping[str, ComposeValue],
    address: Callable[[RouteName], str],
) -> GroupValues:
    """``table`` are variables of the task, ``given`` those of the host that it may ask for, ``chosen`` the user's.

    Raises UsageError for what the task asks for and nobody gives.
    """
    own = without_chosen(table, chosen)
    env = resolved(own, given)
    users = {name: value.text if value.model is None else address(value.model) for name, value in chosen.items()}
    secrets = frozenset(name for name, value in chosen.items() if value.secret)
    shown = {name: users[name] for name in table if name in chosen and name not in secrets}
    return GroupValues(variables={**env, **users}, secrets=secrets_in(own, given) | secrets, main={**env, **shown})


def without_chosen(table: Mapping[str, str], chosen: Mapping[str, ComposeValue]) -> dict[str, str]:
    """What of a task's variables is still its own."""
    return {name: value for name, value in table.items() if name not in chosen}
