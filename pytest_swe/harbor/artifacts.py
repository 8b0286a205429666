"""What is kept of a container: which files, under which names, and a tar of them in which nothing can do harm. Pure.

As in Harbor 0.25.0 ``/logs/artifacts`` is always kept, then what the task lists, then what the step lists; a failed
artifact fails no trial. Links, pipes and devices are dropped, and special bits of modes are cleared.
"""

from __future__ import annotations

import fnmatch
import posixpath
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Literal

from pytest_swe.harbor.schema import MAIN, Artifact
from pytest_swe.model import JSON

COLLECTED = "/logs/artifacts"
MANIFEST = "manifest.json"
#: Below this name a trial keeps artifacts, in the manifest too.
PLACE = "artifacts"
#: Of one artifact.
MAX_BYTES = 1024**3
MAX_FILES = 100_000

Type = Literal["file", "directory"]
Status = Literal["ok", "failed", "empty", "skipped"]


class TooLarge(ValueError):
    """An artifact is larger than what is kept; in one line."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file or directory to keep: ``source`` in ``service``, to stand at ``destination`` below ``artifacts/``."""

    source: str
    destination: str
    service: str | None = None
    exclude: tuple[str, ...] = ()

    def entry(self, kind: Type, status: Status) -> dict[str, JSON]:
        """Its line in the manifest."""
        return {
            "source": self.source,
            "destination": f"{PLACE}/{self.destination}",
            "type": kind,
            "status": status,
            "service": self.service,
            "exclude": list(self.exclude),
        }


def wanted(artifacts: Iterable[Artifact]) -> tuple[Wanted, ...]:
    """What to keep, each once, in order, ``/logs/artifacts`` first. Without a destination it mirrors the source."""
    found = [Wanted(COLLECTED, COLLECTED.lstrip("/"))]
    for each in artifacts:
        mirror = posixpath.normpath(each.source).lstrip("/")
        service = None if each.service == MAIN else each.service
        found.append(Wanted(each.source, each.destination or mirror, service, each.exclude))
    return tuple(dict.fromkeys(found))


def overwritten(artifacts: Iterable[Artifact]) -> tuple[str, ...]:
    """Destinations that two artifacts want: of these only the last one is kept."""
    places = [each.destination for each in wanted(artifacts)]
    return tuple(sorted({place for place in places if places.count(place) > 1}))


def sanitised(tar: BinaryIO, out: BinaryIO, exclude: Sequence[str] = ()) -> int:
    """Copy what is harmless in ``tar`` to ``out``; returns how many members were left out.

    Directories and regular files stay, root's, with plain modes, below the top of the archive; a hard link stays where
    it leads to a file that does. ``exclude`` are patterns as GNU tar's ``--exclude`` has them. Raises TooLarge, and
    tarfile.TarError for what is no tar.
    """
    kept: set[str] = set()
    dropped = size = 0
    with (
        tarfile.open(fileobj=tar, mode="r|") as source,
        tarfile.open(fileobj=out, mode="w|", format=tarfile.GNU_FORMAT) as target,
    ):
        for number, member in enumerate(source):
            size += member.size if member.isreg() else 0
            if number >= MAX_FILES or size > MAX_BYTES:
                raise TooLarge(f"more than {MAX_FILES} files or {MAX_BYTES // 1024**2} MiB")
            if not _is_harmless(member, kept) or _is_excluded(member.name, exclude):
                dropped += 1
                continue
            kept.add(posixpath.normpath(member.name))
            target.addfile(_plain(member), source.extractfile(member) if member.isreg() else None)
    return dropped


def _is_harmless(member: tarfile.TarInfo, kept: set[str]) -> bool:
    if member.name.startswith("/") or ".." in member.name.split("/") or member.issparse():
        return False
    if member.islnk():
        return posixpath.normpath(member.linkname) in kept
    return member.isdir() or member.isreg()


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    plain = tarfile.TarInfo(posixpath.normpath(member.name))
    plain.type, plain.mode, plain.mtime = member.type, member.mode & 0o777, member.mtime
    plain.size = member.size if member.isreg() else 0
    plain.linkname = posixpath.normpath(member.linkname) if member.islnk() else ""
    return plain


def _is_excluded(name: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern fits the name, or that of a directory above, from any slash on."""
    parts = posixpath.normpath(name).split("/")
    tails = ["/".join(parts[first:last]) for last in range(1, len(parts) + 1) for first in range(last)]
    return any(fnmatch.fnmatchcase(tail, pattern.rstrip("/")) for pattern in patterns for tail in tails)
