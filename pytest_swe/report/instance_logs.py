"""The files of one evaluated item, in the layout of swebench's own harness, so that its tools can read them.

logs/<model, "/" as "__">/<instance id>/
    patch.diff          the candidate's bytes, as they came
    eval.sh             the script that ran
    test_output.txt     what it printed, with official marker lines
    report.json         the verdict, in swebench's report layout
    run_instance.log    what happened, for people
    eval_log.json       the facts beside the output, for grading again without an engine
    attempt-1.log, ...  what earlier attempts printed, where there were some
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

from pytest_swe.model import JSON, StepLog
from pytest_swe.report.names import safe_name
from pytest_swe.reward import Outcome

#: What swebench appends to the log of a run that was stopped at its time-out.
TIMED_OUT = "\n\nTimeout error: {seconds:.10g} seconds exceeded."
#: Of the reward line, beside the log: whose it is, and by what else than the log it came about.
_TOLD = {"instance_id", "model", "status", "reason", "dataset", "line", "repeat", "flags", "phases_ms"}


def instance_directory(logs: Path, model: str, instance_id: str) -> Path:
    """Where an item's files stand when no other item's name comes out the same."""
    return logs / safe_name(model) / safe_name(instance_id)


def write_instance_logs(place: Path, outcome: Outcome) -> None:
    """Write every file of an outcome that has a log into the directory ``place``. Raises OSError."""
    assert outcome.log is not None
    place.mkdir(parents=True, exist_ok=True)
    step = outcome.log.steps[0]
    if outcome.patch is not None:
        _write(place / "patch.diff", outcome.patch)
    _write(place / "eval.sh", outcome.log.script.encode("utf-8", "surrogateescape"))
    if step.run is not None:
        output = step.run.output
        if step.run.timed_out:
            output += TIMED_OUT.format(seconds=step.run.timeout).encode()
        _write(place / "test_output.txt", output)
    if outcome.report is not None:
        _write(place / "report.json", json.dumps(outcome.report.official, indent=4).encode())
    for number, log in enumerate(outcome.earlier, 1):
        run = log.steps[0].run if log else None
        if run is not None:
            _write(place / f"attempt-{number}.log", run.output)
    _write(place / "run_instance.log", "".join(f"{line}\n" for line in _story(outcome)).encode("utf-8", "replace"))
    _write(place / "eval_log.json", json.dumps(_facts(outcome)).encode())


def _facts(outcome: Outcome) -> JSON:
    """The log without the outputs, which stand in test_output.txt, and with the verdict it led to."""
    assert outcome.log is not None
    data = outcome.log.to_json()
    del data["script"]
    steps = data["steps"]
    assert isinstance(steps, list)
    for step in steps:
        assert isinstance(step, dict)
        if isinstance(step["run"], dict):
            step["run"]["output"] = {"base64": ""}
    identity = outcome.reward.model_dump(mode="json", include=_TOLD)
    return {"schema": 1, "log": data, "reward": identity}


def _story(outcome: Outcome) -> Iterator[str]:
    reward = outcome.reward
    yield f"{reward.started_at} {reward.instance_id} by {reward.model}: image {reward.image}, network {reward.network}"
    for attempt in reward.attempts:
        yield f"attempt ended with {attempt.reason}: {attempt.detail}"
    assert outcome.log is not None
    for step in outcome.log.steps:
        yield from _step_story(step)
    yield "phases (ms): " + ", ".join(f"{name} {value:g}" for name, value in reward.phases_ms.items())
    yield f"{reward.status} {reward.reason} {reward.detail}".rstrip()


def _step_story(step: StepLog) -> Iterator[str]:
    apply, run = step.apply, step.run
    yield f"patch: {apply.outcome} {apply.attempt} whole={apply.whole} normalised={','.join(apply.normalised) or '-'}"
    if apply.output:
        yield apply.output.rstrip()
    if run is not None:
        yield (
            f"eval script: exit {run.exit_code}, tests exit {run.test_exit_code}, {run.seconds:.2f} s, "
            f"timed out {run.timed_out}, markers {run.started}/{run.ended}, forged {run.forged}, dropped {run.dropped}"
        )


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all: a reader never sees half a file."""
    # A name of its own each time: threads of one process may write the files of one item at once.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
