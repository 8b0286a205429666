"""pytest-swe: a row of a software-engineering benchmark is a test item.

Without pytest: `verify_task`, `averify_task` and `regrade_log` judge one patch from a script or a training loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_swe.model import Report
    from pytest_swe.reward import Reward
    from pytest_swe.verify import averify_task, regrade_log, verify_task

__version__ = "0.1.0"
__all__ = ["Report", "Reward", "__version__", "averify_task", "regrade_log", "verify_task"]

_HOMES = {
    "Report": "pytest_swe.model",
    "Reward": "pytest_swe.reward",
    "averify_task": "pytest_swe.verify",
    "regrade_log": "pytest_swe.verify",
    "verify_task": "pytest_swe.verify",
}


def __getattr__(name: str) -> object:
    # Lazy: the package is imported in every pytest run of everybody who installed the plugin.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
