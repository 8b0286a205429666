"""An agent on a row of every family: it begins in the tree that its patch is judged on, and nothing gives that away."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from pytest_swe import registry
from pytest_swe.model import Origin

from .conftest import EXAMPLES, FAMILIES, Finished, run_examples

pytestmark = pytest.mark.docker

#: Stands in the hidden tests of every example, and nowhere else.
HIDDEN_TEST = "test_difference_cuts_every_hole"
#: Says which file or past commit has the hidden tests or the fix; then makes the fix, the one that applies.
AGENT = """\
look() {{
  text=$(printf %s "$1" | base64 -d)
  grep -rIlF --exclude-dir=proc --exclude-dir=sys -e "$text" / 2>/dev/null
  git log --all -p | grep -F -e "$text"
}}
look {test}
look {fix}
for fix in {fixes}; do if printf %s $fix | base64 -d | git apply 2>/dev/null; then echo APPLIED; break; fi; done
"""


def golds() -> set[bytes]:
    found = set()
    for family in FAMILIES:
        path = EXAMPLES / family / "rows.jsonl"
        harness = registry.harness(family)
        row = json.loads(path.read_text().splitlines()[0])
        found.add(harness.gold(harness.instance(row, Origin(path=str(path), line=1))))
    return found


def encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()


def fixed_line(fixes: set[bytes]) -> str:
    """A line that each fix adds."""
    added = [{line[1:].strip() for line in fix.decode().splitlines() if line.startswith("+ ")} for fix in fixes]
    return max(set.intersection(*added), key=len)


@pytest.fixture(scope="session")
def by_agent(images: None, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    fixes = golds()
    texts = " ".join(map(encoded, sorted(fixes, key=len)))
    # Encoded, so that the script itself is not what is found.
    script = AGENT.format(test=encoded(HIDDEN_TEST.encode()), fix=encoded(fixed_line(fixes).encode()), fixes=texts)
    return run_examples(tmp_path_factory.mktemp("agents"), "--swe-agent", f"command:{script}")


def line_of(run: Finished, family: str) -> dict[str, Any]:
    (model,) = {model for found, model in run.rewards if found == family}
    (found,) = run.rewards[family, model]
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_its_fix_resolves_and_gave_nothing_away(by_agent: Finished, family: str) -> None:
    found = line_of(by_agent, family)
    output = (by_agent.place / found["logs"] / "agent" / "output.txt").read_text()
    assert output == "APPLIED\n", output
    assert found["status"] == "resolved", found
