"""Options: each on the command line, else as an ini key of the same name (``swe_dataset``), else its default."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import pytest

Kind = Literal["str", "int", "float", "flag", "list"]


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its name without dashes, what it takes, and its help."""

    name: str
    help: str
    kind: Kind = "str"
    metavar: str = ""
    choices: tuple[str, ...] = ()
    default: str | int | float | None = None
    const: str | None = None

    @property
    def dest(self) -> str:
        return self.name.replace("-", "_")


OPTIONS: tuple[Option, ...] = (
    Option("swe-dataset", "Data set: a file, a task repository, or a hub name; repeatable.", "list", "PATH|NAME"),
    Option("swe-preds", "Predictions: files or directories, 'gold', 'base', comma separated; repeatable.", "list", "P"),
    Option("swe-provider", "Where candidates run: docker, local, ... (default docker).", metavar="NAME"),
    Option("swe-provider-option", "An option of the provider, see its page in docs/providers.", "list", "KEY=VALUE"),
    Option("swe-docker-hosts", "Docker engines as one pool: addresses or contexts, comma separated.", metavar="A,B"),
    Option("swe-harness", "Family of the rows, when their columns do not tell.", metavar="NAME"),
    Option("swe-split", "Split of a hub data set or task repository.", metavar="NAME"),
    Option("swe-instance", "Only this instance id; =@FILE: those in FILE; exact, repeatable.", "list", "ID"),
    Option("swe-limit", "Only the first N rows.", "int", "N"),
    Option("swe-sample", "A random N of the rows; the same for the same --swe-seed.", "int", "N"),
    Option("swe-seed", "Seed of --swe-sample (default 0).", "int", "N"),
    Option("swe-shard", "Only part I of N of the rows, as I/N (from 1).", metavar="I/N"),
    Option("swe-repeat", "Evaluate each item N times (default 1).", "int", "N"),
    Option("swe-quarantine", "Known flaky or broken instances and tests, as JSON lines.", metavar="PATH"),
    Option(
        "swe-missing",
        "A row without a prediction is skipped (default), failed, or an error.",
        choices=("skip", "fail", "error"),
    ),
    Option(
        "swe-duplicates",
        "Several predictions for one row and model: error (default), first, last, or all.",
        choices=("error", "first", "last", "all"),
    ),
    Option("swe-rewards", "Reward file (default swe-results/RUN/rewards.jsonl).", metavar="PATH"),
    Option("swe-results", "Directory of the runs' results (default swe-results).", metavar="DIR"),
    Option("swe-resume", "Go on with a run: of --swe-run-id or --swe-rewards, else the latest one.", "flag"),
    Option("swe-cache", "Directory of verdicts of all runs: what is known there is not run again.", metavar="DIR"),
    Option(
        "swe-baseline", "An earlier reward file; the summary says what is fixed and what is broken.", metavar="PATH"
    ),
    Option("swe-no-regressions", "Exit 1 when something that --swe-baseline has resolved is not.", "flag"),
    Option("swe-run-id", "Name of this run; letters, digits, '.', '_', '-' (default: the time).", metavar="ID"),
    Option(
        "swe-network",
        "Network of the sandbox at evaluation (default: none, or what the row says).",
        choices=("none", "full"),
    ),
    Option("swe-timeout", "Seconds a row's tests may take (default: the row's, else 1800).", "float", "SECONDS"),
    Option("swe-cpus", "Processors per sandbox.", "float", "N"),
    Option("swe-memory", "Memory per sandbox, such as 8g or 512m.", metavar="SIZE"),
    Option("swe-pids", "Processes and threads per sandbox (default 4096, where it can be limited).", "int", "N"),
    Option(
        "swe-budget",
        "What sandboxes may take of this host together: memory=32g,cpus=8,disk=100g (default: 9/10 of the memory).",
        metavar="LIMITS",
    ),
    Option(
        "swe-image-mirror",
        "Ask for images under another name first, such as docker.io=mirror.example/hub; repeatable, in order.",
        "list",
        "FROM=TO",
    ),
    Option("swe-pulls", "Images pulled at a time on this host (default 3).", "int", "N"),
    Option(
        "swe-image-budget",
        "What the engine's images may take, such as 60g: those that this tool pulled go, the longest unused first.",
        metavar="SIZE",
    ),
    Option("swe-retries", "Further attempts after a failure of the environment (default 2).", "int", "N"),
    Option("swe-keep", "Keep the sandbox of a failed item and print how to enter it.", "flag"),
    Option("swe-shell", "Open a shell in the sandbox of an item that fails (needs -n0).", "flag"),
    Option("swe-check", "Check the data set and the predictions, run nothing, need no engine.", "flag"),
    Option("swe-trust-local", "Let the local provider run rows that are not marked trusted.", "flag"),
    Option("swe-strict", "A bad row or prediction stops the run at collection.", "flag"),
    Option(
        "swe-unsupported",
        "A row that the provider cannot honour is an error (default) or skipped.",
        choices=("error", "skip"),
    ),
    Option(
        "swe-repairs",
        "Eval scripts that are known to fail with the gold patch are repaired (on, default) or run as published.",
        choices=("on", "off"),
    ),
    Option(
        "swe-rules",
        "Where a family's own harness and a stricter reading differ: official (default) or strict.",
        choices=("official", "strict"),
    ),
    Option(
        "swe-second-look",
        "Evaluate a patch that resolved once more, against fraud: where there is a doubt (default), always, off.",
        choices=("doubt", "always", "off"),
    ),
    Option("swe-extract-diff", "Take the diff out of a prediction that has prose or code fences around it.", "flag"),
    Option(
        "swe-agent",
        "Candidates are made by an agent: a name, command:..., or module:Class; repeatable.",
        "list",
        "AGENT",
    ),
    Option("swe-agent-arg", "An argument of the agents, see docs/agents.", "list", "KEY=VALUE"),
    Option("swe-agent-kit", "Directory with what the agent needs to be installed without a network.", metavar="DIR"),
    Option("swe-agent-timeout", "Seconds that an agent may work (default 3600, or the task's).", "float", "SECONDS"),
    Option("swe-agent-setup-timeout", "Seconds that installing it may take (default 600).", "float", "SECONDS"),
    Option(
        "swe-agent-network",
        "Network of the agent's sandbox beside its model (default: none, or what the task says).",
        choices=("none", "full"),
    ),
    Option("swe-attempts", "Let an agent try each instance N times; the summary has pass@k.", "int", "N"),
    Option("swe-model", "The agents' model, as its server knows it; several make a matrix.", "list", "NAME"),
    Option("swe-model-url", "The server of the agents' model.", metavar="URL"),
    Option("swe-model-protocol", "What that server speaks (default openai).", choices=("openai", "anthropic")),
    Option("swe-model-key", "Variable that holds its key; the key stays on this host.", metavar="NAME"),
    Option("swe-model-calls", "How many calls of its model an agent may make for one item (default: any).", "int", "N"),
    Option("swe-model-tokens", "How many tokens it may use for one item, in and out (default: any).", "int", "N"),
    Option("swe-user-model", "The model behind a task's simulated user.", metavar="NAME"),
    Option("swe-user-model-url", "Its server (default: that of the agents' model).", metavar="URL"),
    Option(
        "swe-user-model-protocol",
        "What that server speaks (default: as that of the agents' model).",
        choices=("openai", "anthropic"),
    ),
    Option("swe-user-model-key", "Variable that holds that server's key.", metavar="NAME"),
    Option("swe-user-questions", "How many questions a simulated user answers (default: all).", "int", "N"),
    Option("swe-env", "A variable of this process that tasks may ask for, by name; repeatable.", "list", "NAME"),
    Option("swe-compose-var", "A value of a task's compose file.", "list", "NAME=literal|env:NAME|model:policy|user"),
    Option("swe-force-build", "Build a task's image also where it names one that is ready.", "flag"),
    Option("swe-timeout-multiplier", "Times all limits of tasks (default 1).", "float", "N"),
    Option(
        "swe-mcp",
        "MCP servers of tasks are kept from agents, handed to those that can use them (default), or required.",
        choices=("off", "optional", "required"),
    ),
    Option("swe-harbor-results", "Also write results in Harbor's layout, below this directory.", metavar="DIR"),
    Option("swe-fail-under", "Exit 0 when the resolved rate reaches this, 0 to 1.", "float", "RATE"),
)


