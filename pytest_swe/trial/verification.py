"""The verifier of a task: its files laid in, ``test.sh`` run, its rewards read.

Whatever stood in its directories before is taken away first, so that no reward, helper or report of the agent's counts.
The exit status of ``test.sh`` decides nothing, as in Harbor.
"""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pytest_swe.harbor.rewards import JSON_FILE, TEXT_FILE, Kind, NoReward, rewards_of
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.processes import end_others, processes
from pytest_swe.trial.inside import TESTS, VERIFIER_LOGS, must, tar_of

OUTPUT = "test-stdout.txt"
#: Bytes of a verifier's directory that are kept.
LARGEST_LOGS = 64 * 1024 * 1024
_RUN = f"{TESTS}/test.sh > {VERIFIER_LOGS}/{OUTPUT} 2>&1 < /dev/null"
#: What is there before, and an end to it; and that there is a shell to run the entry point.
_PREPARE = f"""
umask 0
rm -rf {VERIFIER_LOGS} && mkdir -p {VERIFIER_LOGS} && chmod 777 {VERIFIER_LOGS} || exit 1
command -v bash >/dev/null || {{ echo "no bash in the container"; exit 1; }}
[ "$1" = kept ] || rm -rf {TESTS}
"""


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
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)


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
    must(sandbox, _PREPARE, "kept" if tests is None else "laid")
    if tests is not None:
        sandbox.upload(tar_of(tests, frozenset(tests)), TESTS)
    before = processes(sandbox)
    begin = time.monotonic()
    done = sandbox.exec(["bash", "-c", _RUN], user=user, env=env, timeout=timeout)
    seconds = time.monotonic() - begin
    # A writer in the background must not decide after the verifier has.
    end_others(sandbox, before)
    left = _left(sandbox)
    output = left.get(OUTPUT, b"")
    common = Verified(output=output if isinstance(output, bytes) else b"", exit_code=done.exit_code, seconds=seconds)
    if done.timed_out:
        return replace(common, failure="VerifierTimeoutError", detail=f"it did not end within {timeout:.10g} s")
    try:
        found = rewards_of({name: left[name] for name in (JSON_FILE, TEXT_FILE) if name in left})
    except NoReward as nothing:
        return replace(common, failure=nothing.name, detail=f"{nothing}{_tail(common.output)}")
    return replace(common, rewards=found.rewards, note=found.note, files=_plain(left))


def _left(sandbox: Sandbox) -> dict[str, bytes | Kind]:
    """What stands in the verifier's directory, by relative path: contents, or what something is that is no file.

    Where it is too much to keep, only what counts: the reward files and the end of the output.
    """
    said = must(sandbox, f"du -sk {VERIFIER_LOGS}").split()
    if not said or int(said[0]) > LARGEST_LOGS // 1024:
        keep = [JSON_FILE, TEXT_FILE, OUTPUT]
        must(
            sandbox,
            f'cd {VERIFIER_LOGS} && for n in *; do case " $* " in *" $n "*) ;; *) rm -rf "$n" ;; esac; done',
            *keep,
        )
        must(sandbox, f"cd {VERIFIER_LOGS} && tail -c 1000000 {OUTPUT} > .end && mv .end {OUTPUT}")
    found: dict[str, bytes | Kind] = {}
    with tarfile.open(fileobj=io.BytesIO(sandbox.download(VERIFIER_LOGS))) as tar:
        for member in tar:
            name = member.name.partition("/")[2]
            content = tar.extractfile(member) if member.isreg() else None
            if content is not None:
                found[name] = content.read() if member.size <= LARGEST_LOGS else "too large"
            elif name:
                found[name] = "directory" if member.isdir() else "link" if member.issym() or member.islnk() else "other"
    return found


def _plain(left: Mapping[str, bytes | Kind]) -> dict[str, bytes]:
    return {name: content for name, content in left.items() if isinstance(content, bytes)}


def _tail(output: bytes) -> str:
    text = output.decode("utf-8", "replace").strip()
    return f"; the verifier's last words: {text[-300:]}" if text else ""
