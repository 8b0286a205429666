"""What the processes of one host agree on about the images of one engine: files below one directory."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_swe.sandbox.boot import boot_id, since_boot
from pytest_swe.sandbox.host.places import state_directory
from pytest_swe.whole import write_whole

#: Seconds between two looks for a free place to pull in.
POLL = 0.2


@dataclass(frozen=True, slots=True)
class Record:
    """An image that this tool pulled: the names that it gave it, and its size in MiB."""

    image: str
    names: tuple[str, ...]
    mb: int
    used_at: float = 0.0


class HostImages:
    """``pulls`` bounds how many images are fetched at a time on this host."""

    def __init__(self, identity: str, pulls: int, directory: Path | None = None) -> None:
        self._place = (directory or state_directory() / "images") / _short(identity)
        self._pulls = max(1, pulls)

    @contextlib.contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Alone on this host with ``name``: an image, or another thing."""
        from filelock import FileLock

        with FileLock(str(self._file("locks", name))):
            yield

    @contextlib.contextmanager
    def place_to_pull(self, sleep: Callable[[float], None]) -> Iterator[None]:
        """One of the places in which images are fetched; waits until one is free."""
        from filelock import FileLock, Timeout

        while True:
            for number in range(self._pulls):
                lock = FileLock(str(self._file("locks", f"place-{number}")))
                try:
                    lock.acquire(timeout=0)
                except Timeout:
                    continue
                try:
                    yield
                finally:
                    lock.release()
                return
            sleep(POLL * (0.5 + secrets.randbelow(1000) / 1000))

    def hold_off(self, registry: str, seconds: float) -> None:
        """Let nobody on this host ask ``registry`` for so long: it said so."""
        self._write(self._file("hold-off", registry), {"boot": boot_id(), "until": since_boot() + seconds})

    def held_off(self, registry: str) -> float:
        """Seconds for which ``registry`` is still not to be asked."""
        return max(0.0, _moment(self._file("hold-off", registry), "until") - since_boot())

    def failed(self, image: str, message: str, hint: str) -> None:
        """Tell those who wait for ``image`` why it cannot be had."""
        told = {"boot": boot_id(), "at": since_boot(), "message": message, "hint": hint}
        self._write(self._file("failed", image), told)

    def failure_since(self, image: str, moment: float) -> tuple[str, str] | None:
        """Message and hint of another's failure with ``image`` after ``moment`` (seconds since boot)."""
        if _moment(self._file("failed", image), "at") <= moment:
            return None
        found = _read(self._file("failed", image))
        return str(found.get("message", "")), str(found.get("hint", ""))

    def record(self, record: Record) -> None:
        self._write(self._file("pulled", record.image), asdict(record))

    def used(self, image: str) -> None:
        """An image that was pulled is wanted again."""
        with contextlib.suppress(FileNotFoundError):
            os.utime(self._file("pulled", image))

    def path_of(self, record: Record) -> Path:
        """Its file, whose time is that of the last use."""
        return self._file("pulled", record.image)

    def forget(self, image: str) -> None:
        self._file("pulled", image).unlink(missing_ok=True)

    def records(self) -> list[Record]:
        """All that was pulled, what was not used for longest first."""
        found = []
        for path in self._directory("pulled").iterdir():
            data = _read(path)
            with contextlib.suppress(OSError, KeyError, TypeError):
                names = tuple(map(str, data["names"]))  # type: ignore[call-overload]
                found.append(Record(str(data["image"]), names, int(data["mb"]), path.stat().st_mtime))  # type: ignore[call-overload]
        return sorted(found, key=lambda record: record.used_at)

    def _file(self, kind: str, name: str) -> Path:
        return self._directory(kind) / _short(name)

    def _directory(self, kind: str) -> Path:
        directory = self._place / kind
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return directory

    def _write(self, path: Path, data: object) -> None:
        write_whole(path, json.dumps(data))


def _moment(path: Path, key: str) -> float:
    """Seconds since this boot that a file tells; 0 for a file of another boot or machine, whose time is not ours."""
    found = _read(path)
    told = found.get(key) if found.get("boot") == boot_id() else None
    return float(told) if isinstance(told, (int, float)) else 0.0


def _read(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _short(name: str) -> str:
    return hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
