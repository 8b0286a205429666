"""The light import of the official parsers: cheap, private, and in nobody's way."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_swe.errors import RowInvalid
from pytest_swe.logs.official import LogUnparseable, ParserContext, official, parse, parser_names
from pytest_swe.model import Reason


def run(code: str) -> str:
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


LOAD = "from pytest_swe.logs.official import official; official(); import sys\n"


def test_it_pulls_none_of_the_heavy_packages_and_leaves_no_module() -> None:
    code = LOAD + "print(sorted({n.split('.')[0] for n in sys.modules} & {'docker', 'datasets', 'modal', 'swebench'}))"
    assert run(code) == "[]"


def test_a_real_import_afterwards_is_whole() -> None:
    code = LOAD + (
        "import swebench.harness, swebench.types\n"
        "from swebench.harness import grading, log_parsers, run_evaluation\n"
        "assert swebench.harness.grading is grading and swebench.types.TestSpec\n"
        "assert swebench.__version__ and swebench.harness.__file__\n"
        "print(run_evaluation.main.__name__)"
    )
    assert run(code) == "main"


def test_a_real_import_before_is_used_and_stays() -> None:
    code = (
        "import sys, swebench.harness.grading as grading\n"
        "before = {n: m for n, m in sys.modules.items() if n.startswith('swebench')}\n"
        "from pytest_swe.logs.official import official\n"
        "assert official().suite_ran is grading.SUITE_RAN\n"
        "print(before == {n: m for n, m in sys.modules.items() if n.startswith('swebench')})"
    )
    assert run(code) == "True"


def test_a_package_imported_without_its_harness_stays_itself() -> None:
    code = (
        "import sys, swebench\n"
        "from pytest_swe.logs.official import official\n"
        "official()\n"
        "assert sys.modules['swebench'] is swebench and not hasattr(swebench, 'harness')\n"
        "from swebench.harness.constants import START_TEST_OUTPUT as start\n"
        "print(start)"
    )
    assert run(code) == ">>>>> Start Test Output"


def test_many_threads_may_ask_first() -> None:
    code = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from pytest_swe.logs.official import official\n"
        "with ThreadPoolExecutor(32) as pool:\n"
        "    print(len({id(found) for found in pool.map(lambda _: official(), range(64))}))"
    )
    assert run(code) == "1"


def test_without_swebench_the_error_says_what_to_install() -> None:
    code = (
        "import importlib.util\n"
        "importlib.util.find_spec = lambda name: None\n"
        "from pytest_swe.errors import HarnessError\n"
        "from pytest_swe.logs.official import official\n"
        "try:\n    official()\nexcept HarnessError as error:\n    print(error.reason, error)"
    )
    assert run(code).startswith('internal the package swebench is not installed (pip install "swebench')


def test_an_unknown_parser_names_the_nearest() -> None:
    with pytest.raises(RowInvalid, match=r"log_parser: .*'parse_log_pytset', did you mean 'parse_log_pytest'\?"):
        parse("parse_log_pytset", "")


def test_a_parser_that_raises_is_a_reason_and_no_traceback() -> None:
    with pytest.raises(LogUnparseable, match="parse_log_django raised IndexError") as caught:
        parse("parse_log_django", "FAIL:\n")
    assert caught.value.reason is Reason.LOG_UNPARSEABLE


def test_parsers_that_choose_by_version_get_it() -> None:
    log = "running 3 test files\n  suite\n    \u2714 works\n\n  1 passing\n"
    assert parse("parse_log_lighthouse", log, ParserContext(version="9.5"))
    with pytest.raises(LogUnparseable):
        parse("parse_log_lighthouse", log, ParserContext(version=""))


LINES = st.sampled_from(
    [
        "PASSED a",
        "FAILED a - b",
        "FAIL:",
        "ERROR: x",
        "x ... ok",
        "ok",
        "not ok 1 x",
        "{",
        '"passes": [',
        "\u2714 a",
        "1) x",
    ]
)


@settings(max_examples=200, deadline=None)
@given(name=st.sampled_from(parser_names()), text=st.one_of(st.text(), st.lists(LINES).map("\n".join)))
def test_every_parser_gives_statuses_or_the_typed_error(name: str, text: str) -> None:
    try:
        found = parse(name, text, ParserContext(instance_id="o__r-1", repo="o/r", version="1.0"))
    except LogUnparseable:
        return
    assert all(isinstance(test, str) and isinstance(status, str) for test, status in found.items())


def test_all_parsers_are_there() -> None:
    assert len(official().parsers) == len(set(parser_names())) >= 57
