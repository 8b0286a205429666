"""From the end of an agent to the end of its verifier: hooks, artifacts, and where the verifier runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from pytest_swe.errors import SandboxLost
from pytest_swe.harbor.schema import MAIN, CollectHook
from pytest_swe.harbor.task import HarborTask, TaskStep
from pytest_swe.harbor.variables import resolved
from pytest_swe.harbor.verifiers import separate_verifier
from pytest_swe.model import JSON
from pytest_swe.report.keeping import Keeping
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.processes import Processes, end_others, processes
from pytest_swe.trial.artifacts import Artifacts
from pytest_swe.trial.environment import Environment, Wanted
from pytest_swe.trial.inside import ARTIFACTS, fresh
from pytest_swe.trial.transcript import hand_over
from pytest_swe.trial.unpacked import keep
from pytest_swe.trial.verification import Laid, Verified, verify

#: Makes the container of a separate verifier from what it must be, and closes it.
Opens = Callable[[Wanted], AbstractContextManager[Environment]]


def bytes_of(task: HarborTask, paths: Mapping[str, str]) -> dict[str, bytes]:
    """Files of a task: where they go -> their content. Raises RowInvalid when one is no longer as it was."""
    return {name: task.read(path) for name, path in paths.items()}


def executable_of(task: HarborTask, paths: Mapping[str, str]) -> frozenset[str]:
    """Those of them that can be executed."""
    return frozenset(name for name, path in paths.items() if task.files[path].executable)


def laid(task: HarborTask, step: TaskStep) -> Laid:
    """What stands in ``/tests`` in a step."""
    paths = task.tests(step)
    return Laid(files=bytes_of(task, paths), executable=executable_of(task, paths))


def keep_verified(verified: Verified, keeping: Keeping) -> None:
    """What a verifier left, in the trial's or the step's directory ``keeping``."""
    keep(verified.files, keeping.below("verifier"))


class Judging:
    """Verification in containers that stand. ``given`` are variables of this process that the task may ask for."""

    def __init__(
        self,
        task: HarborTask,
        environment: Environment,
        *,
        given: Mapping[str, str],
        verifier: Callable[[TaskStep], Wanted],
        opens: Opens,
    ) -> None:
        self._task = task
        self._environment = environment
        self._given = given
        self._verifier = verifier
        self._opens = opens

    def verified(
        self,
        step: TaskStep,
        before: Processes,
        *,
        timeout: float,
        is_last: bool,
        trajectory: Mapping[str, JSON] | None,
        keeping: Keeping,
    ) -> Verified:
        """Artifacts are taken, then the verifier runs. ``before`` are the processes that are nobody's work."""
        main, settings = self._environment.main, step.settings
        kept = Artifacts(self._environment, settings, keeping)
        of_main = tuple(hook for hook in settings.collect if hook.service == MAIN)
        self._hooks(of_main)
        kept.collect(of_main=True)
        own = separate_verifier(self._task.config, settings, self._task.files)
        if own is not None and is_last:
            self._environment.stop_main()
        self._hooks(tuple(hook for hook in settings.collect if hook.service != MAIN))
        kept.collect(of_main=False)
        env = resolved(settings.verifier_env, self._given)
        if own is None:
            if of_main:  # a program of the agent's, run by a hook, may have left something behind
                end_others(main, before)
            if trajectory is not None:
                hand_over(main, trajectory)
            tests = laid(self._task, step)
            return verify(main, tests, before, user=settings.verifier_user, env=env, timeout=timeout)
        with self._opens(self._verifier(step)) as other:
            fresh(other.main, ARTIFACTS)
            kept.put_into(other.main)
            if trajectory is not None:
                hand_over(other.main, trajectory)
            return in_its_own(other.main, self._task, step, env=env, timeout=timeout)

    def artifacts(self, step: TaskStep, keeping: Keeping) -> None:
        """Only take the artifacts, where there is nothing to verify."""
        kept = Artifacts(self._environment, step.settings, keeping)
        kept.collect(of_main=True)
        kept.collect(of_main=False)

    def _hooks(self, hooks: tuple[CollectHook, ...]) -> None:
        """Commands before artifacts are taken; what fails is the hook's own affair, as in Harbor."""
        for hook in hooks:
            service = self._environment.services.get(hook.service)
            if service is None:
                continue
            shell = "bash" if hook.service == MAIN else "sh"
            user = str(hook.user) if hook.user is not None else None
            try:
                service.exec([shell, "-c", hook.command], user=user, timeout=hook.timeout_sec)
            except SandboxLost:
                if hook.service == MAIN:
                    raise


def in_its_own(
    sandbox: Sandbox, task: HarborTask, step: TaskStep, *, env: Mapping[str, str], timeout: float
) -> Verified:
    """A separate verifier, in its container with all artifacts in it. Raises HarnessError, SandboxError."""
    own = separate_verifier(task.config, step.settings, task.files)
    tests = laid(task, step) if own is not None and own.uploads_tests else None
    before = processes(sandbox)
    return verify(sandbox, tests, before, user=step.settings.verifier_user, env=env, timeout=timeout)
