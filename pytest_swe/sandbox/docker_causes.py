"""What the engine's no means: of a command, what became of the sandbox; of a file, what is wrong with its path."""

from __future__ import annotations

import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pytest_swe.errors import (
    DiskFull,
    EngineUnavailable,
    OutOfMemory,
    SandboxFileError,
    SandboxLost,
    SandboxRemoved,
    SandboxStartFailed,
)
from pytest_swe.sandbox.docker_answers import ExecForgotten, Refused, State
from pytest_swe.sandbox.docker_engine import Engine

#: Seconds in which an engine that killed its containers because it is told to end does end.
GOING_DOWN = 2.0

#: The exit status of a process that SIGKILL ended.
KILLED = 137

#: What the engine says of a file, and what it means; its own messages name paths of its host.
FILE_FAULTS = (
    "not a directory",
    "cannot overwrite directory",
    "cannot overwrite non-directory",
    "too many links",
    "too many levels of symbolic links",
    "file exists",
    "device or resource busy",
    "file name too long",
    "permission denied",
    "operation not permitted",
    "read-only",
    "outside of",
)


@contextmanager
def standing(engine: Engine, container: str, outages: int) -> Iterator[None]:
    """Turn the engine's no into what became of the sandbox; ``outages`` is what the engine had when it was made."""
    try:
        yield
    except Refused as refusal:
        state = engine.state(container)
        if _is_the_engines(engine, container, outages, refusal, state):
            raise EngineUnavailable(f"the {engine.name} engine went away, and the sandbox with it") from refusal
        if state is None or (state.removing and not state.running):  # it is killed before it is gone
            raise SandboxRemoved("the sandbox is gone: its container was removed") from refusal
        if state.running:
            raise SandboxLost(f"the engine runs nothing in the sandbox any more: {refusal}") from refusal
        if state.oom_killed:
            raise OutOfMemory("the kernel killed the sandbox for memory") from refusal
        if state.exit_code == KILLED:
            _check_engine_stays(engine, outages)
            raise SandboxLost("the sandbox is gone: its container was killed") from refusal
        if state.exit_code == 0:
            raise SandboxLost("the sandbox is over: its deadline has passed") from refusal
        words = engine.last_words(container)
        raise SandboxStartFailed(
            f"the sandbox's first process ended with status {state.exit_code}: {words or 'it printed nothing'}",
            hint="an image needs /bin/sh, sleep, this machine's architecture, an ENTRYPOINT that starts its arguments",
        ) from refusal


@contextmanager
def reaching(engine: Engine, container: str, path: str) -> Iterator[None]:
    """Turn the engine's no into what is wrong with ``path``."""
    try:
        yield
    except Refused as refusal:
        message = str(refusal)
        if "no space left" in message:
            raise DiskFull(f"no space left to write {path}") from refusal
        if refusal.status == 404 and engine.state(container) is None:
            raise SandboxRemoved("the sandbox is gone: its container was removed") from refusal
        if refusal.status == 404:
            raise SandboxFileError(f"{path}: no such file or directory", path=path) from refusal
        fault = next((fault for fault in FILE_FAULTS if fault in message), "")
        if fault:
            raise SandboxFileError(f"{path}: {fault}", path=path) from refusal
        raise EngineUnavailable(f"the {engine.name} engine failed on a file: {message}") from refusal
    except tarfile.TarError as cut:
        raise EngineUnavailable(f"the {engine.name} engine's answer ended early: {cut}") from cut


def _is_the_engines(engine: Engine, container: str, outages: int, refusal: Refused, state: State | None) -> bool:
    """Whether the engine was restarted: it was seen to be gone, or has forgotten a command of a container it has.

    Such a sandbox is no candidate's fault, whatever the engine did to it when it went or came back. A command is
    forgotten in an instant too when its container ends; then the engine remembers that it started it.
    """
    if state is not None and state.running:
        return False
    if engine.lost or engine.outages != outages:
        return True
    if not isinstance(refusal, ExecForgotten) or state is None or state.removing or state.oom_killed:
        return False
    return state.exit_code != 0 and not engine.remembers(container)


def _check_engine_stays(engine: Engine, outages: int) -> None:
    """Raise EngineUnavailable if the engine is going down: it kills its containers first, and answers meanwhile."""
    deadline = time.monotonic() + GOING_DOWN
    while time.monotonic() < deadline:
        time.sleep(0.25)
        engine.ping(GOING_DOWN)
        if engine.outages != outages:
            raise EngineUnavailable(f"the {engine.name} engine was restarted, and the sandbox with it")
