"""Optional libraries: there, or one line that says how to get them."""

from __future__ import annotations

import importlib
from types import ModuleType

from pytest_swe.errors import UsageError


def need(module: str, extra: str, what: str) -> ModuleType:
    """``module``, imported. Raises UsageError that names the ``extra`` to install for ``what``."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        raise UsageError(f"{what} needs {missing.name}", hint=f'pip install "pytest-swe[{extra}]"') from missing
