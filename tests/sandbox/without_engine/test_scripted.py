"""A provider that is scripted: what is expected is what must come, in order, and nothing else."""

from __future__ import annotations

import io
import re
import tarfile

import pytest

from pytest_swe.errors import SandboxFileError, SandboxLost, SandboxStartFailed
from pytest_swe.model import ExecResult
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.replay import Call, CallMismatch, Expect, ScriptedProvider

from .asked import acquired, tar_of


def test_a_script_answers_in_order() -> None:
    script = [
        Expect(["git", "apply", ...], exit_code=1, stderr=b"no"),
        Expect(["bash", re.compile(r"/eval-\d+\.sh")], stdout=b"ok", writes={"/out": b"1"}),
        Expect(lambda call: call.user == "nobody" and call.stdin == b"x", timed_out=True, stdout=b"so far"),
    ]
    with ScriptedProvider([script]) as provider:
        sandbox = acquired(provider)
        assert isinstance(sandbox, Sandbox)
        failed = sandbox.exec(["git", "apply", "--check", "/p"], timeout=1)
        assert (failed.exit_code, failed.stderr) == (1, b"no")
        assert failed.argv == ("git", "apply", "--check", "/p")
        assert sandbox.exec(["bash", "/eval-12.sh"], timeout=1).stdout == b"ok"
        assert sandbox.read_file("/out") == b"1"
        stopped = sandbox.exec(["any"], user="nobody", stdin=b"x", timeout=1)
        assert (stopped.exit_code, stopped.timed_out, stopped.stdout) == (None, True, b"so far")


def test_an_unexpected_command_fails_with_a_diff() -> None:
    provider = ScriptedProvider([[Expect(["true"]), Expect(["bash", "-c", "cd /testbed\npytest"])]])
    sandbox = acquired(provider)
    sandbox.exec(["true"], timeout=1)
    with pytest.raises(CallMismatch) as caught:
        sandbox.exec(["bash", "-c", "cd /testbed\npytest -x"], cwd="/tmp", timeout=1)
    lines = str(caught.value).splitlines()
    assert " $ true" in lines
    assert " $ bash -c 'cd /testbed" in lines
    assert "-$ pytest'" in lines
    assert "+$ pytest -x'" in lines
    assert "+    cwd: /tmp" in lines


def test_a_command_out_of_order_is_unexpected() -> None:
    sandbox = acquired(ScriptedProvider([[Expect(["first"]), Expect(["second"])]]))
    with pytest.raises(CallMismatch, match="command 1 is not the expected one"):
        sandbox.exec(["second"], timeout=1)


def test_a_command_after_the_last_is_unexpected() -> None:
    sandbox = acquired(ScriptedProvider([[]]))
    with pytest.raises(CallMismatch, match="after the last expected one"):
        sandbox.exec(["true"], timeout=1)


@pytest.mark.parametrize(("words", "argv"), [(["a"], ["a", "b"]), (["a", "b"], ["a"]), (["a", "b", ...], ["a"])])
def test_words_match_one_by_one(words: list[str], argv: list[str]) -> None:
    sandbox = acquired(ScriptedProvider([[Expect(words)]]))
    with pytest.raises(CallMismatch):
        sandbox.exec(argv, timeout=1)


def test_a_pattern_matches_the_whole_word() -> None:
    sandbox = acquired(ScriptedProvider([[Expect([re.compile("ab")])]]))
    with pytest.raises(CallMismatch):
        sandbox.exec(["abc"], timeout=1)


def test_left_over_commands_fail_at_the_end() -> None:
    provider = ScriptedProvider([[Expect(["first"]), Expect(["second"])]])
    sandbox = acquired(provider)
    sandbox.exec(["first"], timeout=1)
    sandbox.close()
    with pytest.raises(CallMismatch, match="1 expected commands never came") as caught:
        provider.close()
    assert "-$ second" in str(caught.value).splitlines()
    provider.close()


def test_a_swallowed_mismatch_comes_back_at_the_end() -> None:
    provider = ScriptedProvider([[Expect(["first"])]])
    sandbox = acquired(provider)
    with pytest.raises(CallMismatch):
        sandbox.exec(["other"], timeout=1)
    with pytest.raises(CallMismatch, match="command 1 is not"):
        provider.close()


def test_an_error_in_the_block_is_not_hidden_by_what_is_left_over() -> None:
    with pytest.raises(ZeroDivisionError), ScriptedProvider([[Expect(["never"])]]):
        raise ZeroDivisionError


def test_sandboxes_are_scripted_too() -> None:
    provider = ScriptedProvider([SandboxStartFailed("no"), [Expect(["true"], raises=SandboxLost("gone"))]])
    with pytest.raises(SandboxStartFailed):
        acquired(provider)
    with pytest.raises(SandboxLost, match="gone"):
        acquired(provider).exec(["true"], timeout=1)
    with pytest.raises(CallMismatch, match="after the last scripted one"):
        acquired(provider)


def test_a_scripted_sandbox_that_is_never_acquired_fails_at_the_end() -> None:
    with pytest.raises(CallMismatch, match="1 scripted sandboxes were never acquired"):
        ScriptedProvider([[]]).close()


def test_a_handler_answers_everything() -> None:
    def handler(call: Call) -> ExecResult:
        call.files["/seen"] = " ".join(call.argv).encode()
        return ExecResult(argv=call.argv, exit_code=3)

    with ScriptedProvider(handler=handler) as provider:
        one, other = acquired(provider), acquired(provider)
        assert one.exec(["a", "b"], timeout=1).exit_code == 3
        assert one.read_file("/seen") == b"a b"
        with pytest.raises(SandboxFileError):
            other.read_file("/seen")
        assert [call.argv for call in provider.sandboxes[0].calls] == [("a", "b")]


def test_virtual_files() -> None:
    sandbox = acquired(ScriptedProvider([[]], files={"/testbed/a": b"1"}))
    sandbox.upload(tar_of({"b": b"2", "./c/d": b"3"}), "/testbed/")
    sandbox.write_file("/testbed/c/e", b"4")
    with tarfile.open(fileobj=io.BytesIO(sandbox.download("/testbed"))) as tar:
        assert tar.getnames() == ["testbed", "testbed/a", "testbed/b", "testbed/c", "testbed/c/d", "testbed/c/e"]
    assert sandbox.read_file("/testbed/c/../b") == b"2"
    with pytest.raises(SandboxFileError):
        sandbox.download("/nothing")


def test_a_closed_sandbox_is_lost() -> None:
    sandbox = acquired(ScriptedProvider([[Expect(["true"])]]))
    sandbox.close()
    sandbox.close()
    with pytest.raises(SandboxLost):
        sandbox.exec(["true"], timeout=1)


def test_a_string_is_no_command() -> None:
    with pytest.raises(TypeError, match="argument lists"):
        acquired(ScriptedProvider([[]])).exec("true", timeout=1)
