"""Providers in an install without their extra: one line that says what to install, never a traceback."""

from __future__ import annotations

import sys

import pytest

from pytest_swe import __main__, registry
from pytest_swe.errors import UsageError

COMMAND = 'pip install "pytest-swe[kubernetes]"'


@pytest.fixture(autouse=True)
def no_kubernetes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "kubernetes"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kubernetes", None)


def test_a_provider_without_its_extra_says_what_to_install() -> None:
    with pytest.raises(UsageError, match="needs kubernetes") as raised:
        registry.provider("kubernetes")
    assert raised.value.hint == COMMAND


def test_a_sweep_of_all_goes_on_without_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    entries = {name: entry for name, entry in registry.PROVIDERS.items() if name in ("kubernetes", "local")}
    monkeypatch.setattr(registry, "PROVIDERS", entries)
    monkeypatch.setattr(registry, "providers", lambda: ("kubernetes", "local"))
    assert __main__.main(["sweep"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("kubernetes: ")
    assert COMMAND in first
    assert second.startswith("local: ")


def test_a_sweep_of_it_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["sweep", "--provider", "kubernetes"]) != 0
    said = capsys.readouterr()
    assert COMMAND in said.err
    assert "Traceback" not in said.err
