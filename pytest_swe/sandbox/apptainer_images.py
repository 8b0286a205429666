"""The images of apptainer, for `pytest_swe.sandbox.images`: an engine without a daemon, whose images are files.

    <images>/<name>.sif     a file: taken as it is
    <images>/<name>         an unpacked directory: taken as it is
    <images>/<name>.tar     an archive (``docker save``): built from it, once

``<name>`` is the image's name with its tag, ``latest`` if it has none; nothing is searched for. An image that is named
by an absolute path is that file or directory. What is in none of these places is built from the Docker engine here if
that has it; else it is what was built of this name before, and at last it is fetched from a registry.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pytest_swe.errors import ImageUnavailable, UsageError
from pytest_swe.sandbox import apptainer_build
from pytest_swe.sandbox.apptainer_program import Program
from pytest_swe.sandbox.apptainer_sources import Beside, authfile, docker, login_of, saved_by_docker
from pytest_swe.sandbox.apptainer_store import Kept, Store
from pytest_swe.sandbox.host.failures import as_sandbox_errors
from pytest_swe.sandbox.images.archives import copy_one, id_in, layers_of
from pytest_swe.sandbox.images.base import BuildFailed, Held, PullFailed, Ways
from pytest_swe.sandbox.images.reference import parse
from pytest_swe.sandbox.images.registry import Registries, Unreachable

_ARCHIVE = "docker-archive:"
_MIB = 1024 * 1024

#: Of an image that is made from layers there is, at work, each packed layer and the whole tree.
_WORK = 4.0
_UNPACKED = {True: 3.0, False: 1.3}


class ApptainerImages:
    """See `pytest_swe.sandbox.images.base.ImageEngine`. ``images`` is where ready images stand, None for nowhere."""

    def __init__(self, program: Program, store: Store, *, images: Path | None) -> None:
        self.ways = Ways(builds=False, layers=False, unpacked=_UNPACKED[store.unpacked], work=_WORK)
        self._program = program
        self._store = store
        self._images = images
        self._registries = Registries(self.is_plain, self.login)

    def identity(self) -> str:
        return f"apptainer {self._store.directory}"

    def path(self, image: str) -> Path | None:
        """The file or directory of ``image``."""
        found = self._ready(image)
        if found is None and not image.startswith("/") and (kept := self._kept(image)) is not None:
            found = kept.path
        return found

    def find(self, image: str) -> Held | None:
        with suppress(ImageUnavailable):  # `take` tells
            if self._ready(image) is not None:
                return Held("")
            kept = None if image.startswith("/") else self._kept(image)
            return None if kept is None else Held(kept.id, kept.digests, mb=kept.mb)
        return None

    def take(self, image: str) -> bool:
        if image.startswith("/"):
            raise ImageUnavailable(f"no image {image}: no such file or directory")
        beside = self._beside(full_name(image))
        if beside is None:
            return False
        try:
            self._make_from(image, beside)
        except PullFailed as failure:
            where = beside.archive or "the Docker engine"
            raise ImageUnavailable(f"cannot build {image} from {where}: {failure}") from failure
        return True

    def beside_mb(self, image: str) -> int | None:
        if image.startswith("/"):
            return None
        beside = self._beside(full_name(image))
        if beside is None:
            return None
        if beside.archive is not None:
            return sum(layers_of(beside.archive, full_name(image), alone=True).values()) // _MIB
        said = docker("image", "inspect", "--format", "{{.Size}}", image)
        return int(said) // _MIB if said.isdecimal() else None

    def pull(self, image: str, platform: str | None, silence: float) -> None:
        try:
            reference = parse(full_name(image))
        except ValueError as error:
            raise PullFailed(f"invalid reference: {error}") from error
        # By its digest, so that it is known what was fetched; without, where the registry is not reached from here.
        digest = reference.digest
        with suppress(Unreachable):
            answer = self._registries.look(reference)
            digest = answer.digest if answer.status == 200 else digest
        source = f"docker://{reference.name}@{digest}" if digest else f"docker://{reference}"
        digests = (f"{reference.name}@{digest}",) if digest else ()
        options = ("--authfile", str(found)) if (found := authfile()) else ()
        self._make(image, digest, lambda folder: (source, options), digests=digests, silence=silence)

    def tag(self, image: str, name: str) -> None:
        self._store.tag(full_name(image), full_name(name))

    def remove(self, image: str) -> bool:
        return self._store.remove(full_name(image))

    def used_mb(self) -> int:
        return sum(kept.mb for kept in self._store.all())

    def free_mb(self) -> int | None:
        place = self._store.directory
        while not place.exists():
            place = place.parent
        return shutil.disk_usage(place).free // _MIB

    def is_plain(self, registry: str) -> bool:
        """Apptainer itself tries both for a registry of this host."""
        host = registry.rpartition(":")[0] or registry
        return host in ("localhost", "[::1]") or host.startswith("127.")

    def login(self, registry: str) -> Mapping[str, str]:
        return login_of(registry)

    def build(self, context: BinaryIO, dockerfile: str, image: str, arguments: Mapping[str, str]) -> None:
        raise BuildFailed("apptainer builds no Dockerfile; a Docker engine does")

    def load(self, archive: Iterable[bytes], images: Collection[str]) -> None:
        with self._as_file(archive) as path:
            for image in images:
                try:
                    image_id = id_in(path, image)
                    if self._store.find(full_name(image), image_id) is None:
                        self._make_from(image, Beside(image_id, path, alone=False))
                except UsageError as error:
                    raise PullFailed(str(error)) from error

    def save(self, images: Iterable[str]) -> Iterator[bytes]:
        where = self._store.directory
        raise PullFailed(f"images of apptainer are files below {where}: copy all of it to that place on another host")

    def _make_from(self, image: str, beside: Beside) -> None:
        self._make(image, beside.id, lambda folder: self._archived(image, beside, folder))

    def _make(
        self,
        image: str,
        image_id: str,
        source: Callable[[Path], tuple[str, Iterable[str]]],
        *,
        digests: tuple[str, ...] = (),
        silence: float = apptainer_build.SILENCE,
    ) -> None:
        """Built in a folder of its own and renamed when whole. ``source`` says what from, and with which options."""
        with as_sandbox_errors(f"cannot build {image}"), self._store.scratch() as folder:
            found, options = source(folder)
            work = folder / "work"
            work.mkdir()
            made = apptainer_build.build(
                self._program, found, work, unpacked=self._store.unpacked, options=tuple(options), silence=silence
            )
            self._store.keep(full_name(image), image_id, digests, made)

    def _ready(self, image: str) -> Path | None:
        if image.startswith("/"):
            return Path(image) if Path(image).exists() else None
        if self._images is None:
            return None
        name = full_name(image)
        return next((path for path in (self._images / f"{name}.sif", self._images / name) if path.exists()), None)

    def _kept(self, image: str) -> Kept | None:
        name = full_name(image)
        beside = self._beside(name)
        return self._store.find(name, beside.id if beside else "")

    def _beside(self, name: str) -> Beside | None:
        """The archive in the folder, else the image of the Docker engine; its id tells one version from another."""
        archive = None if self._images is None else self._images / f"{name}.tar"
        if archive is not None and archive.exists():
            try:
                return Beside(id_in(archive, name, alone=True), archive)
            except UsageError as error:
                raise ImageUnavailable(str(error)) from error
        image_id = docker("image", "inspect", "--format", "{{.Id}}", name)
        return Beside(image_id) if image_id else None

    def _archived(self, image: str, beside: Beside, folder: Path) -> tuple[str, Iterable[str]]:
        """An archive of one image: apptainer takes no other, and no colon in the path."""
        alone = folder / "archive.tar"
        if beside.archive is not None:
            copy_one(beside.archive, full_name(image), alone, alone=beside.alone)
        else:
            saved_by_docker(full_name(image), alone)
        return f"{_ARCHIVE}{alone}", ()

    @contextmanager
    def _as_file(self, archive: Iterable[bytes]) -> Iterator[Path]:
        """An open file by its name; parts are put together first."""
        if isinstance(archive, io.BufferedReader):
            yield Path(archive.name)
            return
        with self._store.scratch() as folder:
            with (folder / "archive.tar").open("wb") as file:
                for part in archive:
                    file.write(part)
            yield folder / "archive.tar"


def full_name(image: str) -> str:
    """The name with its tag. Raises ImageUnavailable for what cannot be one."""
    name = image.removeprefix("docker://")
    last = name.rpartition("/")[2]
    if not name or name.startswith("/") or any(part in ("", ".", "..") for part in name.split("/")) or "\0" in name:
        raise ImageUnavailable(f"{image!r} is no name of an image")
    return name if ":" in last or "@" in last else f"{name}:latest"
