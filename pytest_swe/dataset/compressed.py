"""gzip and zstd: decompressed once per host into the cache; what is inside is sniffed again by whoever asked."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from pytest_swe.dataset.cache import Stamp, materialised
from pytest_swe.dataset.extras import need
from pytest_swe.dataset.sniff import kind_of
from pytest_swe.errors import UsageError

_CHUNK = 1024 * 1024


def uncompressed(path: Path) -> Path:
    """``path`` itself, or the cached plain content of a gzip or zstd file.

    Raises UsageError when the file is cut off or damaged, or zstd is not installed; OSError when it cannot be read.
    """
    kind = kind_of(path)
    if kind not in ("gzip", "zstd"):
        return path
    chunks = _gzip_chunks if kind == "gzip" else _zstd_chunks

    def copy(target: BinaryIO) -> None:
        for chunk in chunks(path):
            target.write(chunk)

    return materialised(kind, Stamp.of(path).key, copy)


def _gzip_chunks(path: Path) -> Iterator[bytes]:
    with gzip.open(path) as source:
        try:
            while chunk := source.read(_CHUNK):
                yield chunk
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _damaged(path, error) from error


def _zstd_chunks(path: Path) -> Iterator[bytes]:
    zstandard = need("zstandard", "zstd", f"{path} is compressed with zstd and")
    # One object a frame: zstandard's file reader takes a frame that was cut off for a whole one.
    frame, begun = zstandard.ZstdDecompressor().decompressobj(), False
    with open(path, "rb") as source:
        while chunk := source.read(_CHUNK):
            while chunk:
                try:
                    yield frame.decompress(chunk)
                except zstandard.ZstdError as error:
                    raise _damaged(path, error) from error
                begun, chunk = not frame.eof, frame.unused_data
                if frame.eof:
                    frame = zstandard.ZstdDecompressor().decompressobj()
    if begun:
        raise _damaged(path, EOFError("the last frame does not end"))


def _damaged(path: Path, error: Exception) -> UsageError:
    return UsageError(f"{path}: damaged or cut off: {error}", hint="fetch or write it again")
