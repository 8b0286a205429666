"""Secrets that somebody gave in an argument: in nothing that a run writes."""

from __future__ import annotations

import json

import pytest

from pytest_swe.masking import without_secret

from .conftest import Project

SECRET = "s3cret-of-the-user"


@pytest.mark.parametrize(
    "name",
    ["token", "API_TOKEN", "key", "api-key", "apiKey", "OPENAI_API_KEY", "secret", "db_password", "passwd", "auth"],
)
def test_a_name_that_says_secret(name: str) -> None:
    assert without_secret(f"{name}={SECRET}=") == f"{name}=***"


@pytest.mark.parametrize(
    "text", ["max_tokens=4096", "step_limit=3", "keyboard=qwerty", "author=me", "x=token", "token"]
)
def test_any_other_stays(text: str) -> None:
    assert without_secret(text) == text


def test_no_file_of_a_run_has_it(project: Project) -> None:
    data = project.rows({"a-1": "resolved"})
    args = [f"--swe-agent-arg=token={SECRET}", "--swe-agent-arg=word=hello"]
    values = [f"--swe-compose-var=DB_PASSWORD={SECRET}", "--swe-compose-var=API_KEY=env:PATH"]
    project.run(data, "--swe-agent", "command:true", *args, *values, "--swe-run-id=r", "-n0")
    options = json.loads((project.path / "swe-results" / "r" / "run.json").read_text())["options"]
    assert options["agent_args"] == ["token=***", "word=hello"]
    assert options["compose_vars"] == ["DB_PASSWORD=***", "API_KEY=env:PATH"]
    written = [*(project.path / "swe-results").rglob("*"), project.path / "rewards.jsonl"]
    assert not [path for path in written if path.is_file() and SECRET in path.read_text()]
