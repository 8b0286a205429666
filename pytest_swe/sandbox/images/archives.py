"""Archives of images, as ``docker save`` writes them: which images are in which, and one image out of several."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from pytest_swe.errors import UsageError
from pytest_swe.sandbox.images.reference import parse

SUFFIXES = (".tar", ".tar.gz", ".tgz")

#: Podman's name for what has no registry.
_NOWHERE = "localhost/"


@dataclass(frozen=True, slots=True)
class Entry:
    """One image of an archive: its names, and the members that hold its configuration and its layers."""

    tags: tuple[str, ...]
    config: str
    layers: tuple[str, ...]

    @property
    def id(self) -> str:
        """The engine's id of the image: the digest of its configuration, by which the member is named."""
        return f"sha256:{self.config.rpartition('/')[2].removesuffix('.json')}"

    def names(self) -> Iterator[str]:
        """In full."""
        for tag in self.tags:
            yield str(parse(tag))
            if tag.startswith(_NOWHERE):
                yield str(parse(tag.removeprefix(_NOWHERE)))


class Archives:
    """Files, or directories of them (``.tar``, ``.tar.gz``, ``.tgz``); looked into once. Raises UsageError."""

    def __init__(self, places: Iterable[Path]) -> None:
        self._images: dict[str, Path] = {}
        for place in places:
            if not place.exists():
                raise UsageError(f"{place}: no such file or directory")
            for path in [place] if place.is_file() else sorted(place.iterdir()):
                if path.name.endswith(SUFFIXES):
                    self._images.update(dict.fromkeys(images_in(path), path))

    def holding(self, image: str) -> Path | None:
        """The archive that has ``image`` in it."""
        try:
            return self._images.get(str(parse(image)))
        except ValueError:
            return None

    def layers(self, image: str) -> Mapping[str, int]:
        """Bytes of the image's layers by their names in its archive; empty when none has it."""
        archive = self.holding(image)
        return {} if archive is None else layers_of(archive, image)


def images_in(path: Path) -> Iterator[str]:
    """The names of the images in an archive, in full. Raises UsageError when it is none."""
    for entry in entries_of(path):
        yield from entry.names()


def entries_of(path: Path) -> list[Entry]:
    """What an archive says is in it. Raises UsageError when it is no archive of images."""
    with _opened(path) as tar:
        return _entries(path, tar)


def layers_of(path: Path, image: str, *, alone: bool = False) -> Mapping[str, int]:
    """Bytes of one image's layers by name. For ``alone`` and errors see `id_in`."""
    with _opened(path) as tar:
        return {name: _file(path, tar, name)[1] for name in _entry(path, tar, image, alone).layers}


def copy_one(path: Path, image: str, target: Path, *, alone: bool = False) -> None:
    """Write ``target``, an archive of ``image`` and no other. For ``alone`` and errors see `id_in`; also OSError."""
    with _opened(path) as tar, tarfile.open(target, "w") as made:
        entry = _entry(path, tar, image, alone)
        # By numbers: what stands in their place may be links, and names with directories.
        names = [f"{number}.tar" for number in range(len(entry.layers))]
        config = entry.config.rpartition("/")[2].removesuffix(".json") + ".json"
        for source, name in ((entry.config, config), *zip(entry.layers, names, strict=True)):
            file, size = _file(path, tar, source)
            member = tarfile.TarInfo(name)
            member.size = size
            made.addfile(member, file)
        manifest = json.dumps([{"Config": config, "RepoTags": list(entry.tags), "Layers": names}]).encode()
        about = tarfile.TarInfo("manifest.json")
        about.size = len(manifest)
        made.addfile(about, io.BytesIO(manifest))


def id_in(path: Path, image: str, *, alone: bool = False) -> str:
    """The id of ``image`` in an archive; with ``alone`` of the only image there is, whatever its name.

    Raises UsageError when the archive has it not.
    """
    with _opened(path) as tar:
        return _entry(path, tar, image, alone).id


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    """An archive to read from; what is broken in it is a UsageError."""
    try:
        tar = tarfile.open(path)
    except (OSError, tarfile.TarError, EOFError) as error:
        raise _none(path, error) from error
    with tar:
        try:
            yield tar
        except (tarfile.TarError, EOFError, KeyError, ValueError, gzip.BadGzipFile, zlib.error) as error:
            raise _none(path, error) from error


def _none(path: Path, error: object) -> UsageError:
    return UsageError(f"{path} is no archive of images, as docker save writes them: {error}")


def _entry(path: Path, tar: tarfile.TarFile, image: str, alone: bool) -> Entry:
    found = _entries(path, tar)
    if alone and len(found) == 1:
        return found[0]
    wanted = str(parse(image))
    for entry in found:
        if wanted in entry.names():
            return entry
    raise UsageError(f"{path} has no image {image}")


def _entries(path: Path, tar: tarfile.TarFile) -> list[Entry]:
    found = json.loads(_file(path, tar, "manifest.json")[0].read())
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise _none(path, "its manifest.json is no list")
    return [
        Entry(_texts(each.get("RepoTags")), str(each["Config"]), _texts(each.get("Layers")))
        for each in cast("list[dict[str, object]]", found)
    ]


def _file(path: Path, tar: tarfile.TarFile, name: str) -> tuple[IO[bytes], int]:
    """A member and its size; a link (older engines write one for a layer that is there already) is followed."""
    file = tar.extractfile(name)
    if file is None:
        raise _none(path, f"{name} is no file")
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    return file, size


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()
