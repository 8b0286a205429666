"""The verifier of a task: its files laid in, ``test.sh`` run, its rewards read.

Whatever stood in its directories before is taken away first, so that no reward, helper or report of the agent's counts.
The exit status of ``test.sh`` decides nothing, as in Harbor.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pytest_swe.errors import HarnessError, SandboxFileError
from pytest_swe.harbor.rewards import JSON_FILE, MAX_REWARD_FILE, TEXT_FILE, Kind, NoReward, rewards_of
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.processes import end_others, processes
from pytest_swe.trial.inside import TESTS, VERIFIER_LOGS, fresh, gone, must, tar_of

OUTPUT = "test-stdout.txt"
#: Bytes of a verifier's directory that are kept.
LARGEST_LOGS = 64 * 1024 * 1024
_RUN = f"{TESTS}/test.sh > {VERIFIER_LOGS}/{OUTPUT} 2>&1 < /dev/null"
_KIND = """
for name in "$@"; do
  path=/logs/verifier/$name
  if [ -L "$path" ]; then echo "$name link"
  elif [ -f "$path" ]; then echo "$name $(wc -c < "$path")"
  elif [ -d "$path" ]; then echo "$name directory"
  elif [ -e "$path" ]; then echo "$name other"
  fi
done
"""


_KINDS: Mapping[str, Kind] = {"link": "link", "directory": "directory", "other": "other"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What came of a verification. ``rewards`` is None when there are none: ``failure`` is what Harbor calls that."""

    rewards: Mapping[str, float] | None = None
    failure: str = ""
    detail: str = ""
    note: str = ""
    output: bytes = b""
    exit_code: int | None = None
    seconds: float = 0.0
    files: bytes = field(default=b"", repr=False)


def verify(
    sandbox: Sandbox,
    tests: Mapping[str, bytes] | None,
    *,
    user: str | None,
    env: Mapping[str, str],
    timeout: float,
) -> Verified:
    """Run the verifier in ``sandbox``. ``tests`` are its files, None where the container has them.

    Raises HarnessError when it cannot be run at all, SandboxError.
    """
    _lay(sandbox, tests)
    before = processes(sandbox)
    begin = time.monotonic()
    done = sandbox.exec(["bash", "-c", _RUN], user=user, env=env, timeout=timeout)
    seconds = time.monotonic() - begin
    # A writer in the background must not decide after the verifier has.
    end_others(sandbox, before)
    output = _output(sandbox)
    if done.timed_out:
        said = f"the verifier did not end within {timeout:.10g} s"
        return Verified(failure="VerifierTimeoutError", detail=said, output=output, seconds=seconds)
    files = _files(sandbox)
    common = Verified(output=output, exit_code=done.exit_code, seconds=seconds, files=files)
    try:
        found = rewards_of(_reward_files(sandbox))
    except NoReward as nothing:
        return replace(common, failure=nothing.name, detail=f"{nothing}{_tail(output)}")
    return replace(common, rewards=found.rewards, note=found.note)


def _lay(sandbox: Sandbox, tests: Mapping[str, bytes] | None) -> None:
    if tests is not None:
        gone(sandbox, TESTS)
        sandbox.upload(tar_of(tests), TESTS)
    fresh(sandbox, VERIFIER_LOGS)
    must(sandbox, 'command -v bash >/dev/null || { echo "no bash in the container"; exit 1; }')
    must(sandbox, f"chmod +x {TESTS}/test.sh")


def _reward_files(sandbox: Sandbox) -> dict[str, bytes | Kind]:
    found: dict[str, bytes | Kind] = {}
    for line in must(sandbox, _KIND, JSON_FILE, TEXT_FILE).decode("utf-8", "replace").splitlines():
        name, _, kind = line.partition(" ")
        if kind in _KINDS:
            found[name] = _KINDS[kind]
        elif int(kind) > MAX_REWARD_FILE:
            found[name] = "too large"
        else:
            found[name] = sandbox.read_file(f"{VERIFIER_LOGS}/{name}")
    return found


def _files(sandbox: Sandbox) -> bytes:
    """All that the verifier left, as a tar; nothing of it when it is too much to keep."""
    said = must(sandbox, f"du -sk {VERIFIER_LOGS} || true").split()
    if not said or int(said[0]) > LARGEST_LOGS // 1024:
        return b""
    return sandbox.download(VERIFIER_LOGS)


def _output(sandbox: Sandbox) -> bytes:
    try:
        return must(sandbox, f'tail -c 1000000 "{VERIFIER_LOGS}/{OUTPUT}"')
    except (HarnessError, SandboxFileError):
        return b""


def _tail(output: bytes) -> str:
    text = output.decode("utf-8", "replace").strip()
    return f"; the verifier's last words: {text[-300:]}" if text else ""
