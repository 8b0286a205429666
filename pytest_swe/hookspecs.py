"""The hooks of the plugin: what each is for, who calls it, on which side. Nothing else is here.

*Worker* means the process that runs the items: an xdist worker, or the only process under ``-n0``.
The defaults of pytest-swe are ``trylast`` implementations, so one in a conftest.py wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_swe.dataset.source import Dataset
    from pytest_swe.harness.base import Harness
    from pytest_swe.model import EvalLog, Instance, Report, Row, SandboxSpec
    from pytest_swe.sandbox.base import SandboxProvider


@pytest.hookspec(firstresult=True)
def pytest_swe_read_dataset(config: pytest.Config, path: Path) -> Dataset | Iterable[Row] | None:
    """Read a data set in a format of your own: return its rows (or a Dataset). Both sides.

    Called for a path given with ``--swe-dataset`` or as an argument::

        def pytest_swe_read_dataset(config, path):
            if path.suffix == ".toml":
                return tomllib.loads(path.read_text())["rows"]
    """


@pytest.hookspec(firstresult=True)
def pytest_swe_harness(config: pytest.Config, row: Row) -> Harness | str | None:
    """Choose the family of a row: a harness, or the name of a built-in one. Worker.

    ::

        def pytest_swe_harness(config, row):
            if row["repo"].startswith("ours/"):
                return OurHarness()
    """


@pytest.hookspec(firstresult=True)
def pytest_swe_sandbox_provider(config: pytest.Config, name: str) -> SandboxProvider | None:
    """Make the provider that ``--swe-provider NAME`` asks for. Both sides: the controller sweeps with it.

    ::

        def pytest_swe_sandbox_provider(config, name):
            if name == "firecracker":
                return FirecrackerProvider()
    """


@pytest.hookspec(firstresult=True)
def pytest_swe_sandbox_spec(config: pytest.Config, instance: Instance, spec: SandboxSpec) -> SandboxSpec | None:
    """Change image, limits or network of one item's sandbox: return another spec. Worker.

    ::

        def pytest_swe_sandbox_spec(config, instance, spec):
            return dataclasses.replace(spec, image=f"mirror.example/{spec.image}", memory_mb=8192)
    """


def pytest_swe_eval_log(config: pytest.Config, instance: Instance, log: EvalLog, report: Report) -> None:
    """See what an evaluation printed and how it was graded, before the reward is sent. Worker.

    ::

        def pytest_swe_eval_log(config, instance, log, report):
            archive(instance.id, log.steps[0].run.output)
    """


def pytest_swe_reward(config: pytest.Config, reward: Mapping[str, Any]) -> None:
    """See a reward line, as plain JSON, right after it was written. Controller only.

    ::

        def pytest_swe_reward(config, reward):
            wandb.log({reward["instance_id"]: reward["reward"]})
    """
