"""Everything that can go wrong, as one tree. What a *candidate* does wrong is a result, never one of these.

    SweError                    reason, retryable, hint
    ├── UsageError              a wrong option or call; nothing was run
    ├── DataError               a line of a user's file is wrong: path, line, field
    │   ├── RowInvalid          row_invalid: costs that row only
    │   └── PredictionInvalid   prediction_invalid: costs that prediction only
    ├── Unsupported             unsupported: a provider cannot honour a spec, named
    ├── AssetUnavailable        asset_unavailable: a file that the row's tests need cannot be had
    ├── SandboxError            the machine the candidate runs on
    │   ├── EngineUnavailable   engine_unavailable: no engine answers
    │   ├── ImageUnavailable    image_unavailable
    │   ├── SandboxStartFailed  sandbox_start_failed
    │   ├── SandboxLost         sandbox_lost: it stood and is gone
    │   ├── OutOfMemory         out_of_memory, on proof of the engine or kernel
    │   ├── DiskFull            disk_full
    │   └── SandboxFileError    a file inside: missing, no permission, a directory
    ├── HarnessError            the benchmark's own scripts or rules did not work
    └── Cancelled               cancelled: the run was stopped; no reward line

``retryable`` says whether a second attempt in a fresh sandbox can give another answer.
"""

from __future__ import annotations

from pathlib import Path

from pytest_swe.model import Reason


class SweError(Exception):
    """Root of the tree. ``hint`` is one sentence that says what to do next, or empty."""

    reason: Reason = Reason.INTERNAL
    retryable: bool = False

    def __init__(self, message: str, *, hint: str = "", reason: Reason | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        if reason is not None:
            self.reason = reason

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message} ({self.hint})" if self.hint else message


#: The longest message about a line of a file: what is wrong stands at its beginning, what is expected at its end.
_LONGEST = 1000


class UsageError(SweError):
    """A wrong option or argument; shown as pytest's own usage errors are. One that a row alone shows costs that row."""

    reason = Reason.UNSUPPORTED


class DataError(SweError):
    """A line of a user's file is wrong; ``line`` counts from 1, 0 means the whole file."""

    def __init__(
        self,
        message: str,
        *,
        path: Path | str | None = None,
        line: int = 0,
        instance_id: str = "",
        field: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.path = str(path) if path is not None else ""
        self.line = line
        self.instance_id = instance_id
        self.field = field

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        parts = [part for part in (where, self.instance_id, self.field) if part]
        said = ": ".join([*parts, super().__str__()])
        return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 300]} ... {said[-295:]}"


class RowInvalid(DataError):
    """A data set row cannot be used as it stands."""

    reason = Reason.ROW_INVALID


class PredictionInvalid(DataError):
    """A prediction cannot be used as it stands."""

    reason = Reason.PREDICTION_INVALID


class Unsupported(SweError):
    """A provider or harness cannot honour what was asked, and says so by name."""

    reason = Reason.UNSUPPORTED


class AssetUnavailable(SweError):
    """A binary file that the row's tests need is neither beside the data set nor where the row says."""

    reason = Reason.ASSET_UNAVAILABLE
    retryable = True


class SandboxError(SweError):
    """The sandbox or its engine failed; the candidate is not to blame until proved otherwise."""

    reason = Reason.SANDBOX_START_FAILED
    retryable = True


class EngineUnavailable(SandboxError):
    """No engine answers, or it stopped answering."""

    reason = Reason.ENGINE_UNAVAILABLE


class ImageUnavailable(SandboxError):
    """The image is not there and cannot be had, or is for another architecture."""

    reason = Reason.IMAGE_UNAVAILABLE


class SandboxStartFailed(SandboxError):
    """The engine answered, but the sandbox did not start."""


class SandboxLost(SandboxError):
    """The sandbox stood and is gone: killed, removed, or past its deadline."""

    reason = Reason.SANDBOX_LOST


class SandboxRemoved(SandboxLost):
    """The engine has it no more: somebody outside removed it, which nothing inside can bring about."""

    reason = Reason.SANDBOX_REMOVED


class OutOfMemory(SandboxError):
    """The kernel killed a process of the sandbox for memory; only on proof, never from printed text."""

    reason = Reason.OUT_OF_MEMORY


class DiskFull(SandboxError):
    """No space left where the sandbox writes."""

    reason = Reason.DISK_FULL


class SandboxFileError(SandboxError):
    """A file operation inside the sandbox failed: ``path`` is missing, a directory, or not permitted."""

    reason = Reason.INTERNAL
    retryable = False

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path


class HarnessError(SweError):
    """The benchmark's own scripts or rules did not work on this row."""

    reason = Reason.TEST_PATCH_FAILED


class Cancelled(SweError):
    """The run was stopped before this job had a verdict."""

    reason = Reason.CANCELLED
