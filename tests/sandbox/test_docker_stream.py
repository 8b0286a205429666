"""The engine's frames, and reading them until an end or a deadline, over real sockets."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_swe.sandbox.docker_stream import Demultiplexer, pump
from pytest_swe.sandbox.output import BoundedOutput

frames = st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=300)), max_size=12)


def frame(stream: int, data: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


@given(sent=frames, cut=st.integers(1, 700))
def test_frames_are_split_however_they_are_cut(sent: list[tuple[int, bytes]], cut: int) -> None:
    wire = b"".join(frame(stream, data) for stream, data in sent)
    with BoundedOutput() as stdout, BoundedOutput() as stderr:
        demultiplexer = Demultiplexer(stdout, stderr)
        for start in range(0, len(wire), cut):
            demultiplexer.feed(wire[start : start + cut])
        assert stdout.value() == b"".join(data for stream, data in sent if stream == 1)
        assert stderr.value() == b"".join(data for stream, data in sent if stream == 2)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Our end, which does not block, and the engine's."""
    ours, engine = socket.socketpair()
    with ours, engine:
        ours.setblocking(False)
        yield ours, engine


def test_pump_ends_with_the_stream(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, engine = pair
    got = bytearray()
    engine.sendall(b"all of it")
    engine.close()
    assert pump(ours, b"", got.extend, time.monotonic() + 60)
    assert got == b"all of it"


def test_pump_ends_at_its_deadline_with_what_came(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, engine = pair
    got = bytearray()
    engine.sendall(b"so far")
    assert not pump(ours, b"", got.extend, time.monotonic() + 0.2)
    assert got == b"so far"


def test_pump_ends_at_its_deadline_under_a_flood(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, engine = pair
    over = threading.Event()

    def flood() -> None:
        engine.settimeout(0.2)
        while not over.is_set():
            try:
                engine.sendall(b"x" * 65536)
            except OSError:
                return

    flooding = threading.Thread(target=flood)
    flooding.start()
    try:
        assert not pump(ours, b"", lambda _: None, time.monotonic() + 0.3)
    finally:
        over.set()
        ours.close()
        flooding.join()


def test_stdin_is_sent_whole_then_ended_while_output_flows(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, engine = pair
    stdin = bytes(range(256)) * 20_000
    got = bytearray()

    def echo() -> None:
        while data := engine.recv(65536):
            engine.sendall(data)
        engine.close()

    echoing = threading.Thread(target=echo)
    echoing.start()
    assert pump(ours, stdin, got.extend, time.monotonic() + 60)
    echoing.join()
    assert got == stdin


def test_an_engine_that_reads_no_stdin_and_hangs_up_is_an_end(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, engine = pair
    threading.Timer(0.1, engine.close).start()
    assert pump(ours, b"x" * 10_000_000, lambda _: None, time.monotonic() + 60)
