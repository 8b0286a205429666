"""What a trial keeps of its containers: copied out before the verifier runs, and put into a separate verifier's."""

from __future__ import annotations

import io
import json
import posixpath
import tarfile
from dataclasses import dataclass

from pytest_swe.errors import SandboxFileError, SandboxLost
from pytest_swe.harbor.artifacts import MANIFEST, PLACE, Status, TooLarge, Type, Wanted, sanitised, wanted
from pytest_swe.harbor.schema import MAIN
from pytest_swe.harbor.steps import StepSettings
from pytest_swe.model import JSON
from pytest_swe.report.keeping import Keeping
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.trial.environment import Environment


@dataclass(frozen=True, slots=True)
class _Kept:
    """``source`` is the absolute path that it came from."""

    wanted: Wanted
    kind: Type
    status: Status
    tar: bytes = b""
    source: str = ""


class Artifacts:
    """Those of one step. ``keeping``: the step's directory on this host."""

    def __init__(self, environment: Environment, settings: StepSettings, keeping: Keeping) -> None:
        self._environment = environment
        self._wanted = wanted(settings.artifacts)
        self._keeping = keeping.below(PLACE)
        self._kept: list[_Kept] = []

    def collect(self, *, of_main: bool) -> None:
        """Copy out those of ``main``, or those of all other services; one that fails fails nothing else."""
        for each in self._wanted:
            if (each.service is None) == of_main:
                kept = self._copied(each)
                self._kept.append(kept)
                self._unpack(kept)
        entries: list[JSON] = [kept.wanted.entry(kept.kind, kept.status) for kept in self._kept]
        self._keeping.write(MANIFEST, json.dumps(entries, indent=2).encode())

    def put_into(self, sandbox: Sandbox) -> None:
        """Every artifact at its own place in ``sandbox``, whichever service it came from. Raises SandboxError."""
        for kept in self._kept:
            if kept.tar:
                above = posixpath.dirname(kept.source)
                sandbox.upload(io.BytesIO(kept.tar), above)

    def _copied(self, each: Wanted) -> _Kept:
        service = self._environment.services.get(each.service or MAIN)
        if service is None:
            return _Kept(each, "file", "failed")
        out = io.BytesIO()
        try:
            source = self._source(service, each.source)
            sanitised(io.BytesIO(service.download(source)), out, each.exclude)
        except (SandboxFileError, SandboxLost, TooLarge, tarfile.TarError):
            return _Kept(each, "file", "failed")
        with tarfile.open(fileobj=io.BytesIO(out.getvalue())) as tar:
            members = tar.getmembers()
        if not members:
            return _Kept(each, "file", "empty")
        return _Kept(each, "directory" if members[0].isdir() else "file", "ok", out.getvalue(), source)

    def _source(self, service: Sandbox, source: str) -> str:
        """A relative path counts from the work directory of ``main``."""
        if source.startswith("/"):
            return posixpath.normpath(source)
        here = service.exec(["pwd"], timeout=60).stdout.decode("utf-8", "replace").strip()
        return posixpath.normpath(posixpath.join("/", here, source))

    def _unpack(self, kept: _Kept) -> None:
        """Below ``artifacts/`` under the name that it wants: what it is called inside does not count."""
        if not kept.tar:
            return
        with tarfile.open(fileobj=io.BytesIO(kept.tar)) as tar:
            top = tar.getmembers()[0].name
            for member in tar:
                rest = posixpath.relpath(member.name, top)
                if rest.startswith(".."):
                    continue
                name = posixpath.normpath(posixpath.join(kept.wanted.destination, rest))
                content = tar.extractfile(member)
                if content is None:
                    self._keeping.make(name)
                else:
                    self._keeping.write(name, content.read(), executable=bool(member.mode & 0o111))
