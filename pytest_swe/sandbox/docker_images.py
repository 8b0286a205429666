"""The images of a Docker engine, for `pytest_swe.sandbox.images`. Podman's compatible API answers the same calls."""

from __future__ import annotations

import base64
import ipaddress
import json
import os
import platform
import socket
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO, cast

from pytest_swe.errors import EngineUnavailable, ImageUnavailable
from pytest_swe.model import JSON
from pytest_swe.sandbox.docker_answers import Refused
from pytest_swe.sandbox.docker_engine import Engine
from pytest_swe.sandbox.docker_transport import ANSWER
from pytest_swe.sandbox.images.base import BuildFailed, Held, PullFailed, Ways
from pytest_swe.sandbox.images.reference import DOCKER_HUB, Reference, parse

#: Seconds of a build, a load or a save without a word.
SILENCE = 1800.0
#: An engine adds up what its images take once at a time, and refuses who comes second.
LOOKS = 30

_MIB = 1024 * 1024
_BODY = {"Content-Type": "application/x-tar"}


class DockerImages:
    """See `pytest_swe.sandbox.images.base.ImageEngine`."""

    ways = Ways()

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._about: dict[str, JSON] = {}

    def identity(self) -> str:
        # Not the engine's ID: Podman gives another one with each answer.
        return f"{self._info().get('Name')} {self._info().get('DockerRootDir')}"

    def find(self, image: str) -> Held | None:
        try:
            found = self._json("GET", f"images/{image}/json")
        except Refused as refusal:
            if refusal.status in (400, 404):
                return None
            raise
        platform = f"{found.get('Os', '')}/{found.get('Architecture', '')}".strip("/")
        digests = tuple(map(str, cast("list[str]", found.get("RepoDigests") or [])))
        return Held(str(found["Id"]), digests, platform, int(cast("int", found.get("Size") or 0)) // _MIB)

    def take(self, image: str) -> bool:
        return False

    def beside_mb(self, image: str) -> int | None:
        return None

    def pull(self, image: str, platform: str | None, silence: float) -> None:
        try:
            reference = parse(image)
            login = self._engine.login(reference.registry)
        except ValueError as error:
            raise PullFailed(f"invalid reference: {error}") from error
        except Refused as refusal:
            raise ImageUnavailable(f"cannot pull {image}: {refusal}") from refusal
        headers = {"X-Registry-Auth": base64.urlsafe_b64encode(json.dumps(login).encode())} if login else {}
        params = {"fromImage": _path(image, reference), "tag": reference.version}
        try:
            self._follow("POST", "images/create", silence, headers, params | _platform(platform))
        except Refused as refusal:
            raise PullFailed(str(refusal)) from refusal
        except EngineUnavailable:
            self._engine.ping(ANSWER)  # raises when it is really the engine that is gone
            raise PullFailed(f"nothing came for {silence:.0f} s, or the pull was cut", silent=True) from None

    def tag(self, image: str, name: str) -> None:
        reference = parse(name)
        params = {"repo": _path(name, reference), "tag": reference.tag}
        with self._engine.asked("POST", f"images/{image}/tag", params=params):
            pass

    def remove(self, image: str) -> bool:
        try:
            with self._engine.asked("DELETE", f"images/{image}"):
                return True
        except Refused as refusal:
            return refusal.status == 404

    def used_mb(self) -> int:
        for _ in range(LOOKS):
            try:
                return self._engine.layers_bytes() // _MIB
            except Refused:
                time.sleep(1)
        raise EngineUnavailable("the engine does not say how much its images take")

    def free_mb(self) -> int | None:
        about = self._info()
        here = (about.get("Name"), about.get("KernelVersion")) == (socket.gethostname(), platform.release())
        with suppress(OSError):
            found = os.statvfs(str(about.get("DockerRootDir"))) if here else None
            return found and found.f_bavail * found.f_frsize // _MIB
        return None

    def is_plain(self, registry: str) -> bool:
        about = cast("dict[str, JSON]", self._info().get("RegistryConfig") or {})
        known = cast("dict[str, dict[str, JSON]]", about.get("IndexConfigs") or {}).get(registry)
        if known is not None:
            return not known.get("Secure", True)
        host = registry.rpartition(":")[0] or registry
        with suppress(ValueError):
            address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host.strip("[]"))
            nets = [*map(str, cast("list[str]", about.get("InsecureRegistryCIDRs") or [])), *self._engine.plain]
            return any(address in ipaddress.ip_network(net, strict=False) for net in nets)
        return False

    def login(self, registry: str) -> Mapping[str, str]:
        with suppress(Refused):
            return self._engine.login(registry)
        return {}

    def build(self, context: BinaryIO, dockerfile: str, image: str, arguments: Mapping[str, str]) -> None:
        params = {"t": image, "dockerfile": dockerfile, "rm": "1", "forcerm": "1", "buildargs": json.dumps(arguments)}
        try:
            self._follow("POST", "build", SILENCE, _BODY, params, context)
        except Refused as refusal:
            raise BuildFailed(str(refusal)) from refusal

    def load(self, archive: Iterable[bytes], images: Collection[str]) -> None:
        try:
            self._follow("POST", "images/load", SILENCE, _BODY, {"quiet": "1"}, archive)
        except Refused as refusal:
            raise PullFailed(f"cannot load: {refusal}") from refusal

    def save(self, images: Iterable[str]) -> Iterator[bytes]:
        params = {"names": list(images)}
        try:
            with self._engine.asked("GET", "images/get", silence=SILENCE, params=params) as answer:
                yield from answer.iter_content(_MIB)
        except Refused as refusal:
            raise PullFailed(f"cannot save: {refusal}") from refusal

    def _follow(
        self,
        method: str,
        path: str,
        silence: float,
        headers: Mapping[str, str | bytes],
        params: Mapping[str, str],
        data: Iterable[bytes] | None = None,
    ) -> None:
        """A call that tells of its progress, to its end. Raises Refused with what it told last."""
        with self._engine.asked(method, path, params=params, headers=headers, data=data, silence=silence) as answer:
            for line in answer.iter_lines():
                with suppress(ValueError):
                    said = json.loads(line or b"{}")
                    if isinstance(said, dict) and said.get("error"):
                        raise Refused(0, " ".join(str(said["error"]).split())[:400])

    def _json(self, method: str, path: str) -> dict[str, JSON]:
        with self._engine.asked(method, path) as answer:
            return cast("dict[str, JSON]", answer.json())

    def _info(self) -> dict[str, JSON]:
        """Of what does not change while the engine lives."""
        if not self._about:
            self._about = self._json("GET", "info")
        return self._about


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageConfig:
    """What an image says of the containers made of it. ``user`` is empty where that is root."""

    user: str = ""
    workdir: str = ""
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()


