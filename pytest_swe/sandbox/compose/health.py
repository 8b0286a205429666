"""Health checks of a project's services, run from here while it starts, where nobody else runs them."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from pytest_swe.errors import EngineUnavailable
from pytest_swe.model import JSON
from pytest_swe.sandbox.docker_answers import Refused
from pytest_swe.sandbox.docker_engine import Engine

#: Seconds between two looks for services that have started.
LOOK_EVERY = 0.2

#: Seconds between two checks where a service says nothing else: Docker's.
#: https://docs.docker.com/reference/dockerfile/#healthcheck
USUAL = 30.0

#: Failed checks in a row that make a service unhealthy, where it says nothing else.
RETRIES = 3

#: For a service that is to have none: of a container whose check was taken away Podman says a state that is no word,
#: and Compose ends at it.
NO_CHECK: Mapping[str, JSON] = {"test": ["CMD-SHELL", ":"], "interval": "1s", "timeout": "30s", "retries": RETRIES}

#: Seconds for which a check may hang: Podman answers when it has ended, however long that takes, and to give up on the
#: answer would count as an engine that went away. It ends with its container.
HANGS = 24 * 3600.0


def said_in_full(own: Mapping[str, JSON], image: Mapping[str, JSON]) -> dict[str, JSON]:
    """The check of a service, for an engine that joins the words of a command and knows no usual values.

    ``own`` is the compose file's, ``image`` the image's own; what neither says is Docker's usual value.
    """
    if own.get("disable") is True or own.get("test") == ["NONE"]:
        return dict(NO_CHECK)
    test = own.get("test") or image.get("Test")
    if not isinstance(test, list) or not test:
        return {**own}
    words = [str(word) for word in test]
    if words[0] == "CMD":
        words = ["CMD-SHELL", shlex.join(words[1:])]
    # A shell's script is one word; what follows would be its arguments, of which it has no use.
    made: dict[str, JSON] = {"test": [*words[:2]], "retries": own.get("retries") or image.get("Retries") or RETRIES}
    for key, name, usual in (
        ("interval", "Interval", "30s"),
        ("timeout", "Timeout", "30s"),
        ("start_period", "StartPeriod", "0s"),
    ):
        made[key] = own.get(key) or _text(image.get(name)) or usual
    return made


@contextmanager
def health_checked(engine: Engine, project_label: str) -> Iterator[None]:
    """Run the checks of all containers with this label when they are due, as long as it lasts."""
    checks = _Checks(engine, project_label)
    looking = threading.Thread(target=checks.look, name="health checks", daemon=True)
    looking.start()
    try:
        yield
    finally:
        checks.over.set()
        looking.join()


@dataclass(slots=True)
class _Checks:
    engine: Engine
    label: str
    over: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        """Give each container that appears a thread: one check may take as long as all others together."""
        known: set[str] = set()
        while not self.over.wait(LOOK_EVERY):
            with suppress(Refused, EngineUnavailable):  # whoever starts the services is told
                for container in self.engine.containers([self.label]):
                    if container.id not in known:
                        known.add(container.id)
                        threading.Thread(target=self._keep, args=(container.id,), daemon=True).start()

    def _keep(self, container: str) -> None:
        """Check one container until all have started, or until somebody else turns out to do it."""
        with suppress(Refused, EngineUnavailable):  # it is gone, and so is whoever waits for it
            every = self._started(container)
            if every is None or self.over.wait(every) or self._was_checked(container):
                return
            while True:
                with suppress(Refused):  # it has ended
                    self._run(container)
                if self.over.wait(every):
                    return

    def _started(self, container: str) -> float | None:
        """Seconds between its checks, once it runs. None when it is not checked, or does not run while this lasts."""
        while True:
            found = self._inspected(container)
            every = _interval(found)
            if every is None or _within(found, "State", "Running") is True:
                return every
            if self.over.wait(LOOK_EVERY):
                return None

    def _was_checked(self, container: str) -> bool:
        """Timers of the engine's host run the first check at once, where there are such timers."""
        return bool(_within(self._inspected(container), "State", "Health", "Log"))

    def _inspected(self, container: str) -> JSON:
        with self.engine.asked("GET", f"containers/{container}/json") as answer:
            found: JSON = answer.json()
        return found

    def _run(self, container: str) -> None:
        """The engine itself keeps count of what came of it."""
        with self.engine.asked("GET", f"libpod/containers/{container}/healthcheck", silence=HANGS) as answer:
            answer.json()


def _interval(found: JSON) -> float | None:
    """None for a container that is not checked."""
    test = _within(found, "Config", "Healthcheck", "Test")
    if not isinstance(test, list) or test[:1] in ([], ["NONE"]):
        return None
    nanoseconds = _within(found, "Config", "Healthcheck", "Interval")
    return nanoseconds / 1e9 if isinstance(nanoseconds, int | float) and nanoseconds > 0 else USUAL


def _text(nanoseconds: JSON) -> str:
    return f"{nanoseconds // 1_000_000}ms" if isinstance(nanoseconds, int) and nanoseconds else ""


def _within(found: JSON, *names: str) -> JSON:
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found
