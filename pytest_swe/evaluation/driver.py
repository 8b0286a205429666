"""What goes into the sandbox for one evaluation, and what its output says: both ends of ``driver.sh``. Pure.

One tar goes in, one command runs. Its stdout is the log; its stderr carries facts, written by the driver alone.
"""

from __future__ import annotations

import base64
import binascii
import importlib.resources
import io
import posixpath
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pytest_swe.encoding import patch_bytes
from pytest_swe.errors import DiskFull, HarnessError, OutOfMemory
from pytest_swe.evaluation.flags import steers_tests
from pytest_swe.evaluation.hollow import HOLLOW
from pytest_swe.evaluation.plan import Around
from pytest_swe.logs.markers import mark, unmark
from pytest_swe.model import ApplyLog, ExecResult, Look, Reason, RunLog, StepLog
from pytest_swe.patch import PatchFacts, describe, is_inside, miscounted, nested_names, normalise

#: Where the bundle stands in the sandbox. The driver finds its files beside itself, wherever that is.
DIRECTORY = "/pytest-swe"
COMMAND = ("bash", "driver.sh")
RESULTS = f"{DIRECTORY}/results.tar"

#: Kinds whose path was there before.
_KEPT = frozenset({"deleted", "modified", "mode"})
_BESIDE = '"${0%/*}'
_FORGET = f'bash {_BESIDE}/driver.sh" forget; '
_STAGE = f'bash {_BESIDE}/driver.sh" stage; '
_HOLLOW = f'bash {_BESIDE}/driver.sh" hollow; '
_BEFORE = f'bash {_BESIDE}/driver.sh" hash >{_BESIDE}/tests.before"'
_AFTER = f'printf \'%s\\n\' "$swe_status" >>{_BESIDE}/status"; bash {_BESIDE}/driver.sh" hash >{_BESIDE}/tests.after"'
_FACT = re.compile(rb"swe-fact (\w+) ([^\n]*)\n")
_STATUS = re.compile(rb"(\d{1,3})\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """The upload of one evaluation, and what is known before it runs."""

    tar: bytes
    nonce: str
    normalised: tuple[str, ...] = ()
    patch: PatchFacts = field(default_factory=PatchFacts)


def bundle(
    eval_script: str,
    test_patch: bytes,
    patch: bytes | None,
    nonce: str,
    around: Around | None = None,
    look: Look = "",
) -> Bundle:
    """The files for the sandbox as one tar. ``patch`` None evaluates the unpatched tree.

    ``test_patch`` names the hidden tests, whoever lays them. ``look``: see `pytest_swe.model.Instance`.
    """
    around = around or Around()
    hidden = describe(test_patch)
    laid = [patch_bytes(name) for name in (*around.overlay, *around.staged)]
    hidden_names = {*hidden.raw_paths, *laid}
    tests = [*(file.raw for file in hidden.files if file.kind != "deleted"), *laid]
    before = (_FORGET if around.results else "") + (_STAGE if around.staged else "")
    before += (_HOLLOW if look == "hollow" else "") + _BEFORE
    files = {
        "driver.sh": _driver(),
        "candidate": b"none" if patch is None else b"patch",
        "eval.sh": patch_bytes(mark(eval_script, nonce, before=before, after=_AFTER)),
        "tests": _listed(name for name in dict.fromkeys(tests) if is_inside(name)),
        **dict(_around(around)),
        **({"hollow.py": HOLLOW} if look == "hollow" else {}),
    }
    if patch is None:
        return Bundle(tar=packed(files), nonce=nonce)
    content, normalised = normalise(patch)
    facts = describe(content)
    inside = [name for name in facts.raw_paths if is_inside(name)]
    if look == "restored":
        hidden_names |= {name for name in inside if steers_tests(name.decode("utf-8", "replace"))}
    files |= {
        "patch.diff": content,
        **({"miscounted": b""} if miscounted(content) else {}),
        "names": _listed(b"./" + name for name in inside),
        "outside": _listed((*(name for name in facts.raw_paths if not is_inside(name)), *nested_names(facts))),
        "added": _listed(b"./" + file.raw for file in facts.files if file.kind not in _KEPT and is_inside(file.raw)),
        "checks": _listed(part for check in _checks(facts) for part in check),
        "hidden": _listed(b"./" + name for name in inside if name in hidden_names),
    }
    return Bundle(tar=packed(files), nonce=nonce, normalised=normalised, patch=facts)


def beginning(around: Around) -> bytes:
    """The tar for ``driver.sh begin``: of the family's files only those that its own scripts read."""
    scripts = around.prepare + around.begin
    used = {name: content for name, content in around.files.items() if f"files/{name}" in scripts}
    files = {
        "driver.sh": _driver(),
        **({"begin.sh": patch_bytes(around.begin)} if around.begin else {}),
        **dict(_around(Around(places=around.places, prepare=around.prepare, files=used))),
    }
    return packed(files)


def tree_of(result: ExecResult) -> str:
    """The work tree that ``driver.sh begin`` made ready. Raises HarnessError."""
    facts = _facts(result.stderr)
    _raise_for_trouble(facts)
    if "tree" not in facts:
        tail = (result.stdout + result.stderr)[-300:].decode("utf-8", "replace").strip()
        raise HarnessError(f"the tree could not be prepared: {tail}", reason=Reason.SUITE_DID_NOT_RUN)
    return facts["tree"][0]


def _driver() -> bytes:
    return importlib.resources.files("pytest_swe.evaluation").joinpath("driver.sh").read_bytes()


def _around(around: Around) -> Iterator[tuple[str, bytes]]:
    """The files that only some families need."""
    if around.places != Around().places:
        yield "places", _listed(patch_bytes(place) for place in around.places)
    if around.prepare:
        yield "prepare.sh", patch_bytes(around.prepare)
    for folder, laid in (("overlay", around.overlay), ("staged", around.staged)):
        if laid:
            yield f"{folder}.names", _listed(patch_bytes(name) for name in laid)
            yield from ((f"{folder}/{number}", content) for number, content in enumerate(laid.values()))
    if around.tests_patch:
        yield "tests.patch", around.tests_patch
        added = (file.raw for file in describe(around.tests_patch).files if file.kind not in _KEPT)
        yield "tests.added", _listed(b"./" + name for name in added if is_inside(name))
    if around.results:
        yield "results", _listed(patch_bytes(part) for found in around.results for part in (found.root, found.pattern))
    yield from ((f"files/{name}", content) for name, content in around.files.items())


def read(result: ExecResult, made: Bundle, *, name: str, timeout: float) -> StepLog:
    """What happened, from the driver's output.

    Raises HarnessError when the driver could not do its work, DiskFull when the patch found no space, OutOfMemory when
    the driver itself was killed.
    """
    facts = _facts(result.stderr)
    if result.oom_killed:
        raise OutOfMemory("the kernel killed the evaluation for memory")
    _raise_for_trouble(facts)
    applied = _apply_log(result, made, facts, timeout)
    if applied.outcome == "failed":
        return StepLog(name=name, apply=applied)
    if "tests_patch" in facts:
        said = _decoded(facts["tests_patch"][0]).decode("utf-8", "replace")
        raise HarnessError(f"the hidden tests do not apply: {_first_error(said)}", reason=Reason.TEST_PATCH_FAILED)
    return StepLog(name=name, apply=applied, run=_run_log(result, made, facts, timeout))


def results_in(result: ExecResult) -> bool:
    """Whether the driver left result files at `RESULTS`."""
    return _facts(result.stderr).get("results", ["too_big"])[0] != "too_big"


def result_files(tar: bytes, result: ExecResult) -> dict[str, bytes]:
    """The result files by path: below the tree relative to it, else absolute; the script's own begin with ``{out}``."""
    facts = _facts(result.stderr)
    places = [(f"{facts['results'][0]}/", "{out}/"), (f"{facts.get('results_tree', [''])[0]}/", "")]
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None and member.isreg():
                # Absolute, as one tar writes it with, the other without its first stroke.
                path = posixpath.normpath("/" + member.name.lstrip("/"))
                place = next((place for place in places if path.startswith(place[0])), ("", ""))
                found[place[1] + path.removeprefix(place[0])] = content.read()
    return found


def phases(result: ExecResult) -> dict[str, float]:
    """Milliseconds of the parts of the one command: ``apply`` and ``tests``."""
    facts = _facts(result.stderr)
    return {
        phase: float(facts[key][0])
        for phase, key in (("apply", "apply_ms"), ("tests", "eval_ms"))
        if key in facts and facts[key][0].isdigit()
    }


def packed(files: Mapping[str, bytes]) -> bytes:
    """An uncompressed tar of ``files``."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return tar.getvalue()


def _raise_for_trouble(facts: Mapping[str, list[str]]) -> None:
    """Raises HarnessError for what failed before any code of a candidate ran."""
    if "problem" in facts:
        raise HarnessError(facts["problem"][0], reason=Reason.SUITE_DID_NOT_RUN)
    if "prepare" in facts:
        said = _decoded(facts["prepare"][0]).decode("utf-8", "replace").strip()
        raise HarnessError(f"the tree could not be prepared: {said[-300:]}", reason=Reason.SUITE_DID_NOT_RUN)


def _apply_log(result: ExecResult, made: Bundle, facts: Mapping[str, list[str]], timeout: float) -> ApplyLog:
    output = _decoded(facts.get("apply_output", [""])[0]).decode("utf-8", "replace")
    outcome = facts.get("apply", [""])[0]
    if outcome == "none":
        return ApplyLog(outcome="none")
    if outcome == "failed" and "No space left on device" in output:
        raise DiskFull("no space in the sandbox to apply the patch")
    if outcome not in ("applied", "failed") and result.timed_out:
        # A slow host or a patch made to be slow: the control, under the same limit, tells which.
        raise HarnessError(
            f"stopped after {timeout:g} seconds, before the patch was applied", reason=Reason.SUITE_DID_NOT_RUN
        )
    if outcome in ("applied", "failed"):
        return ApplyLog(
            outcome="applied" if outcome == "applied" else "failed",
            attempt=facts.get("rung", [""])[0],
            whole=facts.get("whole", ["no"])[0] == "yes",
            output=output,
            normalised=made.normalised,
            paths=made.patch.paths,
        )
    # No code of the candidate has run yet, so this is the sandbox's or ours.
    tail = (result.stdout + result.stderr)[-300:].decode("utf-8", "replace").strip()
    raise HarnessError(
        f"the driver ended with status {result.exit_code} before the patch was applied: {tail}",
        reason=Reason.SUITE_DID_NOT_RUN,
    )


def _run_log(result: ExecResult, made: Bundle, facts: Mapping[str, list[str]], timeout: float) -> RunLog:
    recorded = _decoded(facts.get("test_exit", [""])[0])
    status = _STATUS.fullmatch(recorded)
    found = unmark(
        result.stdout, made.nonce, int(status[1]) if status else None, proof=_proof(facts, recorded, status is not None)
    )
    ended = facts.get("eval_exit", [""])[0]
    return RunLog(
        # Official tools read a saved log as strict UTF-8; their own harness writes it decoded like this.
        output=found.output.decode("utf-8", "replace").encode(),
        exit_code=int(ended) if ended.isdigit() else None,
        test_exit_code=int(status[1]) if status else None,
        timed_out=result.timed_out,
        timeout=timeout,
        seconds=float(facts["eval_ms"][0]) / 1000 if "eval_ms" in facts else result.seconds,
        dropped=result.dropped,
        started=found.started,
        ended=found.ended,
        forged=found.forged,
        guarded=True,
        proof=found.proof,
        notes=tuple(_notes(facts)),
    )


def _proof(facts: Mapping[str, list[str]], recorded: bytes, readable: bool) -> str:
    """What shows, beside the log, that the candidate wrote where only the evaluation writes."""
    if recorded and not readable:
        return "another than the eval script wrote the status of the tests"
    repeated = sorted(key for key, values in facts.items() if len(values) > 1)
    return f"another than the driver wrote its facts ({', '.join(repeated)})" if repeated else ""


def _first_error(said: str) -> str:
    lines = [line for line in said.split("\n") if line.strip()]
    return next((line for line in lines if line.startswith("error:")), lines[-1] if lines else "")[:300]


def _notes(facts: Mapping[str, list[str]]) -> Iterator[str]:
    if facts.get("results") == ["too_big"]:
        yield "results_too_big"
    if "hidden" in facts:
        yield "hidden_tests_restored"
    if "tests" in facts:
        yield "hidden_tests_changed"


def _checks(facts: PatchFacts) -> Iterator[tuple[bytes, bytes]]:
    """What must hold of each path after the patch; of a path in several sections (file to link) the last one counts."""
    last = {file.raw: file for file in facts.files}
    kept = {name for name, file in last.items() if file.kind != "deleted"}
    # Where a file became a directory, its name is not gone.
    kept |= {name[:end] for name in kept for end in range(len(name)) if name[end : end + 1] == b"/"}
    for name, file in last.items():
        gone = [file.raw_old] if file.kind == "renamed" else [name] if file.kind == "deleted" else []
        yield from ((b"gone", path) for path in gone if path not in kept and is_inside(path))
        if file.kind != "deleted" and is_inside(name):
            yield {"modified": b"changed", "mode": b"mode"}.get(file.kind, b"there"), name


def _facts(stderr: bytes) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in _FACT.findall(stderr):
        found.setdefault(key.decode(), []).append(value.decode("utf-8", "replace"))
    return found


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b"?"


def _listed(names: Iterable[bytes]) -> bytes:
    return b"".join(name + b"\0" for name in names)
