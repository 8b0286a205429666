"""The keys of models: in this process's environment, never anywhere else."""

from __future__ import annotations

import os

from pytest_swe.agent.endpoint.routes import ModelRoute
from pytest_swe.errors import UsageError


def key_of(route: ModelRoute) -> str:
    """The key, empty where the model needs none. Raises UsageError when it is not there or no header can carry it."""
    if route.key_variable is None:
        return ""
    key = os.environ.get(route.key_variable, "").strip()
    if not key:
        raise UsageError(
            f"the key of the {route.route} model is not there: {route.key_variable} is not set",
            hint=f"export {route.key_variable}, or name another variable",
        )
    if not key.isascii() or not key.isprintable():
        raise UsageError(f"the key in {route.key_variable} holds letters that no header can carry")
    return key
