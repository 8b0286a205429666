"""Names of items and of their files: plain where they can be, and never two the same."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pytest_swe.dataset.base import RowRef
from pytest_swe.planning import Source, plan
from pytest_swe.report.names import distinct_names, safe_name


def test_plain_names_stay_and_slashes_are_swebenchs() -> None:
    assert safe_name("django__django-11099") == "django__django-11099"
    assert safe_name("lab/model-1.5") == "lab__model-1.5"
    assert safe_name("") == "None"


@given(st.text(st.characters(exclude_categories=[]), max_size=300))
def test_a_safe_name_is_one_path_component(name: str) -> None:
    safe = safe_name(name)
    assert safe.strip(". ")
    assert "/" not in safe
    assert "\0" not in safe
    assert len(safe.encode()) < 220  # room for a suffix in the 255 of a file system


@given(st.lists(st.text("ab/_.[# ", max_size=4), unique=True))
def test_distinct_names_are_distinct(names: list[str]) -> None:
    found = distinct_names((name, name) for name in names)
    assert list(found) == names
    assert len(set(found.values())) == len(names)


def test_of_names_that_come_out_the_same_the_first_stays_plain() -> None:
    found = distinct_names([("lab/m", "lab/m"), ("lab__m", "lab__m")])
    assert found["lab/m"] == "lab__m"
    assert re.fullmatch(r"lab__m-[0-9a-f]{8}", found["lab__m"])


@given(st.lists(st.text("a[(#2@:", min_size=1, max_size=4), unique=True, max_size=8), st.integers(1, 2))
def test_every_item_has_a_name_of_its_own(ids: list[str], sources: int) -> None:
    refs = [RowRef(row, line, "data.jsonl") for line, row in enumerate(ids, 1)]
    items = plan(refs, [Source(name=name) for name in ("gold", "base")[:sources]])
    assert len({item.name for item in items}) == len(items) == len(ids) * sources
    assert all(item.repeat == 0 for item in items)
    assert not any("::" in item.name for item in items)


def test_a_plan_looks_at_the_predictions_once_and_not_for_each_row() -> None:
    looks: list[int] = []

    class Counting(Source):
        @property
        def models(self) -> tuple[str, ...]:
            looks.append(1)
            return ("m",)

    plan([RowRef(f"i-{line}", line, "data.jsonl") for line in range(1, 50)], [Counting(name="gold")])
    assert len(looks) == 1
