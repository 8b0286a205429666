"""What else groups leave with an engine than containers: networks and volumes, found by their labels."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping, Sequence

from pytest_swe.errors import EngineUnavailable
from pytest_swe.sandbox.docker_answers import Refused
from pytest_swe.sandbox.docker_engine import Engine

log = logging.getLogger(__name__)

#: Looks at a network or volume that is still in use by what was just removed, and seconds between them.
LOOKS = 10
LOOK_EVERY = 0.2

#: Paths of the API, with the key of an answer's list and that of a name.
_KINDS = (("networks", "", "Id"), ("volumes", "Volumes", "Name"))

Thing = tuple[str, Mapping[str, str]]


def things(engine: Engine, labels: Sequence[str]) -> list[Thing]:
    """Networks and volumes with all of ``labels`` (``key`` or ``key=value``): path in the API, and own labels."""
    found: list[Thing] = []
    for kind, within, name in _KINDS:
        with engine.asked("GET", kind, params={"filters": json.dumps({"label": list(labels)})}) as answer:
            data = answer.json()
        entries = (data.get(within) if within else data) or []
        found += [(f"{kind}/{entry[name]}", entry.get("Labels") or {}) for entry in entries]
    # Podman finds volumes that have one of the labels, which would be somebody else's.
    return [thing for thing in found if all(_has(thing[1], label) for label in labels)]


def _has(labels: Mapping[str, str], wanted: str) -> bool:
    key, is_pair, value = wanted.partition("=")
    return key in labels and (not is_pair or labels[key] == value)


def remove_things(engine: Engine, found: Iterable[Thing]) -> None:
    """Never raises; what stays is logged."""
    for path, _ in found:
        try:
            _remove(engine, path)
        except (Refused, EngineUnavailable) as failure:
            log.warning("%s is left behind: %s", path, failure)


def _remove(engine: Engine, path: str) -> None:
    for again in range(LOOKS, -1, -1):
        try:
            with engine.asked("DELETE", path):
                return
        except Refused as refusal:
            if refusal.status == 404:
                return
            if not again:
                raise
        time.sleep(LOOK_EVERY)
