"""What the user asked for: every option read once, checked, and of the kind that the code wants."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import pytest

from pytest_swe.model import Rules, SecondLook
from pytest_swe.options import OPTIONS, PATHS, Option, ini_paths
from pytest_swe.sandbox.admission import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the user asked for, read once. Memory in MiB, times in seconds."""

    datasets: tuple[str, ...] = ()
    preds: tuple[str, ...] = ()
    provider: str = "docker"
    provider_options: tuple[str, ...] = ()
    docker_hosts: tuple[str, ...] = ()
    harness: str | None = None
    split: str | None = None
    instances: tuple[str, ...] = ()
    limit: int | None = None
    sample: int | None = None
    seed: int = 0
    shard: tuple[int, int] | None = None
    repeat: int = 1
    quarantine: Path | None = None
    missing: Literal["skip", "fail", "error"] = "skip"
    duplicates: Literal["error", "first", "last", "all"] = "error"
    rewards: Path | None = None
    results: Path = Path("swe-results")
    run_id: str | None = None
    resume: bool = False
    cache: Path | None = None
    baseline: Path | None = None
    no_regressions: bool = False
    network: Literal["none", "full"] | None = None
    timeout: float | None = None
    cpus: float | None = None
    memory_mb: int | None = None
    pids: int | None = None
    budget: Budget | None = None
    image_mirrors: tuple[str, ...] = ()
    pulls: int | None = None
    image_budget_mb: int | None = None
    retries: int = 2
    keep: bool = False
    shell: bool = False
    check: bool = False
    trust_local: bool = False
    strict: bool = False
    unsupported: Literal["error", "skip"] = "error"
    repairs: Literal["on", "off"] = "on"
    rules: Rules = "official"
    second_look: SecondLook = "doubt"
    extract_diff: bool = False
    fail_under: float | None = None
    agents: tuple[str, ...] = ()
    agent_args: tuple[str, ...] = ()
    agent_kit: Path | None = None
    agent_timeout: float | None = None
    agent_setup_timeout: float | None = None
    agent_network: Literal["none", "full"] | None = None
    attempts: int = 1
    models: tuple[str, ...] = ()
    model_url: str = ""
    model_protocol: Literal["openai", "anthropic"] = "openai"
    model_key: str | None = None
    model_calls: int | None = None
    model_tokens: int | None = None
    user_model: str = ""
    user_model_url: str = ""
    user_model_protocol: Literal["openai", "anthropic"] | None = None
    user_model_key: str | None = None
    user_questions: int | None = None
    envs: tuple[str, ...] = ()
    compose_vars: tuple[str, ...] = ()
    force_build: bool = False
    timeout_multiplier: float = 1.0
    mcp: Literal["off", "optional", "required"] = "optional"
    harbor_results: Path | None = None


def settings_from(config: pytest.Config) -> Settings:
    """Read every option: command line, then ini, then default. Raises UsageError naming what is wrong."""
    values = {option.name.removeprefix("swe-").replace("-", "_"): _value(config, option) for option in OPTIONS}
    base = Path(config.invocation_params.dir)
    given = {key: value for key, value in values.items() if value is not None}
    for plural, single in _PLURALS.items():
        given[plural] = tuple(cast("list[str]", given.pop(single, [])))
    given["preds"] = tuple(_split_preds(cast("list[str]", given.get("preds", []))))
    given["instances"] = tuple(_expand_ids(cast("tuple[str, ...]", given["instances"]), base))
    given["results"] = base / str(given.get("results", "swe-results"))
    for key, convert in _CONVERTERS.items():
        if key in given:
            given[key] = convert(str(given[key]))
    if "memory" in given:
        given["memory_mb"] = given.pop("memory")
    if "image_budget" in given:
        given["image_budget_mb"] = _memory(str(given.pop("image_budget")), "--swe-image-budget")
    for key in ("rewards", "cache", "baseline", "quarantine", "agent_kit", "harbor_results"):
        if key in given:
            given[key] = base / str(given[key])
    _check(given)
    return Settings(**given)  # type: ignore[arg-type]


def _value(config: pytest.Config, option: Option) -> object:
    value = getattr(config.option, option.dest, None)
    if value is not None:
        return cast("object", value)
    value = ini_paths(config, option.dest) if option.name in PATHS else config.getini(option.dest)
    if value in (None, "", []):
        return None
    if option.choices and value not in option.choices:
        raise pytest.UsageError(f"{option.dest} = {value!r} in the ini file: known are {', '.join(option.choices)}")
    if option.kind in ("int", "float"):
        return _number(option, str(value))
    return cast("object", value)


def _number(option: Option, text: str) -> int | float:
    try:
        return int(text) if option.kind == "int" else float(text)
    except ValueError:
        raise pytest.UsageError(f"{option.dest} = {text!r} in the ini file: expected a number") from None


def _split_preds(values: Iterable[str]) -> Iterable[str]:
    """Comma separated, but a path that exists is taken whole, commas and all."""
    for value in values:
        if os.path.exists(value):
            yield value
        else:
            yield from (part for part in (piece.strip() for piece in value.split(",")) if part)


def _expand_ids(values: Iterable[str], base: Path) -> Iterable[str]:
    for value in values:
        if not value.startswith("@"):
            yield value
            continue
        path = base / value[1:]
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise pytest.UsageError(f"--swe-instance {value}: {error.strerror or error}") from None
        yield from (line.strip() for line in lines if line.strip() and not line.startswith("#"))


