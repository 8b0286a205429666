"""Names that others rely on, and names that pytest would mistake for tests."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import pytest_swe

PACKAGE = Path(pytest_swe.__file__).parent
MODULES = sorted(module.name for module in pkgutil.walk_packages([str(PACKAGE)], "pytest_swe."))

#: The conformance suite is made of tests on purpose: a provider's author imports them.
OF_TESTS = "pytest_swe.testing.conformance"


def test_the_public_names_are_sorted_and_all_there() -> None:
    names = pytest_swe.__all__
    assert names == sorted(names)
    assert [name for name in names if not hasattr(pytest_swe, name)] == []


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'verify_tusk'"):
        pytest_swe.verify_tusk  # noqa: B018


@pytest.mark.parametrize("name", MODULES)
def test_dunder_all_names_what_exists(name: str) -> None:
    module = importlib.import_module(name)
    listed = getattr(module, "__all__", [])
    assert list(listed) == sorted(listed)
    assert [public for public in listed if not hasattr(module, public)] == []


@pytest.mark.parametrize("name", [name for name in MODULES if not name.startswith(OF_TESTS)])
def test_nothing_in_the_package_looks_like_a_test(name: str) -> None:
    assert not name.rpartition(".")[2].startswith("test_")
    tree = ast.parse(source_of(name).read_text(encoding="utf-8"))
    defined = [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    assert [public for public in defined if public.startswith(("Test", "test_"))] == []


def source_of(name: str) -> Path:
    base = PACKAGE.joinpath(*name.split(".")[1:])
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
