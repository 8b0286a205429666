"""A family whose rows bring their own run script and parser, with rows of one's own; run without an engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from driver_bench import Bench, BenchSandbox

from pytest_swe.columns import Columns
from pytest_swe.evaluation.own_parser import OwnParser, OwnParserFamily
from pytest_swe.evaluation.own_script import RUN_SCRIPT, STREAMS, own_script, reset_to
from pytest_swe.evaluation.plan import Around, Plan
from pytest_swe.model import Candidate, EvalLog, Instance, Origin, Row

EDIT = b"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n"

#: As rows have it: a list of lines "name status" from both streams.
PARSER = """
import json, sys
lines = [line.split() for path in sys.argv[1:3] for line in open(path)]
tests = [{"name": line[0], "status": line[1]} for line in lines if len(line) == 2]
json.dump({"tests": tests}, open(sys.argv[3], "w"))
"""
RUN = "echo t1 PASSED; echo t2 FAILED >&2\n"


class Toy(OwnParserFamily):
    """The family with rows of `row`."""

    name = "toy"
    columns = Columns(needed=frozenset())

    def plan(self, row: Row, origin: Origin) -> Plan:
        given: dict[str, Any] = dict(row)
        exports = tuple(given.get("exports", ()))
        return Plan(
            instance_id="toy-1",
            image="none",
            script=own_script(exports=exports, lay=given.get("lay", ""), tests=given.get("tests", ())),
            fail_to_pass=tuple(given.get("required", ("t1",))),
            around=Around(
                places=(given["tree"],),
                prepare=reset_to("HEAD"),
                files={RUN_SCRIPT: given.get("run", RUN).encode()},
                results=STREAMS,
            ),
            extra=OwnParser(given.get("parser", PARSER).encode(), exports, given.get("user", "")),
            timeout=30,
        )


def toy(bench: Bench, **row: object) -> tuple[Toy, Instance]:
    harness = Toy(nonce=lambda: "ab12")
    return harness, harness.instance({"tree": str(bench.tree), **row}, Origin())


def evaluated(bench: Bench, patch: bytes | None = EDIT, env: Mapping[str, str] | None = None, **row: object) -> EvalLog:
    harness, instance = toy(bench, **row)
    return harness.evaluate(instance, Candidate(model="m", patch=patch), BenchSandbox(bench, env))


def judged(bench: Bench, **row: object) -> EvalLog:
    harness, instance = toy(bench, **row)
    log = harness.evaluate(instance, Candidate(model="m", patch=EDIT), BenchSandbox(bench))
    return harness.judge(instance, log, BenchSandbox(bench))


def log_with(files: dict[str, bytes], bench: Bench) -> EvalLog:
    log = evaluated(bench)
    return replace(log, steps=(replace(log.steps[0], files=files),))


def parsed(*entries: tuple[str, str]) -> bytes:
    return json.dumps({"tests": [{"name": name, "status": status} for name, status in entries]}).encode()