def _shard(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise pytest.UsageError(f"--swe-shard {text}: expected I/N with I from 1 to N, such as 2/8")
    return int(match[1]), int(match[2])


def _memory(text: str, option: str = "--swe-memory") -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", text.strip().lower())
    if match is None:
        raise pytest.UsageError(f"{option} {text}: expected a size such as 8g or 512m")
    scale = {"k": 1 / 1024, "": 1 / 1024**2, "m": 1, "g": 1024, "t": 1024**2}[match[2]]
    size = float(match[1]) * scale
    if size > _MOST_MB:
        raise pytest.UsageError(f"{option} {text}: more than 1 PiB; expected a size such as 8g or 512m")
    megabytes = int(size)
    if megabytes < 1:
        raise pytest.UsageError(f"{option} {text}: less than one MiB; write a unit, such as 8g")
    return megabytes


def _budget(text: str) -> Budget:
    found: dict[str, float] = {}
    told: set[str] = set()
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        if name in told:
            raise pytest.UsageError(f"--swe-budget {text}: {name} is there twice; give it once")
        told.add(name)
        if name in ("memory", "disk"):
            found[f"{name}_mb"] = _memory(value, f"--swe-budget {name}=")
        elif name == "cpus" and re.fullmatch(r"\d+(\.\d+)?", value) and 0 < float(value) <= 65536:
            found["cpus"] = float(value)
        else:
            raise pytest.UsageError(f"--swe-budget {text}: expected memory=SIZE, cpus=N or disk=SIZE, got {part!r}")
    return Budget(**found)  # type: ignore[arg-type]


def _hosts(text: str) -> tuple[str, ...]:
    hosts = tuple(part.strip() for part in text.split(",") if part.strip())
    if not hosts or len(set(hosts)) < len(hosts):
        raise pytest.UsageError(f"--swe-docker-hosts {text}: expected engines, each once, such as ssh://a,ssh://b")
    return hosts


def _run_id(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", text):
        raise pytest.UsageError(f"--swe-run-id {text!r}: letters, digits, '.', '_' and '-' only, at most 100")
    return text


_PLURALS = {
    "datasets": "dataset",
    "instances": "instance",
    "image_mirrors": "image_mirror",
    "provider_options": "provider_option",
    "agents": "agent",
    "agent_args": "agent_arg",
    "models": "model",
    "envs": "env",
    "compose_vars": "compose_var",
}

_CONVERTERS = {"docker_hosts": _hosts, "budget": _budget, "shard": _shard, "memory": _memory, "run_id": _run_id}


_YEAR = 365 * 24 * 3600
_MOST_MB = 1024**3

#: Options with a number that is finite and more than 0: of what, and the most that is taken.
_MOST = {
    "timeout": (" of seconds", _YEAR),
    "agent_timeout": (" of seconds", _YEAR),
    "agent_setup_timeout": (" of seconds", _YEAR),
    "cpus": (" of processors", 65536),
    "timeout_multiplier": ("", 1000),
}

_VARIABLE = ("letters, digits and '_', with no digit first", r"[A-Za-z_][A-Za-z0-9_]*")
#: Options with a name in them: what it has to be.
_NAMES = {
    "compose_vars": _VARIABLE,
    "envs": _VARIABLE,
    "agent_args": ("letters, digits, '_' and '-'", r"[A-Za-z0-9_-]+"),  # SWE_ARG_NAME
}


def _check(given: Mapping[str, object]) -> None:
    for key in ("limit", "sample", "retries", "user_questions"):
        if cast("int", given.get(key, 0)) < 0:
            raise pytest.UsageError(f"--swe-{key.replace('_', '-')} {given[key]}: expected 0 or more")
    for key in ("repeat", "pulls", "attempts", "model_calls", "model_tokens", "pids"):
        if cast("int", given.get(key, 1)) < 1:
            raise pytest.UsageError(f"--swe-{key.replace('_', '-')} {given[key]}: expected 1 or more")
    for key, (unit, most) in _MOST.items():
        if key in given and not 0 < cast("float", given[key]) <= most:
            option = f"--swe-{key.replace('_', '-')}"
            raise pytest.UsageError(f"{option} {given[key]}: expected a number{unit} more than 0, up to {most}")
    _check_names(given)
    rate = cast("float", given.get("fail_under", 0.0))
    if not 0 <= rate <= 1:
        raise pytest.UsageError(f"--swe-fail-under {rate}: expected a rate from 0 to 1, such as 0.9")


def _check_names(given: Mapping[str, object]) -> None:
    """Names that nothing could ask for. What stands behind ``=`` may be a secret, and is not told."""
    for key, (what, known) in _NAMES.items():
        option = f"--swe-{_PLURALS[key].replace('_', '-')}"
        for text in cast("tuple[str, ...]", given.get(key, ())):
            name, equals, _ = text.partition("=")
            if key == "envs" and equals:
                raise pytest.UsageError(f"{option} {name}=...: expected NAME alone, of a variable that pytest has")
            if key != "envs" and not (equals and name.strip()):
                raise pytest.UsageError(f"{option} {text}: expected NAME=VALUE")
            if not re.fullmatch(known, name.strip()):
                raise pytest.UsageError(f"{option} {name}: the name has to be {what}")