def add_options(parser: pytest.Parser) -> None:
    """Register every option and its ini key."""
    group = parser.getgroup("swe", "software-engineering benchmarks (pytest-swe)")
    for option in OPTIONS:
        _add(group, option)
        parser.addini(option.dest, option.help, type=_INI_TYPES[option.kind], default=None)


#: Options whose values in an ini file are paths, relative to it.
PATHS = frozenset({"swe-dataset", "swe-preds"})

_INI_TYPES: Mapping[Kind, Literal["string", "bool", "linelist"]] = {
    "str": "string",
    "int": "string",
    "float": "string",
    "flag": "bool",
    "list": "linelist",
}


def _add(group: pytest.OptionGroup, option: Option) -> None:
    flag, dest, help_text = f"--{option.name}", option.dest, option.help
    if option.kind == "flag":
        group.addoption(flag, action="store_true", dest=dest, default=None, help=help_text)
    elif option.kind == "list":
        group.addoption(flag, action="append", dest=dest, default=None, metavar=option.metavar, help=help_text)
    elif option.choices:
        group.addoption(flag, dest=dest, default=None, choices=option.choices, help=help_text)
    else:
        kind = {"int": int, "float": float}.get(option.kind, str)
        group.addoption(flag, dest=dest, default=None, type=kind, metavar=option.metavar, help=help_text)


def ini_paths(config: pytest.Config, key: str) -> list[str]:
    """The paths of a list in the ini file, relative to it, where such a file exists; other names as they are."""
    base = config.inipath.parent if config.inipath else Path(config.invocation_params.dir)
    values = cast("list[str]", config.getini(key) or [])
    return [str(base / value) if os.path.exists(base / value) else value for value in values]
