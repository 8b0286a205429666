"""What a recording keeps of overlapping calls, of ends and sweeps, of large values, of what only some results say."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_swe.errors import SandboxFileError, SandboxLost, SandboxStartFailed
from pytest_swe.model import ExecResult, Reason, SandboxSpec
from pytest_swe.sandbox.base import ImageFacts, SandboxProvider, image_of
from pytest_swe.sandbox.replay import (
    Call,
    CallMismatch,
    RecordingProvider,
    ReplayProvider,
    ScriptedProvider,
    ScriptedSandbox,
)
from pytest_swe.sandbox.transcript import LARGE

SPEC = SandboxSpec(image="tiny:1")
SOON = 30.0

Handler = Callable[[Call], ExecResult]


def echo(call: Call) -> ExecResult:
    return ExecResult(argv=call.argv, exit_code=0, stdout=call.argv[-1].encode())


def recording(path: Path, handler: Handler = echo) -> RecordingProvider:
    return RecordingProvider(ScriptedProvider(handler=handler), path)


def waiting_for_each_other() -> Handler:
    """Commands `echo` begin before any of them ends."""
    both = threading.Barrier(2, timeout=SOON)

    def handler(call: Call) -> ExecResult:
        if call.argv[0] == "echo":
            both.wait()
        return echo(call)

    return handler


def record_two_at_once(path: Path) -> None:
    recorder = recording(path, waiting_for_each_other())
    made = recorder.acquire(SPEC, labels={})
    made.exec(["before"], timeout=1)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda word: made.exec(["echo", word], timeout=1), ("one", "two")))
    made.exec(["after"], timeout=1)
    recorder.close()


@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")], ids=" ".join)
def test_calls_that_overlapped_come_in_any_order(tmp_path: Path, order: tuple[str, str]) -> None:
    record_two_at_once(tmp_path / "r.jsonl")
    with ReplayProvider(tmp_path / "r.jsonl") as provider:
        made = provider.acquire(SPEC, labels={})
        made.exec(["before"], timeout=1)
        assert [made.exec(["echo", word], timeout=1).stdout.decode() for word in order] == list(order)
        made.exec(["after"], timeout=1)


@pytest.mark.parametrize("order", [("echo", "before"), ("before", "after")], ids=" ".join)
def test_calls_that_did_not_overlap_keep_their_order(tmp_path: Path, order: tuple[str, str]) -> None:
    record_two_at_once(tmp_path / "r.jsonl")
    words = {"echo": ["echo", "one"], "before": ["before"], "after": ["after"]}
    made = ReplayProvider(tmp_path / "r.jsonl").acquire(SPEC, labels={})
    with pytest.raises(CallMismatch):
        for name in order:
            made.exec(words[name], timeout=1)


def test_a_sweep_removes_what_it_removed_then(tmp_path: Path) -> None:
    class Sweeping(ScriptedProvider):
        def sweep(self, labels: Mapping[str, str] | None = None) -> int:
            return 3

    recorder = RecordingProvider(Sweeping(handler=echo), tmp_path / "r.jsonl", kinds={"run": "r-[0-9]+"})
    assert recorder.sweep({"run": "r-1", "worker": "gw0"}) == 3
    assert recorder.sweep() == 3
    recorder.close()
    with ReplayProvider(tmp_path / "r.jsonl") as provider:
        assert provider.sweep({"run": "r-2", "worker": "gw1"}) == 0
        assert provider.sweep({"run": "r-2", "worker": "gw0"}) == 3
        assert [provider.sweep(), provider.sweep()] == [3, 0]


def test_a_closed_sandbox_gives_the_recorded_end_and_no_other_answer(tmp_path: Path) -> None:
    recorder = recording(tmp_path / "r.jsonl")
    made = recorder.acquire(SPEC, labels={})
    made.exec(["first"], timeout=1)
    made.exec(["second"], timeout=1)
    made.close()
    with pytest.raises(SandboxLost):
        made.exec(["late"], timeout=1)
    recorder.close()
    provider = ReplayProvider(tmp_path / "r.jsonl")
    replayed = provider.acquire(SPEC, labels={})
    replayed.exec(["first"], timeout=1)
    replayed.close()
    with pytest.raises(SandboxLost):
        replayed.exec(["second"], timeout=1)
    with pytest.raises(CallMismatch, match="2 recorded calls never came"):
        provider.close()


def test_large_output_is_packed_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    output = b"line of a log\n" * (2 * LARGE // 14)

    def use(provider: SandboxProvider) -> None:
        made = provider.acquire(SPEC, labels={})
        assert made.exec(["print"], timeout=1).stdout == output
        made.write_file("/large", output)
        assert made.read_file("/large") == output
        provider.close()

    use(recording(path, lambda call: ExecResult(argv=call.argv, exit_code=0, stdout=output)))
    assert path.stat().st_size < LARGE // 10
    use(ReplayProvider(path))


def test_what_is_no_tar_fails_as_it_did(tmp_path: Path) -> None:
    def use(provider: SandboxProvider) -> None:
        with pytest.raises(SandboxFileError, match="not a tar"):
            provider.acquire(SPEC, labels={}).upload(io.BytesIO(b"no tar" * 100), "/there")
        provider.close()

    use(recording(tmp_path / "r.jsonl"))
    use(ReplayProvider(tmp_path / "r.jsonl"))


def test_a_kill_for_memory_and_another_reason_are_kept(tmp_path: Path) -> None:
    failed = SandboxStartFailed("no", reason=Reason.NETWORK_NEEDED)

    def use(provider: SandboxProvider) -> None:
        with pytest.raises(SandboxStartFailed) as raised:
            provider.acquire(SPEC, labels={})
        assert raised.value.reason is Reason.NETWORK_NEEDED
        made = provider.acquire(SPEC, labels={})
        assert [made.exec([word], timeout=1).oom_killed for word in ("big", "small")] == [True, False]
        provider.close()

    def handler(call: Call) -> ExecResult:
        return ExecResult(argv=call.argv, exit_code=137, oom_killed=call.argv == ("big",))

    class FailingOnce(ScriptedProvider):
        def acquire(self, spec: SandboxSpec, *, labels: Mapping[str, str]) -> ScriptedSandbox:
            made = super().acquire(spec, labels=labels)
            if len(self.sandboxes) == 1:
                raise failed
            return made

    use(RecordingProvider(FailingOnce(handler=handler), tmp_path / "r.jsonl"))
    use(ReplayProvider(tmp_path / "r.jsonl"))


def test_what_a_sandbox_was_made_of_is_kept(tmp_path: Path) -> None:
    class Made(ScriptedProvider):
        def acquire(self, spec: SandboxSpec, *, labels: Mapping[str, str]) -> ScriptedSandbox:
            made = super().acquire(spec, labels=labels)
            made.image = ImageFacts("sha256:abc", 1.5)  # type: ignore[attr-defined]
            return made

        def free_disk_mb(self) -> int:
            return 77

    recorder = RecordingProvider(Made(handler=echo), tmp_path / "r.jsonl")
    assert image_of(recorder.acquire(SPEC, labels={})) == ImageFacts("sha256:abc", 1.5)
    assert recorder.free_disk_mb() == 77
    recorder.close()
    assert image_of(ReplayProvider(tmp_path / "r.jsonl").acquire(SPEC, labels={})) == ImageFacts("sha256:abc", 1.5)
