"""Kits are made on a host with a network, by the usual clients of the package registries: pip and npm.

A kit is a directory. ``site/`` has Python packages, and ``python`` is a program that runs a module of them with an
interpreter of the sandbox (``python MODULE ARGUMENT...``), without a trace of them in the environment that the agent's
commands see. Each package of npm's is a directory of its name. ``swe-kit.json`` says what it is.
"""

from __future__ import annotations

import difflib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pytest_swe.agent.described import Description, KitPart, described, described_names, directory_of
from pytest_swe.agent.kit import LABEL
from pytest_swe.agent.kit_failures import in_short
from pytest_swe.errors import UsageError
from pytest_swe.sandbox.archive import unpack

#: Seconds for one package with all that it needs.
LONGEST = 1800.0

#: Where images keep interpreters beside PATH.
_PLACES = ("/opt/miniconda3/bin", "/usr/local/bin", "/usr/bin", "/opt/conda/bin")

#: -I: nothing of the image's own packages, of the work tree or of PYTHONPATH stands before the kit's.
_PYTHON = """#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
for python in @NAMES@; do
  command -v "$python" >/dev/null 2>&1 || continue
  exec "$python" -I -c 'import runpy, sys
sys.path.insert(0, sys.argv[1])
sys.argv = sys.argv[2:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)' "$here/site" "$@"
done
echo "this kit is for Python @VERSION@, and the image has none" >&2
exit 127
"""


def kit_named(name: str, directory: Path, *, python: str) -> Path:
    """`make_kit` of an agent by its name. Raises UsageError, with the nearest name for one that is none, and for a
    directory that cannot be written.
    """
    if name not in described_names():
        near = difflib.get_close_matches(name, described_names(), 1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        raise UsageError(f"no agent {name!r} has a kit: {guess}known are {', '.join(described_names())}")
    try:
        return make_kit(name, described(name).description, directory, python=python)
    except OSError as error:
        raise UsageError(f"{error.filename or directory}: {error.strerror or error}") from error


def make_kit(name: str, description: Description, directory: Path, *, python: str) -> Path:
    """Make the kit of an agent in ``directory/name``, which must not be there. ``python``: an interpreter with pip.

    Raises UsageError, also for what pip or npm say.
    """
    part = description.kit
    if part is None:
        raise UsageError(f"agent {name} has no kit: it needs nothing, or brings its own network")
    if (directory / name).exists():
        raise UsageError(f"{directory / name} is there already", hint="remove it, or name another directory")
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=f".{name}-") as making:
        place = Path(making, name)
        place.mkdir()
        _gather(name, part, place, python)
        return place.rename(directory / name)


def _gather(name: str, part: KitPart, place: Path, python: str) -> None:
    label = {"agent": name, "pip": part.pip, "npm": part.npm}
    if part.pip:
        label |= {"python": _python_packages(part.pip, place, python)}
    for package in part.npm:
        _npm_package(package, place, whole=package in part.whole)
    for pattern in part.without:
        for found in place.glob(pattern):
            shutil.rmtree(found) if found.is_dir() else found.unlink()
    (place / LABEL).write_text(json.dumps(label, indent=1) + "\n")


def _python_packages(packages: Sequence[str], place: Path, python: str) -> str:
    version = _run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).strip()
    site = place / "site"
    options = ("--quiet", "--disable-pip-version-check", "--prefer-binary", "--no-compile")
    _run([python, "-m", "pip", "install", *options, "--target", str(site), *packages], version=version)
    # Unchecked: what is uploaded has other times.
    _run([python, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", str(site)], ok=(0, 1))
    names = [f"python{version}", *(f"{directory}/python{version}" for directory in _PLACES)]
    program = place / "python"
    program.write_text(_PYTHON.replace("@NAMES@", " ".join(names)).replace("@VERSION@", version))
    program.chmod(0o755)
    return version


def _npm_package(package: str, place: Path, *, whole: bool) -> None:
    """One package, as ``place/NAME``; ``whole``: with all that it depends on, as ``place/node_modules``."""
    if whole:
        quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--omit=optional", "--loglevel=error")
        _run(["npm", "install", *quiet, "--prefix", str(place), package])
        return
    packed = _run(["npm", "pack", "--loglevel=error", "--pack-destination", str(place), package]).split()[-1]
    with (place / packed).open("rb") as tar, tempfile.TemporaryDirectory(dir=place) as unpacked:
        unpack(tar, Path(unpacked))
        next(Path(unpacked).iterdir()).rename(place / directory_of(package))  # the one directory of such an archive
    (place / packed).unlink()


def _run(argv: Sequence[str], ok: Sequence[int] = (0,), *, version: str = "") -> str:
    """What it prints. Raises UsageError; ``version`` is that of the Python it installs for."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=LONGEST)
    except FileNotFoundError:
        raise UsageError(f"making this kit needs {argv[0]}") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"{_called(argv)}: no end after {LONGEST:.10g} s") from None
    if done.returncode not in ok:
        why, hint = in_short(done.stderr, version)
        raise UsageError(f"{_called(argv)}: {why}", hint=hint)
    return done.stdout


def _called(argv: Sequence[str]) -> str:
    """``pip install``, ``npm pack``: what people know it as."""
    return " ".join(argv[2:4]) if argv[1] == "-m" else f"{Path(argv[0]).name} {argv[1]}"
