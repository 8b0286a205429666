"""What is kept of a command's output, and what it costs."""

from __future__ import annotations

import itertools
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from pytest_swe.sandbox import output
from pytest_swe.sandbox.output import BoundedOutput

chunks = st.lists(st.binary(max_size=40), max_size=40)


@given(chunks=chunks, head=st.integers(0, 200), tail=st.integers(0, 200))
def test_keeps_both_ends_and_counts_the_rest(chunks: list[bytes], head: int, tail: int) -> None:
    whole = b"".join(chunks)
    with BoundedOutput(head, tail) as out:
        for chunk in chunks:
            out.write(chunk)
        left_out = max(0, len(whole) - head - tail)
        assert out.dropped == left_out
        if left_out:
            line = f"\n[... {left_out} bytes left out ...]\n".encode()
            assert out.value() == whole[:head] + line + whole[len(whole) - tail :]
        else:
            assert out.value() == whole


@given(data=st.binary(max_size=400), cuts=st.lists(st.integers(0, 400), max_size=6))
def test_the_size_of_writes_does_not_matter(data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(data)]
    with BoundedOutput(50, 60) as once, BoundedOutput(50, 60) as often:
        once.write(data)
        for start, end in itertools.pairwise(edges):
            often.write(data[start:end])
        assert often.value() == once.value()


def test_value_can_be_read_while_output_still_comes() -> None:
    with BoundedOutput(4, 4) as out:
        out.write(b"ab")
        assert out.value() == b"ab"
        out.write(b"cdefgh")
        assert out.value() == b"abcdefgh"


def test_a_head_past_the_spool_goes_to_disk_and_comes_back() -> None:
    data = bytes(range(256)) * (3 * output.SPOOL // 256)
    tracemalloc.start()
    try:
        with BoundedOutput(len(data), 0) as out:
            for start in range(0, len(data), 1000):
                out.write(data[start : start + 1000])
            held, _ = tracemalloc.get_traced_memory()
            assert held < output.SPOOL
            assert out.value() == data
    finally:
        tracemalloc.stop()


def test_many_small_writes_hold_little_more_than_the_tail() -> None:
    tracemalloc.start()
    try:
        with BoundedOutput(0, 100 * 1024) as out:
            for _ in range(150 * 1024):
                out.write(b"x")
            held, _ = tracemalloc.get_traced_memory()
            assert held < 400 * 1024
            assert out.dropped == 50 * 1024
    finally:
        tracemalloc.stop()