def image_config(engine: Engine, image: str) -> ImageConfig:
    """Raises Refused when there is no such image."""
    with engine.asked("GET", f"images/{image}/json") as answer:
        found = answer.json().get("Config") or {}
    return ImageConfig(
        user=str(found.get("User") or ""),
        workdir=str(found.get("WorkingDir") or ""),
        entrypoint=tuple(map(str, found.get("Entrypoint") or ())),
        command=tuple(map(str, found.get("Cmd") or ())),
    )


def made_of(engine: Engine, container: str) -> str:
    """The id of the image that ``container`` was made of."""
    with engine.asked("GET", f"containers/{container}/json") as answer:
        return str(answer.json()["Image"])


def digest_of(engine: Engine, container: str, image: str) -> str:
    """The digest of the image that ``container`` was made of, see `pytest_swe.sandbox.base.ImageFacts`."""
    found = made_of(engine, container)
    held = DockerImages(engine).find(found)
    digests = dict(digest.split("@", 1) for digest in held.digests) if held else {}
    with suppress(ValueError):
        own = parse(image)
        for name, digest in digests.items():
            if digest == own.digest or parse(name).name == own.name:
                return digest
    return next(iter(digests.values()), f"local:{found}")


def _platform(platform: str | None) -> dict[str, str]:
    return {"platform": platform} if platform else {}


def _path(image: str, reference: Reference) -> str:
    """The name without version, with its registry unless that is Docker's own, which is not written."""
    return reference.repository.removeprefix("library/") if reference.registry == DOCKER_HUB else reference.name
