"""What a family makes of a row: all that evaluating a patch and grading the result need. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_swe.model import Tree


@dataclass(frozen=True, slots=True)
class ResultFiles:
    """Files that the tests leave: one (``root`` alone), or those below ``root`` whose path matches ``pattern``.

    ``root`` is absolute, relative to the work tree, or begins with ``{out}``, a directory outside of the tree that
    the eval script knows as ``$SWE_OUT``. ``pattern`` is as for ``find -path``: ``*`` also matches ``/``.
    """

    root: str
    pattern: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What is done around the candidate's patch, in this order.

    ``prepare`` is bash, run before the patch goes in; ``begin`` is run after it, and only where an agent starts in the
    tree: it hides what the image has and an agent must not see. ``overlay`` is laid over the tree after the patch (path
    in the tree, or absolute -> content), then ``tests_patch``, unless the eval script does that itself. ``files`` stand
    outside of the tree, in the directory that the eval script knows as ``$SWE_FILES``. ``staged`` is laid
    like ``overlay``, but just before the tests start, after all that the eval script does. ``results`` are brought back
    after the tests. ``places``: where the tree may stand; of several the first that is a repository counts.
    """

    places: tuple[str, ...] = ("/testbed",)
    prepare: str = ""
    begin: str = ""
    overlay: Mapping[str, bytes] = field(default_factory=dict)
    tests_patch: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    staged: Mapping[str, bytes] = field(default_factory=dict)
    results: tuple[ResultFiles, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One row of a family that evaluates a patch.

    ``script`` is bash, run in the work tree, with the two official marker lines around the test command: see
    `pytest_swe.evaluation.script`. ``parser`` names the reader (`pytest_swe.logs.runners`) of what it prints,
    ``file_parser`` that of the result files, which count alone when there are any. ``hidden`` is a diff that names the
    hidden tests where ``around`` does not. ``timeout`` in seconds, ``memory_mb`` in MiB. ``extra`` is for the family.
    """

    instance_id: str
    image: str
    script: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...] = ()
    parser: str = ""
    file_parser: str = ""
    around: Around = field(default_factory=Around)
    hidden: bytes = b""
    gold: bytes | None = None
    repo: str = ""
    timeout: float = 1800.0
    env: Mapping[str, str] = field(default_factory=dict)
    user: str = "root"
    capabilities: tuple[str, ...] = ()
    cpus: float | None = None
    memory_mb: int | None = None
    tree: Tree | None = None
    extra: object = None

    @property
    def required(self) -> tuple[str, ...]:
        return self.fail_to_pass + self.pass_to_pass
