"""Files of a trial on this host, below its own directory. Their names and contents come out of containers."""

from __future__ import annotations

import logging
from pathlib import Path, PurePosixPath

log = logging.getLogger(__name__)


class Keeping:
    """Writes below ``place``; None keeps nothing. What cannot be written costs no verdict: it is logged."""

    def __init__(self, place: Path | None) -> None:
        self.place = place

    def below(self, *names: str) -> Keeping:
        """The same for a directory below."""
        return Keeping(self.place.joinpath(*names) if self.place is not None else None)

    def write(self, name: str, content: bytes) -> None:
        """One file; a name that leads out of the directory is left out."""
        if self.place is None:
            return
        parts = [part for part in PurePosixPath(name).parts if part != "."]
        if not parts or name.startswith("/") or ".." in parts or "\0" in name:
            log.warning("a file named %r is not kept", name[:200])
            return
        path = self.place.joinpath(*parts)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            log.warning("%s is not kept: %s", path, error.strerror)
