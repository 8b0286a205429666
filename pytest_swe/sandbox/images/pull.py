"""Images are there when they are needed: pulled once per host, by the names of mirrors first, at a registry's pace."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

import tenacity

from pytest_swe.errors import DiskFull, ImageUnavailable
from pytest_swe.sandbox.boot import since_boot
from pytest_swe.sandbox.images.base import Held, ImageEngine, PullFailed
from pytest_swe.sandbox.images.budget import ImageBudget
from pytest_swe.sandbox.images.host import HostImages, Record
from pytest_swe.sandbox.images.mirrors import Mirrors
from pytest_swe.sandbox.images.needs import wanted_images
from pytest_swe.sandbox.images.reference import parse
from pytest_swe.sandbox.images.registry import Registries
from pytest_swe.sandbox.images.why import Why, why_failed

#: Seconds for which a process takes no second look at an image that could not be had.
REMEMBERED = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PullPolicy:
    """How images are fetched. ``tries`` 0: never; ``pulls`` at a time on this host.

    ``patience``: seconds that all waiting for one image may add up to, ``silence``: without a word of the engine after
    which a pull counts as stuck. ``budget_mb`` bounds the engine's images. ``sleep`` and ``wait`` are for tests.
    """

    mirrors: Mirrors = field(default_factory=Mirrors)
    pulls: int = 3
    tries: int = 4
    patience: float = 900.0
    silence: float = 300.0
    budget_mb: int | None = None
    directory: Path | None = None
    wanted: Callable[[], Collection[str]] = wanted_images
    wait: tenacity.wait.wait_base = field(default_factory=lambda: tenacity.wait_exponential_jitter(initial=1, max=30))
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True)
class Ready:
    """An image that the engine has. ``name`` is what it has it under, ``seconds`` were spent to get it.

    ``pulled``: it was not there before; ``fetched``: a registry gave it.
    """

    name: str
    seconds: float = 0.0
    pulled: bool = False
    fetched: bool = False


class _Again(Exception):
    """A round without success. ``seconds`` is what a registry asked to wait, None when none did."""

    def __init__(self, last: Why, seconds: float | None) -> None:
        super().__init__(last.message)
        self.last = last
        self.seconds = seconds


@runtime_checkable
class HasImages(Protocol):
    """A provider whose sandboxes are made of an engine's images, or of several engines'."""

    def images(self) -> Mapping[str, Callable[[], Puller]]:
        """The engines, by a name for people; calling one raises EngineUnavailable when it does not answer."""
        ...


class Puller:
    """The images of one engine. May be used from many threads and processes at once."""

    def __init__(self, engine: ImageEngine, policy: PullPolicy) -> None:
        self.engine = engine
        self.policy = policy
        self.registries = Registries(engine.is_plain, engine.login)
        self.host = HostImages(engine.identity(), policy.pulls, policy.directory)
        self._budget = (
            ImageBudget(engine, self.host, policy.budget_mb, policy.wanted) if policy.budget_mb is not None else None
        )
        self._failures: dict[str, tuple[float, ImageUnavailable]] = {}

    def held(self, image: str, platform: str | None = None) -> str | None:
        """The name under which the engine has ``image``: its own, or one of a mirror. None when it has not."""
        for name in (image, *self.policy.mirrors.names(image)):
            found = self.engine.find(name)
            if found is not None and _fits(found, platform):
                return name
        return None

    def ready(self, image: str, platform: str | None = None) -> Ready:
        """The image, pulled if the engine has it not. Raises ImageUnavailable, DiskFull, EngineUnavailable."""
        begin, moment = time.monotonic(), since_boot()
        at, failure = self._failures.get(image, (0.0, None))
        if failure is not None and begin < at + REMEMBERED:
            raise ImageUnavailable(str(failure.args[0]), hint=failure.hint)
        try:
            with self.host.locked(image):
                name = self.held(image, platform)
                if name is not None:
                    return Ready(name, time.monotonic() - begin)
                if not self.policy.tries:
                    raise ImageUnavailable(f"no image {image}", hint=f"pull or load {image} first")
                if told := self.host.failure_since(image, moment):
                    raise ImageUnavailable(told[0], hint=told[1])
                name, fetched = self._had(image, platform)
        except ImageUnavailable as error:
            self._failures[image] = time.monotonic(), error
            raise
        return Ready(name, time.monotonic() - begin, pulled=True, fetched=fetched)

    def forget_failures(self) -> None:
        """Ask again for what could not be had."""
        self._failures.clear()

    def _had(self, image: str, platform: str | None) -> tuple[str, bool]:
        """The name under which it is there now, and whether a registry gave it."""
        if self._budget is not None:
            self._budget.make_room(image)
        try:
            taken = self.engine.take(image)
            name = image if taken else self._pulled(image, platform)
        except ImageUnavailable as error:
            self.host.failed(image, str(error.args[0]), error.hint)
            raise
        names = [name]
        if name != image and "@" not in image:  # a digest cannot be given as a name, and names the same bytes anyway
            self.engine.tag(name, image)
            names = [image, name]
        found = self.engine.find(name)
        self.host.record(Record(image, tuple(names), found.mb if found else 0))
        if self._budget is not None:
            self._budget.enforce(image)
        return names[0], not taken

    def _pulled(self, image: str, platform: str | None) -> str:
        """Rounds through all names, until one is there; what says no for good is asked once."""
        left = list(self.policy.mirrors.names(image))
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_Again),
            wait=self._wait,
            stop=self._is_enough,
            sleep=self.policy.sleep,
            reraise=True,
        )
        try:
            name: str = retrying(self._round, image, left, platform)
        except _Again as last:
            raise _unavailable(image, last.last) from last
        return name

    def _round(self, image: str, left: list[str], platform: str | None) -> str:
        """The first name that can be had; takes from ``left`` those that never can. Raises _Again, ImageUnavailable."""
        soonest: float | None = None
        why = Why(f"no image {image}", permanent=True)
        for name in list(left):
            try:
                why = self._try(name, platform)
            except _Had:
                return name
            if why.permanent:
                left.remove(name)
            elif why.wait is not None:
                soonest = why.wait if soonest is None else min(soonest, why.wait)
        if not left:
            raise _unavailable(image, why)
        if soonest is not None and soonest > self.policy.patience:
            raise _unavailable(image, why)
        raise _Again(why, soonest)

    def _try(self, name: str, platform: str | None) -> Why:
        """Why it cannot be had now. Raises _Had when it was pulled, DiskFull."""
        registry = _registry_of(name)
        held_off = self.host.held_off(registry)
        if held_off:
            return Why(f"{registry} asked to wait {held_off:.0f} s", hint="it limits pulls", wait=held_off)
        try:
            with self.host.place_to_pull(time.sleep):
                self.engine.pull(name, platform, self.policy.silence)
        except PullFailed as failure:
            if "no space left" in str(failure):
                raise DiskFull(f"no space left to pull {name}") from failure
            why = why_failed(name, failure, self.registries)
            if why.wait and why.wait <= self.policy.patience:
                self.host.hold_off(registry, why.wait)
            return why
        raise _Had

    def _wait(self, state: tenacity.RetryCallState) -> float:
        """As long as the registry asks, and a little more each time, not in step with others."""
        again = state.outcome.exception() if state.outcome else None
        asked = again.seconds if isinstance(again, _Again) else None
        usual: float = self.policy.wait(state)
        return usual if asked is None else asked + min(usual, 5.0)

    def _is_enough(self, state: tenacity.RetryCallState) -> bool:
        return state.attempt_number >= self.policy.tries or state.idle_for + state.upcoming_sleep > self.policy.patience


class _Had(Exception):
    """The image is there."""


def _fits(found: Held, platform: str | None) -> bool:
    return not platform or not found.platform or platform.startswith(found.platform)


def _registry_of(name: str) -> str:
    with contextlib.suppress(ValueError):
        return parse(name).registry
    return name


def _unavailable(image: str, why: Why) -> ImageUnavailable:
    return ImageUnavailable(f"cannot pull {image}: {why.message}", hint=why.hint)
