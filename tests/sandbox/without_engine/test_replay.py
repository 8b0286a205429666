"""A provider that replays a recording: it answers as the engine did, and what was recorded is what must come."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from pytest_swe.errors import SandboxFileError, SandboxLost, SandboxStartFailed, UsageError
from pytest_swe.model import ExecResult, SandboxSpec
from pytest_swe.sandbox.base import Sandbox, SandboxProvider
from pytest_swe.sandbox.replay import Call, CallMismatch, Expect, RecordingProvider, ReplayProvider, ScriptedProvider

from .asked import acquired, tar_of

NONCE = {"nonce": "[0-9a-f]{8}"}


def evaluate(sandbox: Sandbox, nonce: str = "00000001", *, env: dict[str, str] | None = None) -> list[object]:
    """What a harness may do, with a value in it that differs from run to run; all it gets to see."""
    script = f"echo {nonce}\npytest\n".encode()
    sandbox.upload(tar_of({"eval.sh": script, f"patch-{nonce}.diff": b"\xff"}), "/pytest-swe")
    sandbox.write_file("/pytest-swe/start", nonce.encode())
    run = sandbox.exec(["bash", "/pytest-swe/eval.sh"], cwd="/testbed", env=env, stdin=nonce.encode(), timeout=9)
    try:
        missing = sandbox.read_file("/nothing")
    except SandboxFileError as error:
        missing = error.path.encode()
    with tarfile.open(fileobj=io.BytesIO(sandbox.download("/pytest-swe"))) as tar:
        found = {member.name: data.read() for member in tar if (data := tar.extractfile(member))}
    return [run.exit_code, run.stdout, run.stderr, run.dropped, sandbox.read_file("/log"), missing, found]


def engine(call: Call) -> ExecResult:
    """A machine whose output repeats what it was given."""
    call.files["/log"] = b"log of " + call.stdin
    secret = call.env.get("TOKEN", "").encode()
    return ExecResult(
        argv=call.argv, exit_code=1, stdout=b"start " + call.stdin + b"\xfe", stderr=secret, dropped=7, seconds=0.5
    )


def record(path: Path, nonce: str = "00000001", *, env: dict[str, str] | None = None) -> list[object]:
    recorder = RecordingProvider(ScriptedProvider(handler=engine), path, kinds=NONCE, values_of=["LANG"])
    sandbox = acquired(recorder, instance="a", run="1")
    seen = evaluate(sandbox, nonce, env=env)
    sandbox.close()
    recorder.close()
    return seen


def test_a_replay_answers_as_the_engine_did(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    seen = record(path)
    with ReplayProvider(path) as provider:
        assert evaluate(acquired(provider, instance="a", run="2")) == seen
    assert seen[1] == b"start 00000001\xfe"


def test_a_value_that_differs_from_run_to_run_is_replayed_as_this_runs_value(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path, "deadbeef")
    with ReplayProvider(path) as provider:
        seen = evaluate(acquired(provider, instance="a"), "cafecafe")
    assert seen[1] == b"start cafecafe\xfe"
    assert seen[4] == b"log of cafecafe"
    assert "deadbeef" not in path.read_text()
    assert "deadbeef" not in repr(seen)
    assert "pytest-swe/patch-cafecafe.diff" in repr(seen[6])


def test_values_are_numbered_as_they_come_also_in_answers(tmp_path: Path) -> None:
    def makes_names(call: Call) -> ExecResult:
        return ExecResult(argv=call.argv, exit_code=0, stdout=b"11111111" if call.argv[0] == "mktemp" else b"")

    path = tmp_path / "run.jsonl"

    def use(provider: SandboxProvider, own: str) -> None:
        sandbox = acquired(provider)
        made = sandbox.exec(["mktemp"], timeout=1).stdout.decode()
        sandbox.exec(["use", made, own], timeout=1)
        provider.close()

    use(RecordingProvider(ScriptedProvider(handler=makes_names), path, kinds=NONCE), "22222222")
    assert '["use", "<nonce:1>", "<nonce:2>"]' in path.read_text()
    use(ReplayProvider(path), "33333333")


def test_without_the_kind_a_differing_value_is_a_mismatch(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorder = RecordingProvider(ScriptedProvider(handler=engine), path)
    acquired(recorder).exec(["echo", "00000001"], timeout=1)
    recorder.close()
    sandbox = acquired(ReplayProvider(path))
    with pytest.raises(CallMismatch) as caught:
        sandbox.exec(["echo", "00000002"], timeout=1)
    assert "-$ echo 00000001" in str(caught.value).splitlines()
    assert "+$ echo 00000002" in str(caught.value).splitlines()


def test_values_of_variables_are_not_recorded_unless_listed(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    seen = record(path, env={"TOKEN": "hunter2-hunter2", "LANG": "C.UTF-8", "N": "1"})
    assert seen[2] == b"hunter2-hunter2"
    assert "hunter2" not in path.read_text()
    run = next(line for line in map(json.loads, path.read_text().splitlines()[1:]) if line["ask"]["call"] == "exec")
    assert run["ask"]["env"] == {"LANG": "C.UTF-8", "N": None, "TOKEN": None}
    with ReplayProvider(path) as provider:
        env = {"TOKEN": "another-secret", "LANG": "C.UTF-8", "N": "2"}
        assert evaluate(acquired(provider, instance="a"), env=env)[2] == b"another-secret"


def test_a_listed_variable_is_compared(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path, env={"LANG": "C.UTF-8"})
    with pytest.raises(CallMismatch, match="LANG"):
        evaluate(acquired(ReplayProvider(path), instance="a"), env={"LANG": "de_DE"})


def test_secrets_of_the_spec_are_hidden_too(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorder = RecordingProvider(ScriptedProvider(handler=engine), path)
    sandbox = acquired(recorder, SandboxSpec(image="tiny:1", env={"KEY": "s3cr3t-s3cr3t"}))
    sandbox.exec(["use", "--key=s3cr3t-s3cr3t"], timeout=1)
    recorder.close()
    assert "s3cr3t" not in path.read_text()
    assert "--key=<env:KEY>" in path.read_text()


def test_an_upload_is_compared_by_names_and_content(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path)
    sandbox = acquired(ReplayProvider(path), instance="a")
    with pytest.raises(CallMismatch, match=r"eval\.sh"):
        sandbox.upload(tar_of({"eval.sh": b"other", "patch-00000001.diff": b"\xff"}), "/pytest-swe")


def test_calls_that_never_come_fail_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path)
    provider = ReplayProvider(path)
    sandbox = acquired(provider, instance="a")
    sandbox.close()
    with pytest.raises(CallMismatch, match="6 recorded calls never came") as caught:
        provider.close()
    assert "-$ bash /pytest-swe/eval.sh" in str(caught.value).splitlines()
    provider.close()


def test_a_recorded_sandbox_that_is_never_acquired_fails_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path)
    with pytest.raises(CallMismatch, match="never acquired"):
        ReplayProvider(path).close()


def test_a_sandbox_that_was_not_recorded_cannot_be_had(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path)
    with pytest.raises(CallMismatch, match="instance=b"):
        acquired(ReplayProvider(path), instance="b")


def test_sandboxes_of_instances_are_told_apart_whatever_their_order(tmp_path: Path) -> None:
    def names(call: Call) -> ExecResult:
        return ExecResult(argv=call.argv, exit_code=0, stdout=call.argv[1].encode())

    path = tmp_path / "run.jsonl"
    recorder = RecordingProvider(ScriptedProvider(handler=names), path)
    sandboxes = {name: acquired(recorder, instance=name) for name in ("a", "b")}
    for name in ("b", "a"):
        sandboxes[name].exec(["echo", name], timeout=1)
    recorder.close()
    with ReplayProvider(path) as provider:
        for name in ("b", "a"):
            assert acquired(provider, instance=name).exec(["echo", name], timeout=1).stdout == name.encode()


def test_exceptions_are_replayed_with_their_kind(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    script = [Expect(["true"], raises=SandboxLost("gone", hint="try again"))]

    def use(provider: SandboxProvider) -> None:
        with pytest.raises(SandboxStartFailed, match="not now"):
            acquired(provider)
        with pytest.raises(SandboxLost) as caught:
            acquired(provider).exec(["true"], timeout=1)
        assert (str(caught.value), caught.value.hint) == ("gone (try again)", "try again")
        provider.close()

    use(RecordingProvider(ScriptedProvider([SandboxStartFailed("not now"), script]), path))
    use(ReplayProvider(path))


def test_capabilities_are_those_of_the_recorded_provider(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    inner = ScriptedProvider(handler=engine)
    RecordingProvider(inner, path).close()
    assert ReplayProvider(path).capabilities == inner.capabilities


def test_two_recorders_of_one_file_are_a_usage_error(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    first = RecordingProvider(ScriptedProvider(handler=engine), path)
    with pytest.raises(UsageError, match="another process records to it"):
        RecordingProvider(ScriptedProvider(handler=engine), path)
    first.close()


@pytest.mark.parametrize("content", ["", "[]\n", '{"format": 99}\n', "{}\n", "no json\n"])
def test_what_is_no_recording_is_a_usage_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(content)
    with pytest.raises(UsageError, match=re.escape(str(path))):
        ReplayProvider(path)


def test_neither_pytest_nor_an_engine_is_imported() -> None:
    code = "import sys, pytest_swe.sandbox.replay; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"docker", "pytest", "requests"} & set(done.stdout.split())
