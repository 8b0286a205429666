"""Options that take a path: where pytest looks for its ini file, and how the documentation writes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_swe.options import OPTIONS, PATHS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "datasets").glob("*/README.md")]
NAMES = sorted({option.name for option in OPTIONS if option.metavar in ("PATH", "DIR")} | PATHS)
#: Words that stand for controls, and are no paths.
_WITH_A_SPACE = re.compile(rf"--({'|'.join(NAMES)}) (?!gold\b|base\b)[\w./]+")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_write_a_path_with_an_equals_sign(page: Path) -> None:
    examples = [line for line in page.read_text("utf-8").splitlines() if line.startswith("    ") and "pytest" in line]
    assert not [line for line in examples if _WITH_A_SPACE.search(line)]


def test_the_readme_names_each_of_them() -> None:
    said = (ROOT / "README.md").read_text("utf-8")
    assert not [name for name in NAMES if f"`--{name}`" not in said and f"`--{name}=PATH`" not in said]


@pytest.mark.parametrize("option", NAMES)
def test_with_an_equals_sign_the_projects_own_ini_file_counts(
    pytester: pytest.Pytester, tmp_path_factory: pytest.TempPathFactory, option: str
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "pytest.ini").write_text("[pytest]\naddopts = --of-another-project\n")
    (elsewhere / "rows.jsonl").write_text('{"instance_id": "a-1"}\n')
    pytester.makeini("[pytest]\n")
    path = elsewhere / "rows.jsonl" if option in PATHS else elsewhere
    result = pytester.runpytest_subprocess(f"--{option}={path}", "--collect-only", "-p", "no:cacheprovider")
    assert "--of-another-project" not in result.stderr.str()
    result.stdout.fnmatch_lines([f"rootdir: {pytester.path}", "configfile: tox.ini"])
