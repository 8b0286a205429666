"""What a run that was killed left standing: its next part, under ``--swe-resume``, removes it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from typing import cast

from pytest_swe.errors import SweError
from pytest_swe.run import Run
from pytest_swe.sandbox.owner import owner_is_dead, owner_labels

log = logging.getLogger(__name__)

#: Seconds for which a run is taken to last, where its record needs an end.
_LONG = 30 * 24 * 3600.0


def record(run: Run) -> dict[str, object]:
    """How this part of a run is known by its sandboxes, and who owns it; for ``run.json``."""
    return {"label": run.part, "kept": run.settings.keep, "owner": owner_labels({}, seconds=_LONG)}


def sweep_leftovers(run: Run, run_ids: Iterable[str]) -> None:
    """Remove sandboxes of earlier parts of these runs whose owner is dead, except where it was told to keep them.

    A sandbox that cannot be removed now ends by itself at its deadline: nothing of this fails a run.
    """
    for run_id in sorted({run.run_id, *run_ids}):
        part = _abandoned(run, run_id)
        if not part:
            continue
        try:
            run.provider().sweep({"run": run_id, "part": part})
        except SweError:
            continue  # no engine: the items say so
        except Exception:  # a provider that breaks its contract
            log.exception("sweeping with provider %s failed", run.settings.provider)


def _abandoned(run: Run, run_id: str) -> str:
    """The label of the latest part of a run, when nobody is there any more to remove what it left; else empty."""
    try:
        told: Mapping[str, object] = json.loads((run.settings.results / run_id / "run.json").read_bytes())
        part = cast("Mapping[str, object]", told["part"])
        ours = told["provider"] == run.settings.provider and not part["kept"]
        dead = owner_is_dead(cast("Mapping[str, str]", part["owner"]))
        return str(part["label"]) if ours and dead else ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""  # no record, or of an older version
