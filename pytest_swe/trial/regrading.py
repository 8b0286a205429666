"""A trial judged again: its separate verifiers on the artifacts that were kept, without an agent."""

from __future__ import annotations

import io
import json
import posixpath
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_swe.agent.endpoint.item import ModelOfItem
from pytest_swe.errors import Unsupported, UsageError
from pytest_swe.harbor.artifacts import MANIFEST, PLACE
from pytest_swe.harbor.steps import below_gate
from pytest_swe.harbor.task import TaskStep
from pytest_swe.harbor.variables import resolved
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.trial.inside import ARTIFACTS, fresh
from pytest_swe.trial.judging import in_its_own
from pytest_swe.trial.setting import StepDone, TrialSetting
from pytest_swe.trial.trial import Trial


class Regrading(Trial):
    """A `Trial` of which only the verifiers run, in containers of their own. ``kept``: the files of the first one."""

    kept: Path

    def _refuse(self) -> None:
        super()._refuse()
        shared = [step.name or "it" for step in self.task.steps if step.settings.verifier_mode == "shared"]
        if shared:
            raise Unsupported(f"{shared[0]} is verified in the agent's container, and that is gone")

    def _tried(self, setting: TrialSetting, place: Path | None, done: list[StepDone]) -> None:
        model = ModelOfItem(setting.route, None, user=setting.user_route, questions=setting.user_questions)
        self._model = model
        try:
            self._stands()
            self._wait_for_go()
            self._all(done)
        finally:
            model.close()
        if not done:
            raise UsageError(f"{self.kept}: no artifacts of a trial are kept there")

    def _all(self, done: list[StepDone]) -> None:
        for step, limits in zip(self.task.steps, self._limits.steps, strict=True):
            files = self.kept / "steps" / step.name if step.name else self.kept
            if not (files / PLACE / MANIFEST).is_file():
                if done:  # nobody knows what an agent would have left in it
                    raise UsageError(f"the trial did not come to step {step.name}, and now it would")
                break
            done.append(self._again(step, files, limits.verifier))
            if done[-1].ends:
                break

    def _again(self, step: TaskStep, files: Path, timeout: float) -> StepDone:
        env = resolved(step.settings.verifier_env, self._setting.given)
        with self._opened(self._verifier(step)) as other:
            fresh(other.main, ARTIFACTS)
            restore(files, other.main)
            verified = in_its_own(other.main, self.task, step, env=env, timeout=timeout)
        gate = below_gate(step.settings.min_reward, verified.rewards) if verified.rewards is not None else ""
        return StepDone(
            name=step.name,
            rewards=verified.rewards,
            exception=(verified.failure, verified.detail),
            ends=bool(gate) or verified.rewards is None,
            gate=gate,
            note=verified.note,
            verifier_seconds=verified.seconds,
        )


def restore(files: Path, sandbox: Sandbox) -> None:
    """Every artifact kept below ``files`` to its own place; a relative one counts from where commands run.

    Raises UsageError for a manifest that cannot be read, SandboxError.
    """
    here = ""
    for source, kept in _entries(files):
        if not source.startswith("/"):
            here = here or sandbox.exec(["pwd"], timeout=60).stdout.decode("utf-8", "replace").strip()
            source = posixpath.join(here or "/", source)
        above, name = posixpath.split(posixpath.normpath(source))
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", dereference=False) as tar:
            tar.add(kept, name, filter=_plain)
        packed.seek(0)
        sandbox.upload(packed, above)


def _entries(files: Path) -> Iterator[tuple[str, Path]]:
    """Where each artifact came from, and where it is kept."""
    manifest = files / PLACE / MANIFEST
    try:
        entries: list[Mapping[str, str]] = json.loads(manifest.read_bytes())
        found = [(each["source"], files / each["destination"]) for each in entries if each["status"] == "ok"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{manifest}: no readable manifest ({error})") from None
    yield from (each for each in found if each[1].exists() and each[1].resolve().is_relative_to(files.resolve()))


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member if member.isfile() or member.isdir() else None
