"""Data sets of the Hugging Face hub by name: the parquet files of one split, fetched once, as JSON lines.

``owner/name[:split][@revision]``, or an alias. Needs the extra ``hub``. ``HF_ENDPOINT``, ``HF_HUB_OFFLINE``,
``HF_HOME`` and the token are the client's own affair.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_swe.dataset import cache
from pytest_swe.dataset.arrow import write_rows
from pytest_swe.dataset.decode import dumps, loads
from pytest_swe.dataset.extras import need
from pytest_swe.errors import UsageError

ALIASES: Mapping[str, str] = {
    "verified": "SWE-bench/SWE-bench_Verified",
    "lite": "SWE-bench/SWE-bench_Lite",
    "full": "SWE-bench/SWE-bench",
    "multilingual": "SWE-bench/SWE-bench_Multilingual",
    "multimodal": "SWE-bench/SWE-bench_Multimodal",
}
DEFAULT_SPLIT = "test"

_NAME = re.compile(r"(?P<repo>\w[\w.-]*/\w[\w.-]*|\w+)(:(?P<split>[\w.-]+))?(@(?P<revision>[\w./-]+))?")
_DATA_SUFFIX = re.compile(r"\.(jsonl?|parquet|gz|zst|yaml)$")
#: Where data sets keep the files of a split: data/test-00000-of-00002.parquet, test/0000.parquet, test.parquet.
_PATTERNS = tuple(place + file for place in ("", "*/") for file in ("{}.parquet", "{}-[0-9]*.parquet", "{}/*.parquet"))
_FILE = r"(.*/)?{}(-\d+-of-\d+(-\w+)?|/[^/]+)?\.parquet"
#: A name means the same revision for this long, so that all workers of a run see one.
_FRESH_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class HubName:
    """One split of one revision of a data set."""

    repo: str
    split: str = DEFAULT_SPLIT
    revision: str = "main"


def hub_name(name: str, split: str | None = None) -> HubName | None:
    """What ``name`` says, or None when it has not the form of a hub name. ``split`` is for a name without one."""
    found = _NAME.fullmatch(name)
    if found is None or _DATA_SUFFIX.search(found["repo"]):
        return None
    repo = ALIASES.get(found["repo"].lower(), found["repo"])
    if "/" not in repo:
        return None
    return HubName(repo, found["split"] or split or DEFAULT_SPLIT, found["revision"] or "main")


def fetched(name: HubName) -> Path:
    """The rows of ``name`` as a JSONL file in the cache; its label carries data set, split and revision.

    Raises UsageError, in one line, when it is not there, not to be reached, or has no such split.
    """
    endpoint = os.environ.get("HF_ENDPOINT", "")
    record = f"hub-{cache.short_hash(repr((endpoint, name)))}.json"
    if (known := _recorded(record)) is not None:
        return known
    place = cache.writable()
    if place is None:
        raise UsageError("no directory for fetched data sets can be written", hint="set PYTEST_SWE_CACHE_DIR")
    with cache.locked(place / record):
        if (known := _recorded(record)) is not None:
            return known
        snapshot = _snapshot(name)
        revision = snapshot.name
        label = f"{name.repo.partition('/')[2]}-{name.split}-{revision[:12]}"
        files = _files(snapshot, name)
        # Its name tells of which family the rows are.
        named = {"dataset_name": name.repo}
        key = f"{name.repo} {revision} named"
        rows = cache.materialised(label, key, lambda target: write_rows(files, target, named))
        note = dumps({"repo": name.repo, "split": name.split, "revision": revision, "rows": str(rows)})
        cache.write_atomically(place, lambda target: target.write(note), lambda _: record)
    return rows


def _recorded(record: str) -> Path | None:
    """The file that this name was fetched to not long ago."""
    for directory in cache.readable():
        path = directory / record
        try:
            if time.time() - path.stat().st_mtime > _FRESH_SECONDS:
                continue
            note = loads(path.read_bytes())
        except (OSError, ValueError):
            continue
        rows = note.get("rows") if isinstance(note, dict) else None
        if isinstance(rows, str) and cache.is_intact(Path(rows)):
            return Path(rows)
    return None


def _snapshot(name: HubName) -> Path:
    """The directory with the split's files, named by the full revision; from the client's cache when offline."""
    hub = need("huggingface_hub", "hub", f"{name.repo} is no path here; reading it from the Hugging Face hub")
    errors = need("huggingface_hub.errors", "hub", "reading from the Hugging Face hub")
    try:
        found = hub.snapshot_download(
            name.repo,
            repo_type="dataset",
            revision=name.revision,
            allow_patterns=[pattern.format(name.split) for pattern in _PATTERNS],
        )
    except errors.RepositoryNotFoundError as error:
        raise UsageError(f"{name.repo}: no such data set on the hub", hint="check the name, or set HF_TOKEN") from error
    except errors.RevisionNotFoundError as error:
        raise UsageError(f"{name.repo}: no revision {name.revision!r} on the hub") from error
    except (OSError, ValueError, errors.HTTPError) as error:
        # LocalEntryNotFoundError (no answer and nothing cached) is an OSError; HTTPError is the transport's root.
        raise UsageError(
            f"{name.repo} is no path here, and cannot be fetched from the hub: {_one_line(error)}",
            hint="check the path, or fetch it once with a network",
        ) from error
    return Path(found)


def _one_line(error: Exception) -> str:
    """The innermost cause: the client wraps "connection refused" in a paragraph."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    return str(cause).strip().partition("\n")[0][:200] or type(cause).__name__


def _files(snapshot: Path, name: HubName) -> list[Path]:
    wanted = re.compile(_FILE.format(re.escape(name.split)))
    files = sorted(path.relative_to(snapshot) for path in snapshot.rglob("*.parquet"))
    found = [path for path in files if wanted.fullmatch(path.as_posix())]
    if not found:
        raise UsageError(f"{name.repo}: no parquet files of a split {name.split!r}", hint="name another: NAME:SPLIT")
    places = sorted({str(path.parent) for path in found})
    if len(places) > 1:
        raise UsageError(f"{name.repo}: split {name.split!r} stands in several configurations: {', '.join(places)}")
    return [snapshot / path for path in found]
