"""``pytest-swe bundle``: the images of a data set as a directory, for hosts without a registry.

images.tar     as ``docker save`` writes it; layers that images share are in it once
bundle.json    the images with their ids, and the digest of images.tar
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pytest_swe.errors import ImageUnavailable, UsageError
from pytest_swe.sandbox.host.failures import as_sandbox_errors
from pytest_swe.sandbox.images.base import PullFailed
from pytest_swe.sandbox.images.pull import Puller

ARCHIVE, LIST = "images.tar", "bundle.json"
_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bundle:
    """What stands in bundle.json. ``images``: name -> the engine's id, which is a digest of its content."""

    images: dict[str, str]
    digest: str
    bytes: int


def export_bundle(puller: Puller, images: Iterable[str], target: Path) -> Bundle:
    """Write the bundle; ``target`` must not exist, and does not when it fails.

    Raises UsageError, DiskFull, ImageUnavailable naming what the engine has not.
    """
    names = {image: puller.engine.find(image) for image in images}
    lacking = [image for image, held in names.items() if held is None]
    if lacking:
        raise ImageUnavailable(f"not there: {', '.join(lacking)}", hint="pytest-swe prepare first")
    try:
        target.mkdir(parents=True)
    except FileExistsError:
        raise UsageError(f"{target} is there already") from None
    try:
        with as_sandbox_errors(f"cannot write {target}"):
            digest, size = _saved(puller, names, target / ARCHIVE)
            bundle = Bundle({name: held.id for name, held in names.items() if held}, digest, size)
            # Last: a bundle without it was not finished.
            text = {"bundle": 1, "archive": ARCHIVE, "digest": digest, "bytes": size, "images": bundle.images}
            (target / LIST).write_text(json.dumps(text, indent=2) + "\n", encoding="utf-8")
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    return bundle


def import_bundle(puller: Puller, source: Path) -> Bundle:
    """Load a bundle into the engine; what is there is not loaded again.

    Raises UsageError for one that is damaged, ImageUnavailable when ids differ.
    """
    bundle = _read(source)
    lacking = [name for name, image_id in bundle.images.items() if _id(puller, name) != image_id]
    if not lacking:
        return bundle
    seen = hashlib.sha256()
    try:
        opened = (source / ARCHIVE).open("rb")
    except OSError as error:
        raise UsageError(f"{source} is no bundle: {ARCHIVE}: {error.strerror}") from error
    with opened as file:
        while chunk := file.read(_CHUNK):
            seen.update(chunk)
        if f"sha256:{seen.hexdigest()}" != bundle.digest:
            raise UsageError(f"{source / ARCHIVE} is damaged: its digest is not the one in {LIST}")
        file.seek(0)
        try:
            puller.engine.load(file, lacking)
        except PullFailed as failure:
            raise ImageUnavailable(str(failure)) from failure
    wrong = [name for name, image_id in bundle.images.items() if _id(puller, name) != image_id]
    if wrong:
        raise ImageUnavailable(f"the engine has other images under these names than the bundle: {', '.join(wrong)}")
    return bundle


def _saved(puller: Puller, images: Iterable[str], target: Path) -> tuple[str, int]:
    """Digest and bytes of the archive."""
    seen, size = hashlib.sha256(), 0
    try:
        with target.open("wb") as file:
            for chunk in puller.engine.save(images):
                seen.update(chunk)
                size += file.write(chunk)
    except PullFailed as failure:
        raise ImageUnavailable(str(failure)) from failure
    return f"sha256:{seen.hexdigest()}", size


def _id(puller: Puller, name: str) -> str:
    held = puller.engine.find(name)
    return held.id if held else ""


def _read(source: Path) -> Bundle:
    try:
        data = json.loads((source / LIST).read_bytes())
        images = {str(name): str(image_id) for name, image_id in data["images"].items()}
        return Bundle(images, str(data["digest"]), int(data["bytes"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{source} is no bundle: {LIST}: {error}") from error
