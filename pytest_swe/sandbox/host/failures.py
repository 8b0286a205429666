"""What the operating system says, as the project's errors."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from pytest_swe.errors import DiskFull, SandboxError, SandboxStartFailed

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def as_sandbox_errors(what: str) -> Iterator[None]:
    """Raise an OSError of the block as DiskFull or SandboxStartFailed; ``what`` begins the message."""
    try:
        yield
    except OSError as error:
        raise failure(error, what) from error


def failure(error: OSError, what: str) -> SandboxError:
    """The error to raise for ``error``."""
    if error.errno in DISK_FULL:
        return DiskFull(f"{what}: no space left", hint="free space where sandboxes stand, or set XDG_STATE_HOME")
    return SandboxStartFailed(f"{what}: {error.strerror or error}")
