"""The reward line: what is written, one JSON object per item, and the rules that lead from a report to it.

The schema number rises only on a breaking change; readers ignore unknown keys. The JSON Schema is published in the
package as ``schemas/reward-1.json``.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from pytest_swe.errors import SweError
from pytest_swe.model import ApplyLog, Bucket, EvalLog, Fault, Reason, Report, Status

#: How many ids of required tests that did not come out as required stand on a line; all stand in report.json.
LISTED_FAILURES = 20

#: Whose fault a reason is, where the reason alone decides it; everything else is unknown.
FAULTS: Mapping[Reason, Fault] = {
    Reason.TESTS_FAILED: "candidate",
    Reason.EMPTY_PATCH: "candidate",
    Reason.PATCH_APPLY_FAILED: "candidate",
    Reason.TESTS_TIMED_OUT: "candidate",
    Reason.TAMPERED: "candidate",
    Reason.PREDICTION_INVALID: "candidate",
    Reason.ROW_INVALID: "environment",
    Reason.UNSUPPORTED: "environment",
    Reason.ENGINE_UNAVAILABLE: "environment",
    Reason.IMAGE_UNAVAILABLE: "environment",
    Reason.ASSET_UNAVAILABLE: "environment",
    Reason.SANDBOX_START_FAILED: "environment",
    Reason.SANDBOX_REMOVED: "environment",
    Reason.NETWORK_NEEDED: "environment",
    Reason.TEST_PATCH_FAILED: "environment",
    Reason.AGENT_TIMED_OUT: "candidate",
    Reason.REWARD_BELOW: "candidate",
    Reason.AGENT_SETUP_FAILED: "environment",
    Reason.MODEL_UNAVAILABLE: "environment",
    Reason.NOT_CONCEALED: "environment",
}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    @field_validator("*", mode="before")
    @classmethod
    def _printable(cls, value: object) -> object:
        # A lone surrogate (valid in JSON, so users' files have it) cannot be written, and ends an xdist run.
        return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value


class Apply(_Part):
    """How the patch went in: which attempt worked, whether every file it names came out as it says."""

    outcome: Literal["applied", "failed", "none"]
    attempt: str = ""
    whole: bool = True
    normalised: tuple[str, ...] = ()


class Counts(_Part):
    """Required tests of one kind, counted."""

    success: int = 0
    failure: int = 0


class RequiredTests(_Part):
    """Required tests, counted, with the first ids that did not come out as required."""

    fail_to_pass: Counts = Counts()
    pass_to_pass: Counts = Counts()
    failed: tuple[str, ...] = ()


class Attempt(_Part):
    """One earlier attempt of the same item, in a sandbox of its own."""

    reason: str
    detail: str = ""


class Limits(_Part):
    """What the sandbox was held to. MiB and seconds; None means no limit."""

    cpus: float | None = None
    memory_mb: int | None = None
    pids: int | None = None
    timeout: float | None = None


class Reward(_Part):
    """One line of the reward file.

    ``reward`` is 1.0 when resolved, 0.0 when not, null when nothing was measured; ``mask`` is true exactly when it
    is null. ``reason`` and ``fault`` are stable words. Times are seconds (``seconds``) or milliseconds (``*_ms``).
    """

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    instance_id: str
    model: str = ""
    status: Status
    reward: float | None = None
    mask: bool = True
    reason: str = ""
    detail: str = ""
    fault: Fault | None = None
    run_id: str = ""
    dataset: str = ""
    line: int = 0
    repeat: int = 0
    family: str = ""
    repo: str = ""
    provider: str = ""
    image: str = ""
    image_digest: str = ""
    network: str = ""
    limits: Limits | None = None
    apply: Apply | None = None
    tests: RequiredTests | None = None
    flags: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    reruns: int = 0
    seconds: float = 0.0
    phases_ms: dict[str, float] = Field(default_factory=dict)
    started_at: str = ""
    worker: str = ""
    logs: str = ""
    rewards: dict[str, float] | None = None
    steps: tuple[dict[str, object], ...] | None = None
    usage: dict[str, object] | None = None
    agent: dict[str, object] | None = None
    fingerprint: str | None = None

    def line_json(self) -> str:
        """The line as it stands in the file, without the newline."""
        return self.model_dump_json(by_alias=True, exclude_none=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Status and reason of one attempt, before it becomes a reward line."""

    status: Status
    reason: Reason | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All that came out of a Job: the reward line, and what it rests on.

    ``kept`` is the command that enters the sandbox, when it was left standing. ``earlier`` are the logs of the attempts
    on the line, None where one did not come so far.
    """

    reward: Reward
    report: Report | None = None
    log: EvalLog | None = None
    patch: bytes | None = None
    kept: tuple[str, ...] = ()
    earlier: tuple[EvalLog | None, ...] = ()


def verdict_of_report(report: Report) -> Verdict:
    """What a report says. A report that measured nothing is never a verdict on the candidate."""
    if report.resolved and report.measured:
        return Verdict("resolved", None)
    if report.measured:
        return Verdict("unresolved", report.reason or Reason.TESTS_FAILED, report.detail)
    return Verdict("error", report.reason or Reason.LOG_UNPARSEABLE, report.detail)


def verdict_of_error(error: BaseException) -> Verdict:
    """What an exception says: one of our tree has its reason, everything else is internal."""
    if isinstance(error, SweError):
        return Verdict("error", error.reason, str(error))
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return Verdict("error", Reason.INTERNAL, f"{type(error).__name__}: {error}{place}")


def fault_of(verdict: Verdict) -> Fault | None:
    """Whose fault a verdict is; None when it is resolved or skipped."""
    if verdict.status in ("resolved", "skipped") or verdict.reason is None:
        return None
    if verdict.status == "unresolved":
        return "candidate"
    return FAULTS.get(verdict.reason, "unknown")


def value_of(status: Status) -> float | None:
    """The number that a status is worth; None where nothing was measured."""
    return {"resolved": 1.0, "unresolved": 0.0}.get(status)


def apply_of(log: EvalLog | None) -> Apply | None:
    """How the patch went in, for the line."""
    if log is None or not log.steps:
        return None
    record: ApplyLog = log.steps[0].apply
    return Apply(
        outcome=record.outcome, attempt=record.attempt, whole=record.whole, normalised=tuple(record.normalised)
    )


def tests_of(report: Report | None) -> RequiredTests | None:
    """Counts of the required tests, for the line; None when none were measured."""
    if report is None or not report.measured:
        return None
    failed = report.fail_to_pass.failure + report.pass_to_pass.failure
    return RequiredTests(
        fail_to_pass=_counts(report.fail_to_pass),
        pass_to_pass=_counts(report.pass_to_pass),
        failed=failed[:LISTED_FAILURES],
    )


def _counts(bucket: Bucket) -> Counts:
    return Counts(success=len(bucket.success), failure=len(bucket.failure))
