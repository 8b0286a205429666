"""``--swe-docker-hosts``: which engines the docker provider is made with, and who refuses it."""

from __future__ import annotations

import pytest

from .conftest import Project


def test_engines_that_are_none_are_named_once(project: Project) -> None:
    data = project.rows({"a-1": "resolved"})
    result = project.run(data, "--swe-preds", "gold", "--swe-docker-hosts", "unix:///no/s,nonesuch", provider="docker")
    assert result.ret != 0
    assert "nonesuch" in result.stdout.str() + result.stderr.str()


def test_other_providers_refuse_it(project: Project) -> None:
    data = project.rows({"a-1": "resolved"})
    result = project.run(data, "--swe-preds", "gold", "--swe-docker-hosts", "unix:///a", provider="podman")
    assert result.ret != 0
    assert "--swe-docker-hosts is for --swe-provider docker" in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize("hosts", ["", " , ", "ssh://a,ssh://a"])
def test_a_list_that_is_none_is_a_usage_error(project: Project, hosts: str) -> None:
    data = project.rows({"a-1": "resolved"})
    result = project.run(data, "--swe-preds", "gold", "--swe-docker-hosts", hosts or ",", provider="docker")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--swe-docker-hosts*"])


@pytest.mark.parametrize(
    ("options", "variables"),
    [
        (["--swe-docker-hosts", "garbage"], {}),
        (["--swe-docker-hosts", "unix:///no/s,garbage"], {}),
        (["--swe-provider-option", "host=garbage"], {}),
        ([], {"DOCKER_HOST": "garbage"}),
        ([], {"DOCKER_HOST": "", "DOCKER_CONTEXT": "garbage"}),
    ],
)
@pytest.mark.parametrize("shape", [["-n0"], ["-n2"]], ids=str)
def test_an_address_that_is_none_is_a_usage_error(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    variables: dict[str, str],
    shape: list[str],
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    data = project.rows({"a-1": "resolved"})
    result = project.run(data, "--swe-preds", "gold", *options, *shape, provider="docker")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *garbage*(*)"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


def test_an_address_where_no_engine_is_is_no_usage_error(project: Project) -> None:
    data = project.rows({"a-1": "resolved"})
    result = project.run(data, "--swe-preds", "gold", "--swe-docker-hosts", "unix:///no/s", provider="docker")
    assert result.ret != pytest.ExitCode.USAGE_ERROR
    assert "Traceback" not in result.stdout.str()
    assert project.rewards[0]["status"] == "error"
    assert project.rewards[0]["reason"] != "internal"
