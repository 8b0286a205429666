"""What can be said about the required tests of a row by looking at them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from pytest_swe.model import Row
from pytest_swe.required import required_tests

Remark = tuple[Literal["error", "warning", "info"], str, str]

#: Names of the two lists: SWE-bench's, then SWE-bench Pro's.
_FIELDS = (("FAIL_TO_PASS", "PASS_TO_PASS"), ("fail_to_pass", "pass_to_pass"))
#: What log parsers leave behind and no runner calls a test: "[100%]", "#15789", a quote (SWE-bench#660).
_JUNK = re.compile(r"\s*(\[\s*\d+%\]|#\d+|\W*)\s*")


def remarks_on_tests(row: Row) -> Iterator[Remark]:
    """Level, field and message of what is odd about the lists of a row; nothing for a family that has no such lists."""
    fields = next((fields for fields in _FIELDS if fields[0] in row), None)
    if fields is None:
        return
    lists: list[tuple[str, ...]] = []
    for field in fields:
        try:
            tests = required_tests(row.get(field))
        except ValueError as error:
            yield "error", field, str(error)
            return
        yield from _remarks_on_list(field, tests)
        lists.append(tests)
    if not lists[0]:
        yield "error", fields[0], "empty: nothing would be measured"
    both = sorted(set(lists[0]) & set(lists[1]))
    if both:
        yield "warning", fields[1], f"{len(both)} tests are also in {fields[0]}: {_some(both)}"


def _remarks_on_list(field: str, tests: Sequence[str]) -> Iterator[Remark]:
    junk = [test for test in tests if _JUNK.fullmatch(test)]
    if junk:
        yield "warning", field, f"{len(junk)} ids name no test: {_some(junk)}"
    repeated = [test for test, count in Counter(tests).items() if count > 1]
    if repeated:
        yield "warning", field, f"{len(repeated)} ids stand there more than once: {_some(repeated)}"
    cut = [test for test in tests if test.count("[") > test.count("]")]
    if cut:
        yield "info", field, f"{len(cut)} ids are cut off at a blank: {_some(cut)}"


def _some(tests: Sequence[str]) -> str:
    shown = ", ".join(repr(test[:80]) for test in tests[:3])
    return shown + (", ..." if len(tests) > 3 else "")
