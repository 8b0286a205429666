"""The words of the project as data: what is evaluated, where, and what was seen.

Standard library only, so that a worker can import it for nothing. The written reward line is
`pytest_swe.reward.Reward`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal

Status = Literal["resolved", "unresolved", "error", "skipped"]
Fault = Literal["candidate", "environment", "unknown"]
Network = Literal["none", "full"]
#: Whose reading of a log decides where a family's own harness and a stricter reader differ.
Rules = Literal["official", "strict"]
#: How a second evaluation of a candidate differs from the first; empty: not at all.
Look = Literal["", "hollow", "restored"]
#: At which candidates that resolved there is a second look: where there is reason to, all, none.
SecondLook = Literal["doubt", "always", "off"]
Row = Mapping[str, object]
JSON = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]


class Reason(StrEnum):
    """Why an item has the status it has; stable words for machines."""

    # the candidate's
    TESTS_FAILED = "tests_failed"
    EMPTY_PATCH = "empty_patch"
    PATCH_APPLY_FAILED = "patch_apply_failed"
    TESTS_TIMED_OUT = "tests_timed_out"
    TAMPERED = "tampered"
    MISSING_PREDICTION = "missing_prediction"
    AGENT_TIMED_OUT = "agent_timed_out"
    REWARD_BELOW = "reward_below"
    # the environment's, the row's, ours
    ROW_INVALID = "row_invalid"
    PREDICTION_INVALID = "prediction_invalid"
    UNSUPPORTED = "unsupported"
    ENGINE_UNAVAILABLE = "engine_unavailable"
    IMAGE_UNAVAILABLE = "image_unavailable"
    ASSET_UNAVAILABLE = "asset_unavailable"
    SANDBOX_START_FAILED = "sandbox_start_failed"
    SANDBOX_LOST = "sandbox_lost"
    SANDBOX_REMOVED = "sandbox_removed"
    NETWORK_NEEDED = "network_needed"
    OUT_OF_MEMORY = "out_of_memory"
    DISK_FULL = "disk_full"
    TEST_PATCH_FAILED = "test_patch_failed"
    LOG_UNPARSEABLE = "log_unparseable"
    SUITE_DID_NOT_RUN = "suite_did_not_run"
    WORKER_CRASHED = "worker_crashed"
    AGENT_SETUP_FAILED = "agent_setup_failed"
    MODEL_UNAVAILABLE = "model_unavailable"
    MODEL_FAILED = "model_failed"
    NOT_CONCEALED = "not_concealed"
    NOT_REMOVED = "not_removed"
    VERIFIER_FAILED = "verifier_failed"
    DEADLINE = "deadline"
    CANCELLED = "cancelled"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A repository kept as ``git fast-export`` text, for providers that have no images."""

    export: Path
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """What a sandbox must be. A provider that cannot honour a field refuses it by name.

    Units: ``memory_mb`` and ``disk_mb`` in MiB, ``seconds`` of life after which the sandbox ends by itself.
    ``None`` for a limit means no limit.

    ``keep_entrypoint``: the image's own ENTRYPOINT is run first, as root, and is given the idle command that a sandbox
    waits in; then ``user`` and ``workdir`` may be empty, which is the image's own. Docker and Podman only.
    """

    image: str
    workdir: str = "/testbed"
    user: str = "root"
    env: Mapping[str, str] = field(default_factory=dict)
    cpus: float | None = None
    memory_mb: int | None = None
    pids: int | None = None
    disk_mb: int | None = None
    network: Network = "none"
    platform: str | None = None
    capabilities: tuple[str, ...] = ()
    seconds: float = 3 * 3600
    tree: Tree | None = None
    trusted: bool = False
    keep_entrypoint: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing to evaluate in an instance; most families have one."""

    name: str = "tests"
    timeout: float = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A binary file that a row's tests need: its path in the tree, and where it may be had.

    ``places`` are files on this host, looked at first; ``url`` is http or https.
    """

    path: str
    url: str = ""
    places: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One row, normalised. ``payload`` is the family's own frozen model of the row.

    ``assets`` is what the row's tests need beside it; a Job gathers them into ``staged`` (path in the tree -> bytes).
    ``look``: evaluated with hidden tests that are made to fail (``hollow``), or with the files that steer the runner
    as they were before the patch (``restored``).
    """

    id: str
    family: str
    spec: SandboxSpec
    payload: object
    steps: tuple[Step, ...] = (Step(),)
    repo: str = ""
    assets: tuple[Asset, ...] = ()
    staged: Mapping[str, bytes] = field(default_factory=dict)
    look: Look = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a row comes from: the file, its line (from 1), and whether its data set is marked trusted."""

    path: str = ""
    line: int = 0
    trusted: bool = False
    root: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What is to be judged: a patch, or (``patch is None``) the unpatched tree as a control.

    ``extracted``: the patch was taken out of a longer text, because the user asked for it. ``agent``: the patch is what
    an agent will leave, and None until it has.
    """

    model: str
    patch: bytes | None = None
    source: str = ""
    extracted: bool = False
    agent: bool = False

    @property
    def is_control(self) -> bool:
        return self.patch is None and not self.agent

    @property
    def is_empty(self) -> bool:
        return self.patch is not None and not self.patch.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecResult:
    """How a command ended. ``exit_code`` is None when it was stopped at its time-out.

    ``dropped`` counts the bytes left out of the middle of ``stdout`` because the output was over its bound.
    ``oom_killed``: it ended by SIGKILL, and the kernel's own count of what it killed in this sandbox for memory has
    risen; a provider that cannot know leaves it False.
    """

    argv: tuple[str, ...]
    exit_code: int | None
    stdout: bytes = b""
    stderr: bytes = b""
    seconds: float = 0.0
    timed_out: bool = False
    dropped: int = 0
    oom_killed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyLog:
    """How the candidate's patch went in. ``attempt`` names the rung that worked; ``whole``: every file it names.

    ``paths`` are the files it names, old names of renames included.
    """

    outcome: Literal["applied", "failed", "none"]
    attempt: str = ""
    whole: bool = True
    output: str = ""
    normalised: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLog:
    """What the evaluation printed, in one ordered stream, and the facts recorded beside it.

    ``test_exit_code`` is the test command's own status, recorded outside the stream. ``output`` carries the
    official marker lines: nonce markers are mapped back, forged ones escaped (``forged`` counts them). ``guarded``:
    markers and status were guarded in this way; False for a log from elsewhere, of which only ``output`` is known.
    ``proof`` says what shows that the candidate wrote where only the evaluation writes, or is empty. ``notes`` are
    words for the report's flags. ``generation`` "2" is a log of swebench 2.x, which has no markers.
    """

    output: bytes
    exit_code: int | None = None
    test_exit_code: int | None = None
    timed_out: bool = False
    timeout: float = 0.0
    seconds: float = 0.0
    dropped: int = 0
    started: bool = True
    ended: bool = True
    forged: int = 0
    guarded: bool = False
    proof: str = ""
    notes: tuple[str, ...] = ()
    generation: Literal["", "2"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLog:
    """One step of an evaluation: apply, run, and small result files (name -> bytes)."""

    name: str
    apply: ApplyLog
    run: RunLog | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalLog:
    """What ran and what it printed: all that grading may look at. Serialisable, so logs are graded again at will."""

    steps: tuple[StepLog, ...]
    script: str = ""
    phases_ms: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, JSON]:
        """As plain JSON; bytes become base64."""
        plain: dict[str, JSON] = _plain(asdict(self))  # type: ignore[assignment]
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, JSON]) -> EvalLog:
        """The inverse of `to_json`. Raises KeyError or TypeError on anything else."""
        steps = tuple(_step_from(step) for step in data["steps"])  # type: ignore[union-attr]
        phases: Mapping[str, float] = data.get("phases_ms") or {}  # type: ignore[assignment]
        return cls(steps=steps, script=str(data.get("script", "")), phases_ms=phases)


@dataclass(frozen=True, slots=True)
class Bucket:
    """Required tests of one kind, split by whether each came out as required."""

    success: tuple[str, ...] = ()
    failure: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Which required tests came out as required.

    ``measured`` is False when the log proves nothing about them (the suite did not run, the log has no marks);
    ``reason`` then says why. ``official`` is the report in the layout of the family's own harness.
    ``stricter`` is the report by the rules that a flag ``official_differs:`` tells of, where it says something else.
    """

    instance_id: str
    resolved: bool
    measured: bool = True
    reason: Reason | None = None
    detail: str = ""
    fail_to_pass: Bucket = Bucket()
    pass_to_pass: Bucket = Bucket()
    first_failure: str = ""
    excerpt: str = ""
    flags: tuple[str, ...] = ()
    official: Mapping[str, JSON] = field(default_factory=dict)
    stricter: Report | None = None

    def under(self, rules: Rules) -> Report:
        """The report that counts under ``rules``."""
        return self.stricter if rules == "strict" and self.stricter is not None else self


def _plain(value: object) -> JSON:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value  # type: ignore[return-value]


def _unplain(value: object) -> object:
    if isinstance(value, Mapping):
        if set(value) == {"base64"}:
            return base64.b64decode(str(value["base64"]))
        return {key: _unplain(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(_unplain(item) for item in value)
    return value


def _step_from(data: object) -> StepLog:
    plain = _unplain(data)
    assert isinstance(plain, dict)
    run = plain.get("run")
    return StepLog(
        name=plain["name"],
        apply=ApplyLog(**plain["apply"]),
        run=RunLog(**run) if run else None,
        files=plain.get("files") or {},
    )
