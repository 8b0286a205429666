"""From a spec to a running container: create, pull when the image is missing, start."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_swe.errors import DiskFull, ImageUnavailable, SandboxStartFailed, SweError, Unsupported
from pytest_swe.model import SandboxSpec
from pytest_swe.sandbox.base import ImageFacts
from pytest_swe.sandbox.docker_answers import Refused
from pytest_swe.sandbox.docker_config import container_config
from pytest_swe.sandbox.docker_engine import Engine
from pytest_swe.sandbox.docker_images import digest_of, image_config, made_of
from pytest_swe.sandbox.images.pull import Puller
from pytest_swe.sandbox.owner import owner_labels

#: Seconds in which a container of a foreign architecture fails, if it does.
FOREIGN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Started:
    """A running container, what it was made of, and whose its commands are."""

    container: str
    image: ImageFacts
    user: str


def started(engine: Engine, spec: SandboxSpec, labels: Mapping[str, str], puller: Puller) -> Started:
    """A new running container of this process's; an image that is not there is pulled.

    Raises as `SandboxProvider.acquire` says; nothing is left behind then.
    """
    if not spec.image:
        raise ImageUnavailable("no image is named")
    container, warnings, seconds = _created(engine, spec, labels, puller)
    try:
        _start(engine, container, spec)
        _check_architecture(engine, container, spec, warnings)
        digest = digest_of(engine, container, spec.image)
        user = spec.user or image_config(engine, made_of(engine, container)).user
    except BaseException:
        engine.discard(container)
        raise
    return Started(container, ImageFacts(digest, seconds), user)


def _created(
    engine: Engine, spec: SandboxSpec, labels: Mapping[str, str], puller: Puller
) -> tuple[str, list[str], float]:
    """Container, warnings, and seconds spent on the image.

    Create at once: asking first whether the image is there would cost each sandbox a round trip.
    """
    seconds = 0.0
    for again in (True, True, False):  # between pull and create another run may remove it for its budget
        try:
            container, warnings = _create(engine, spec, labels)
            puller.host.used(spec.image)
            return container, warnings, seconds
        except Refused as refusal:
            if refusal.status != 404 or not again or not puller.policy.tries:
                raise _create_error(engine, refusal, spec) from refusal
        ready = puller.ready(spec.image, spec.platform)
        seconds += ready.seconds
        spec = replace(spec, image=ready.name)
    raise AssertionError("unreachable")


def _create(engine: Engine, spec: SandboxSpec, labels: Mapping[str, str]) -> tuple[str, list[str]]:
    config = container_config(spec, owner_labels(labels, seconds=spec.seconds))
    return engine.create(config, name=f"swe-{uuid.uuid4().hex}", platform=spec.platform)


def _start(engine: Engine, container: str, spec: SandboxSpec) -> None:
    try:
        engine.start(container)
    except Refused as refusal:
        if "no space left" in str(refusal):
            raise DiskFull(f"no space left to start {spec.image}") from refusal
        hint = "an image needs /bin/sh and sleep"
        raise SandboxStartFailed(f"{spec.image} does not start: {refusal}", hint=hint) from refusal


def _check_architecture(engine: Engine, container: str, spec: SandboxSpec, warnings: list[str]) -> None:
    """A foreign image starts, and ends at once unless the engine has an emulator: only then does it cost time."""
    foreign = next((line for line in warnings if "does not match the detected host platform" in line), None)
    deadline = time.monotonic() + FOREIGN_SECONDS
    while foreign is not None and time.monotonic() < deadline:
        state = engine.state(container)
        if state is None or not state.running:
            raise ImageUnavailable(f"{spec.image}: {foreign}", hint="it needs an emulator here, or another image")
        time.sleep(0.1)


def _create_error(engine: Engine, refusal: Refused, spec: SandboxSpec) -> SweError:
    message = str(refusal)
    if refusal.status == 404:
        return ImageUnavailable(f"no image {spec.image}: {message}", hint=f"{engine.name.lower()} pull {spec.image}")
    if "no space left" in message:
        return DiskFull(f"no space left to create a sandbox of {spec.image}")
    if "invalid reference" in message:
        return ImageUnavailable(f"{spec.image!r} is no name of an image: {message}")
    if refusal.status == 400:
        return Unsupported(f"the {engine.name} engine cannot honour this sandbox: {message}")
    return SandboxStartFailed(f"the {engine.name} engine did not create a sandbox of {spec.image}: {message}")
