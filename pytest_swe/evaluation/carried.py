"""What a plan asks for and SWE-bench has no column for, as one JSON column of a row; both ways, nothing lost.

Files are text where they are UTF-8, else ``{"base64": "..."}``. What has its default is left out.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

from pytest_swe.encoding import patch_bytes
from pytest_swe.errors import Unsupported
from pytest_swe.evaluation.plan import Around, Plan, ResultFiles
from pytest_swe.grading import SUBSET, Rule, Rules
from pytest_swe.model import JSON


def _content(value: object) -> object:
    if isinstance(value, str):
        return patch_bytes(value)
    if isinstance(value, Mapping) and value.keys() == {"base64"}:
        try:
            return base64.b64decode(str(value["base64"]), validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError(f"expected base64: {error}") from None
    if isinstance(value, bytes):
        return value
    raise ValueError('expected text, or {"base64": text}')


Files = Mapping[str, Annotated[bytes, BeforeValidator(_content)]]


class CarriedRule(BaseModel):
    """Which statuses succeed: see `Rule`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    passes: frozenset[str]
    maintains: frozenset[str]

    def rule(self) -> Rule:
        return Rule(self.passes, self.maintains)


class Carried(BaseModel):
    """See `Plan` and `Around`. ``lay_tests``: the hidden tests of ``test_patch`` are laid before the script runs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    places: tuple[str, ...] = Around().places
    prepare: str = ""
    begin: str = ""
    overlay: Files = {}
    lay_tests: bool = False
    files: Files = {}
    staged: Files = {}
    results: tuple[tuple[str, str], ...] = ()
    file_parser: str = ""
    env: Mapping[str, str] = {}
    user: str = "root"
    capabilities: tuple[str, ...] = ()
    cpus: float | None = None
    memory_mb: int | None = None
    rule: CarriedRule | None = None
    strict: Mapping[str, CarriedRule] = {}

    def rules(self) -> Rules:
        """How the row is graded: by ``rule``, else as ``flat-eval`` does."""
        own = self.rule.rule() if self.rule else SUBSET
        return Rules(own, tuple((word, strict.rule()) for word, strict in self.strict.items()))

    def around(self, test_patch: bytes) -> Around:
        """The part of it that is done around the candidate's patch."""
        return Around(
            places=self.places,
            prepare=self.prepare,
            begin=self.begin,
            overlay=self.overlay,
            tests_patch=test_patch if self.lay_tests else b"",
            files=self.files,
            staged=self.staged,
            results=tuple(ResultFiles(root, pattern) for root, pattern in self.results),
        )


#: The family whose rows carry a plan.
FAMILY = "flat-eval"


def flat_columns(plan: Plan, rules: Rules) -> dict[str, JSON]:
    """The columns of a ``flat-eval`` row with this plan and these rules. Raises Unsupported for what has none."""
    tests = plan.around.tests_patch or plan.hidden
    if plan.hidden not in (b"", tests):
        raise Unsupported("it names other hidden tests than it lays")
    columns: dict[str, JSON] = {
        "instance_id": plan.instance_id,
        "dataset_name": FAMILY,
        "repo": plan.repo,
        "image": plan.image,
        "eval_script": plan.script,
        "log_parser": plan.parser,
        "FAIL_TO_PASS": list(plan.fail_to_pass),
        "PASS_TO_PASS": list(plan.pass_to_pass),
        "patch": (plan.gold or b"").decode("utf-8", "surrogateescape"),
        "test_patch": tests.decode("utf-8", "surrogateescape"),
        "timeout": plan.timeout,
    }
    return columns | ({"plan": found} if (found := carried(plan, rules)) else {})


def carried(plan: Plan, rules: Rules) -> dict[str, JSON]:
    """The column for ``plan`` and ``rules``; empty when SWE-bench's columns say all of it."""
    around = plan.around
    found: dict[str, JSON] = {
        "places": list(around.places),
        "prepare": around.prepare,
        "begin": around.begin,
        "overlay": _files(around.overlay),
        "lay_tests": bool(around.tests_patch),
        "files": _files(around.files),
        "staged": _files(around.staged),
        "results": [[found.root, found.pattern] for found in around.results],
        "file_parser": plan.file_parser,
        "env": dict(plan.env),
        "user": plan.user,
        "capabilities": list(plan.capabilities),
        "cpus": plan.cpus,
        "memory_mb": plan.memory_mb,
        "rule": None if rules.rule == SUBSET else _rule(rules.rule),
        "strict": {word: _rule(rule) for word, rule in rules.strict},
    }
    plain = Carried().model_dump(mode="json")
    return {name: value for name, value in found.items() if value != plain[name]}


def _rule(rule: Rule) -> JSON:
    return {"passes": [*sorted(rule.passes)], "maintains": [*sorted(rule.maintains)]}


def _files(files: Mapping[str, bytes]) -> dict[str, JSON]:
    return {name: _shown(content) for name, content in files.items()}


def _shown(content: bytes) -> JSON:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode("ascii")}
