"""Patches that name binary files without their content, in a family that leaves these out."""

from __future__ import annotations

from pathlib import Path

import pytest
from driver_bench import Bench, make_bench
from hypothesis import given
from hypothesis import strategies as st
from own_parser_toy import EDIT, evaluated

from pytest_swe.evaluation.binary_stubs import without_stubs
from pytest_swe.evaluation.own_script import STDOUT

STUB = b"diff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)


def test_a_file_without_content_is_left_out_and_the_rest_applies(bench: Bench) -> None:
    log = evaluated(bench, EDIT + STUB, run="head -n 1 a.py")
    assert log.steps[0].files[STDOUT] == b"ONE\n"
    assert log.steps[0].run is not None
    assert log.steps[0].run.notes == ("binary_without_content:x.png",)


def test_a_patch_of_nothing_else_does_not_apply(bench: Bench) -> None:
    assert evaluated(bench, STUB).steps[0].apply.outcome == "failed"


def test_a_binary_file_with_content_is_kept(bench: Bench) -> None:
    patch, after = bench.diff_of(lambda tree: (tree / "data.bin").write_bytes(b"\0new"))
    assert without_stubs(patch + EDIT) == (patch + EDIT, ("official_differs:binary_files_kept",))
    log = evaluated(bench, patch, run="cat data.bin")
    assert log.steps[0].files[STDOUT] == after["data.bin"][1] == b"\0new"


def test_text_that_speaks_of_binary_files_is_text() -> None:
    text = b"diff --git a/n b/n\n--- a/n\n+++ b/n\n@@ -1 +1 @@\n-x\n+Binary files a and b differ\n"
    assert without_stubs(text) == (text, ())


@given(st.lists(st.sampled_from([EDIT, STUB, b"prose\n", b"\xff\n", b""])).map(b"".join))
def test_nothing_but_stubs_is_left_out(patch: bytes) -> None:
    kept, flags = without_stubs(patch)
    assert kept.count(EDIT) == patch.count(EDIT)
    assert b"Binary files" not in kept
    assert bool(flags) == (kept != patch)
