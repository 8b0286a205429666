"""The verifier of a task: its files laid in, ``test.sh`` run, its rewards read.

Whatever stood in its directories before is taken away first, and seen to be away, so that no reward, helper or report
of the agent's counts. The exit status of ``test.sh`` decides nothing, as in Harbor.
"""

from __future__ import annotations

import posixpath
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pytest_swe.errors import HarnessError, SandboxFileError
from pytest_swe.harbor.rewards import JSON_FILE, TEXT_FILE, Kind, NoReward, rewards_of
from pytest_swe.model import Reason
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.processes import Processes, end_others
from pytest_swe.trial.inside import TESTS, VERIFIER_LOGS, as_root, left_at, must, tar_of
from pytest_swe.trial.unpacked import Unpacked, plain, unpacked

OUTPUT = "test-stdout.txt"
ENTRY = "test.sh"
#: Bytes of an output that is too large to be kept.
OUTPUT_TAIL = 1_000_000
_RUN = f"exec {TESTS}/{ENTRY} > {VERIFIER_LOGS}/{OUTPUT} 2>&1 < /dev/null"
#: Makes the directories empty, and prints where bash is: not the first on the PATH of the container.
_PREPARE = f"""
umask 022
rm -rf {VERIFIER_LOGS} && mkdir -p {VERIFIER_LOGS} && chmod 777 {VERIFIER_LOGS} || exit 1
if [ "$1" = kept ]; then chmod +x {TESTS}/{ENTRY} 2>/dev/null; else rm -rf {TESTS} || exit 1; fi
command -v bash || {{ echo "no bash in the container"; exit 1; }}
"""
_TAIL = f'[ -f "$1" ] && [ ! -L "$1" ] && tail -c {OUTPUT_TAIL} "$1"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What came of a verification. ``rewards`` is None when there are none: ``failure`` is what Harbor calls that."""

    rewards: Mapping[str, float] | None = None
    failure: str = ""
    detail: str = ""
    note: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Laid:
    """A verifier's files by their path below ``/tests``, and those of them that can be executed."""

    files: Mapping[str, bytes]
    executable: frozenset[str] = frozenset()


def verify(
    sandbox: Sandbox,
    tests: Laid | None,
    before: Processes,
    *,
    user: str | None,
    env: Mapping[str, str],
    timeout: float,
) -> Verified:
    """Run the verifier in ``sandbox``. ``tests`` are None where the container has them already.

    ``before`` are the processes that may go on when it has ended. Raises HarnessError when it cannot be run at all,
    SandboxError.
    """
    bash = _prepared(sandbox, tests)
    begin = time.monotonic()
    done = sandbox.exec([bash, "-c", _RUN], user=user, env=env, timeout=timeout)
    seconds = time.monotonic() - begin
    # A writer in the background must not decide after the verifier has.
    end_others(sandbox, before)
    left = _left(sandbox)
    common = Verified(exit_code=done.exit_code, seconds=seconds, files=plain(left))
    if done.timed_out:
        return replace(common, failure="VerifierTimeoutError", detail=f"it did not end within {timeout:.10g} s")
    try:
        found = rewards_of({name: left[name] for name in (JSON_FILE, TEXT_FILE) if name in left})
    except NoReward as nothing:
        return replace(common, failure=nothing.name, detail=f"{nothing}{_last_words(common.files)}")
    return replace(common, rewards=found.rewards, note=found.note)


def _prepared(sandbox: Sandbox, tests: Laid | None) -> str:
    """Nothing of the agent's where the verifier works, its tests there; the path of bash."""
    said = must(sandbox, _PREPARE, "kept" if tests is None else "laid").decode("utf-8", "replace").split()
    left = [f"{VERIFIER_LOGS}/{name}" for name in left_at(sandbox, VERIFIER_LOGS) if name]
    if tests is not None:
        left += [posixpath.join(TESTS, name) for name in left_at(sandbox, TESTS)]
    if left:
        raise HarnessError(f"{left[0]} cannot be removed before the verifier runs", reason=Reason.VERIFIER_FAILED)
    if tests is not None:
        sandbox.upload(tar_of(tests.files, tests.executable | {ENTRY}), TESTS)
    return said[-1]


def _left(sandbox: Sandbox) -> Unpacked:
    """What stands in the verifier's directory. Where it is too much to be fetched, only what counts."""
    try:
        return unpacked(sandbox.download(VERIFIER_LOGS))
    except SandboxFileError:
        pass
    found: dict[str, bytes | Kind] = {}
    for name in (JSON_FILE, TEXT_FILE):
        path = f"{VERIFIER_LOGS}/{name}"
        try:
            found[name] = unpacked(sandbox.download(path)).get("", "directory")
        except SandboxFileError as error:
            if "no such file" not in str(error):
                found[name] = "too large"
    found[OUTPUT] = as_root(sandbox, ["/bin/sh", "-c", _TAIL, "swe", f"{VERIFIER_LOGS}/{OUTPUT}"]).stdout
    return found


def _last_words(files: Mapping[str, bytes]) -> str:
    text = files.get(OUTPUT, b"").decode("utf-8", "replace").strip()
    return f"; the verifier's last words: {text[-300:]}" if text else ""
