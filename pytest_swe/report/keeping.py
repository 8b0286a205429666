"""Files that come out of sandboxes, below the directory of an item: names and contents are whatever they are."""

from __future__ import annotations

import logging
from pathlib import Path, PurePosixPath

from pytest_swe.masking import Secrets

log = logging.getLogger(__name__)

#: What an agent and a trial write, at the top and below each step.
WRITTEN = ("agent", "verifier", "artifacts", "steps")
#: Below this an attempt is kept that was followed by another.
EARLIER = "earlier"


class Keeping:
    """Writes below ``place``, without ``secrets``; None keeps nothing.

    What cannot be written costs no verdict: it is logged.
    """

    def __init__(self, place: Path | None, secrets: Secrets | None = None) -> None:
        self.place = place
        self._secrets = secrets or Secrets(())

    def below(self, *names: str) -> Keeping:
        """The same for a directory below."""
        return Keeping(self.place.joinpath(*names) if self.place is not None else None, self._secrets)

    def write(self, name: str, content: bytes, *, executable: bool = False) -> None:
        """One file; a name that leads out of the directory is left out."""
        path = self._path(name)
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self._secrets.masked(content))
            path.chmod(0o755 if executable else 0o644)
        except OSError as error:
            log.warning("%s is not kept: %s", path, error.strerror)

    def make(self, name: str) -> None:
        """A directory, the same way."""
        path = self._path(name)
        try:
            if path is not None:
                path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            log.warning("%s is not kept: %s", path, error.strerror)

    def set_aside(self) -> None:
        """What an attempt wrote, below ``earlier/1`` and so on: the next one must not add to it."""
        there = [self.place / name for name in WRITTEN if (self.place / name).exists()] if self.place else []
        if not there or self.place is None:
            return
        try:
            above = self.place / EARLIER
            aside = above / str(1 + len(list(above.iterdir())) if above.is_dir() else 1)
            aside.mkdir(parents=True)
            for path in there:
                path.rename(aside / path.name)
        except OSError as error:
            log.warning("%s: an earlier attempt is not kept apart: %s", self.place, error.strerror)

    def _path(self, name: str) -> Path | None:
        parts = [part for part in PurePosixPath(name).parts if part != "."]
        if self.place is None:
            return None
        if not parts or name.startswith("/") or ".." in parts or "\0" in name:
            log.warning("a file named %r is not kept", name[:200])
            return None
        return self.place.joinpath(*parts)
