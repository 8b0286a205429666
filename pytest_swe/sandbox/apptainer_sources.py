"""What apptainer can make images from on this host, and what it is to say to registries."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_swe.errors import DiskFull
from pytest_swe.sandbox.apptainer_build import SILENCE
from pytest_swe.sandbox.apptainer_program import SOON
from pytest_swe.sandbox.images.base import PullFailed
from pytest_swe.sandbox.images.reference import DOCKER_HUB


@dataclass(frozen=True, slots=True)
class Beside:
    """What an image can be made from on this host: an archive, or where that is None the Docker engine.

    ``alone``: an archive of one image is that image, whatever name it has in there.
    """

    id: str
    archive: Path | None = None
    alone: bool = True


def authfile() -> Path | None:
    """The user's credentials for registries, in Docker's format: apptainer's own, else Docker's."""
    own = Path(os.environ.get("APPTAINER_CONFIGDIR") or os.path.expanduser("~/.apptainer"), "docker-config.json")
    dockers = Path(os.environ.get("DOCKER_CONFIG") or os.path.expanduser("~/.docker"), "config.json")
    return next((path for path in (own, dockers) if path.is_file()), None)


def login_of(registry: str) -> Mapping[str, str]:
    key = "https://index.docker.io/v1/" if registry == DOCKER_HUB else registry
    with suppress(OSError, ValueError, KeyError, TypeError):
        path = authfile()
        auth = json.loads(path.read_bytes())["auths"][key]["auth"] if path else ""
        name, _, password = base64.b64decode(auth).decode().partition(":")
        return {"username": name, "password": password} if name else {}
    return {}


def docker(*arguments: str) -> str:
    """What the docker command says; empty where there is none, or it fails."""
    program = shutil.which("docker")
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SOON
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else done.stdout.strip()


def saved_by_docker(name: str, target: Path) -> None:
    """An archive of one image of the Docker engine. Raises PullFailed, DiskFull."""
    argv = ["docker", "save", "--output", str(target), name]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SILENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PullFailed(f"docker save: {error}") from error
    if "no space left" in done.stderr:
        raise DiskFull(f"no space left to save {name}", hint=f"free space at {target.parent.parent}")
    if done.returncode:
        raise PullFailed(" ".join(done.stderr.split())[:400])
