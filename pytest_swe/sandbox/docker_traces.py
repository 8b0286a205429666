"""What the engine says became of a container's files and first process, whatever the programs inside say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Literal

from pytest_swe.sandbox.base import Change
from pytest_swe.sandbox.docker_answers import Refused
from pytest_swe.sandbox.docker_engine import Engine

#: Bytes of an answer that are read: an agent decides how long it is.
MOST = 64 * 1024 * 1024

#: https://docs.docker.com/reference/api/engine/version/v1.41/#tag/Container/operation/ContainerChanges
_KINDS: Mapping[int, Literal["modified", "added", "removed"]] = {0: "modified", 1: "added", 2: "removed"}


def changed(engine: Engine, container: str) -> Sequence[Change] | None:
    """See `pytest_swe.sandbox.base.TellsTraces`. Raises Refused, EngineUnavailable."""
    text = bytearray()
    with engine.asked("GET", f"containers/{container}/changes") as answer:
        for part in answer.iter_content(1 << 16):
            text += part
            if len(text) > MOST:
                return None
    return [Change(str(each["Path"]), _KINDS[each["Kind"]]) for each in json.loads(bytes(text) or b"[]") or ()]


def first_process(engine: Engine, container: str) -> str:
    """See `pytest_swe.sandbox.base.TellsTraces`. Raises EngineUnavailable."""
    try:
        state = engine.state(container)
        pid = str(state.pid) if state else ""
        return next((each["comm"] for each in engine.processes(container) if each["pid"] == pid), "")
    except Refused:  # a rootless Docker engine without control groups
        return ""
