"""The whole quickstart on every provider: the expected outcomes, and rewards that are the same everywhere.

What varies is in `conftest.VARYING`: times, places, and what names the run or its image.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pytest_swe import registry
from pytest_swe.sandbox.podman import usual_host

from .conftest import PREDS, Expected, Finished, quickstart, run_plugin

#: What each needs here, as markers; `local` and `docker` are run once for many tests, with every source of candidates.
NEEDS = {
    "docker": ["docker"],
    "podman": ["docker", "podman"],
    "local": [],
    "apptainer": ["docker", "apptainer"],
    "kubernetes": ["docker", "kubernetes"],
    "opensandbox": ["docker", "opensandbox"],
}
MODELS = {"demo": "preds.jsonl", "gold": "gold", "base": "base"}
#: Those that cannot take the network away where the tests run them, so that a run gives it by name.
NETWORKED = {"kubernetes", "opensandbox"}


@pytest.fixture(params=[pytest.param(name, marks=[getattr(pytest.mark, m) for m in NEEDS[name]]) for name in NEEDS])
def finished(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Finished]:
    """A provider's name and its run."""
    name: str = request.param
    if name in ("local", "docker"):
        shared: Finished = request.getfixturevalue(f"on_{name}")
        return name, shared
    request.getfixturevalue("podman_images" if name == "podman" else "images")
    options = [f"--swe-provider-option={option}" for option in own_options(name, tmp_path)]
    options += ["--swe-network", "full"] if name in NETWORKED else []
    return name, run_plugin(tmp_path, *quickstart(name, str(PREDS), *options), timeout=1500)


def own_options(name: str, place: Path) -> list[str]:
    if name == "apptainer":
        return [f"state={place / 'state'}", "build=directory"]  # packing ten images takes minutes
    if name == "kubernetes":
        config = os.environ["PYTEST_SWE_KUBECONFIG"]
        return [f"kubeconfig={config}", "image_pull_policy=Never", "pids_limit=enforced"]
    if name == "opensandbox":
        return [f"domain={os.environ['PYTEST_SWE_OPENSANDBOX']}"]
    return []


@pytest.fixture(scope="module")
def podman_images(images: None, expected: Expected) -> None:
    """Those of the Docker engine that Podman does not have."""
    names = [f"pytest-swe/quickstart.{task}:1" for task in expected["gold"]]
    podman = ["podman", "--url", usual_host()]
    missing = [name for name in names if subprocess.run([*podman, "image", "exists", name]).returncode]
    if missing:
        with subprocess.Popen(["docker", "save", *missing], stdout=subprocess.PIPE) as saving:
            subprocess.run([*podman, "load", "--quiet"], stdin=saving.stdout, check=True)


def test_every_provider_is_here() -> None:
    assert list(NEEDS) == list(registry.PROVIDERS)


def test_rewards_are_as_expected_and_those_of_local(
    finished: tuple[str, Finished], on_local: Finished, expected: Expected
) -> None:
    name, run = finished
    models = {key[1] for key in run.rewards}
    assert models == (set(MODELS) if name in ("local", "docker") else {"demo"}), run.output
    wanted = {(row, model): told for model in models for row, told in expected[MODELS[model]].items()}
    found = {key: {"status": line["status"], "reason": line["reason"] or None} for key, line in run.rewards.items()}
    assert found == wanted, run.output
    assert run.status == 1  # the demo has unresolved predictions on purpose
    varying = ["network"] if name in NETWORKED else []
    assert run.same(*varying) == {key: line for key, line in on_local.same(*varying).items() if key in found}
    # An empty patch has no sandbox, and so no network.
    networks = {line["network"] for line in run.rewards.values() if line["reason"] != "empty_patch"}
    assert networks == {"full" if name in NETWORKED else "none"}
    assert {line["provider"] for line in run.rewards.values()} == {name}


@pytest.mark.kubernetes
def test_a_network_that_cannot_be_taken_away_is_an_error_by_name(tmp_path: Path) -> None:
    """Without a word on the cluster, no row of the quickstart is run with more network than it asks for."""
    kubeconfig = f"--swe-provider-option=kubeconfig={os.environ['PYTEST_SWE_KUBECONFIG']}"
    run = run_plugin(tmp_path, *quickstart("kubernetes", str(PREDS), kubeconfig, "-k", "spans-2"))
    [line] = run.rewards.values()
    assert (line["status"], line["reason"], line["mask"]) == ("error", "unsupported", True)
    assert "network_policy=enforced" in line["detail"]
