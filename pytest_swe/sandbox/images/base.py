"""The narrow port: what an engine of images must be able to do. `pytest_swe.sandbox.docker_images` is one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, Protocol


@dataclass(frozen=True, slots=True)
class Held:
    """An image that the engine has. ``digests`` are ``name@sha256:...`` as registries have it; ``mb`` is MiB."""

    id: str
    digests: tuple[str, ...] = ()
    platform: str = ""
    mb: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """How an engine keeps images. ``builds``: it builds Dockerfiles. ``layers``: it keeps layers, shared ones once, and
    loads all of an archive; else each image is a file of its own.

    ``unpacked``: MiB on disk for a MiB that is fetched, because layers are compressed on their way; ``work``: further
    MiB for it while the image is made. Both are estimates.
    """

    builds: bool = True
    layers: bool = True
    unpacked: float = 3.0
    work: float = 0.0


class PullFailed(Exception):
    """The engine did not get the image; the message is one line of it. ``silent``: nothing came any more."""

    def __init__(self, message: str, *, silent: bool = False) -> None:
        super().__init__(message)
        self.silent = silent


class BuildFailed(Exception):
    """A Dockerfile that does not build; the message ends with the builder's last words."""


class ImageEngine(Protocol):
    """One engine's images. Names are as users write them. Every call raises EngineUnavailable when none answers."""

    ways: Ways

    def identity(self) -> str:
        """The same for all who speak to this engine, whatever address they use."""
        ...

    def find(self, image: str) -> Held | None: ...

    def take(self, image: str) -> bool:
        """Make it from what this host has beside the engine; False when that has it not. Raises ImageUnavailable."""
        ...

    def beside_mb(self, image: str) -> int | None:
        """MiB, unpacked, of what `take` would make it from; None when there is nothing."""
        ...

    def pull(self, image: str, platform: str | None, silence: float) -> None:
        """Raises PullFailed, also after ``silence`` seconds without a word of the engine."""
        ...

    def tag(self, image: str, name: str) -> None: ...

    def remove(self, image: str) -> bool:
        """Whether the name is gone: not while a container uses it."""
        ...

    def used_mb(self) -> int:
        """MiB of all images together, shared layers counted once."""
        ...

    def free_mb(self) -> int | None:
        """MiB free where it keeps images; None when that is not on this host."""
        ...

    def is_plain(self, registry: str) -> bool:
        """Whether it speaks to ``registry`` without TLS."""
        ...

    def login(self, registry: str) -> Mapping[str, str]:
        """The user's credentials for ``registry``: username and password, or identitytoken; empty if there are none."""
        ...

    def build(self, context: BinaryIO, dockerfile: str, image: str, arguments: Mapping[str, str]) -> None:
        """``context`` is a tar. Raises BuildFailed."""
        ...

    def load(self, archive: Iterable[bytes], images: Collection[str]) -> None:
        """``images`` out of an archive as ``save`` gives it: an open file, or its parts. Raises PullFailed."""
        ...

    def save(self, images: Iterable[str]) -> Iterator[bytes]:
        """One archive of all ``images``, shared layers once. Raises PullFailed when one is missing."""
        ...
