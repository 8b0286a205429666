"""What a build context holds, as one hash: the same content is the same image."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

#: Names that never make another image.
IGNORED = frozenset({".git", "__pycache__", ".DS_Store"})

#: Bytes of a file that are hashed at a time.
_CHUNK = 1024 * 1024


def content_hash(directory: Path, parameters: Mapping[str, str]) -> str:
    """32 hex digits of every file and link below ``directory``, by path, mode and bytes, and of ``parameters``.

    Raises OSError for what cannot be read. Links are hashed as links: what they lead to may be anybody's.
    """
    total = hashlib.sha256()
    for path in _files(directory):
        mode = path.lstat().st_mode
        name = os.fsencode(path.relative_to(directory))
        if stat.S_ISLNK(mode):
            _add(total, b"link", name, os.fsencode(os.readlink(path)))
        elif stat.S_ISREG(mode):
            _add(total, b"file", name, b"x" if mode & 0o100 else b"-", _of_file(path))
    for key, value in sorted(parameters.items()):
        _add(total, b"parameter", key.encode(), value.encode("utf-8", "surrogateescape"))
    return total.hexdigest()[:32]


def _files(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.iterdir()):
        if path.name in IGNORED:
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _files(path)
        else:
            yield path


def _of_file(path: Path) -> bytes:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.digest()


def _add(total: hashlib._Hash, *parts: bytes) -> None:
    """Lengths go in as well, so that no two lists of parts look the same."""
    for part in parts:
        total.update(len(part).to_bytes(8, "big") + part)
