"""First processes of services: what they were to run, and the end of it at the deadline, whoever else is dead."""

from __future__ import annotations

import math

from pytest_swe.sandbox.compose.service import Service
from pytest_swe.sandbox.container import IDLE
from pytest_swe.sandbox.docker_config import idle
from pytest_swe.sandbox.docker_images import ImageConfig

#: A sidecar's: runs "$@" and ends with it, or after $1 seconds; then the kernel ends all that is left. Standard input
#: goes by the third file: a shell takes it away from what it puts in the background.
SIDECAR = """\
seconds=$1; shift
trap 'exit 0' ALRM
{ sleep "$seconds"; kill -ALRM 1; } &
exec 3<&0
(exec "$@" <&3 3<&-) &
child=$!
while :; do
    wait "$child"; status=$?
    kill -0 "$child" 2>/dev/null || exit "$status"
done
"""

#: Main's with a command of its own: that is started, and main stands until $1 seconds are over, also when it ends or
#: something inside kills it.
MAIN_COMMAND = """\
idle=$1 seconds=$2; shift 2
exec 3<&0
(exec "$@" <&3 3<&-) &
exec /bin/sh -c 'eval "$1"' idle "$idle" "$seconds" 3<&-
"""


def sidecar(service: Service, image: ImageConfig, seconds: float) -> list[str] | None:
    """Its entrypoint, with what it runs as arguments; None when it has nothing to run."""
    words = _words(service, image)
    if not words:
        return None
    return ["/bin/sh", "-c", SIDECAR, "guard", _whole(seconds), *words]


def main(service: Service, image: ImageConfig, seconds: float) -> list[str]:
    """Entrypoint of main: the image's own is given the idle command, unless the file gives main a command."""
    entrypoint = image.entrypoint if service.entrypoint is None else service.entrypoint
    if not service.command:
        return [*entrypoint, *idle(seconds)]
    return ["/bin/sh", "-c", MAIN_COMMAND, "main", IDLE, _whole(seconds), *entrypoint, *service.command]


def _words(service: Service, image: ImageConfig) -> list[str]:
    """As the engine puts them together: an entrypoint of the file's own takes the image's command away.

    https://github.com/moby/moby/blob/v28.2.2/daemon/commit.go, `merge`
    """
    command = service.command
    if command is None:
        command = () if service.entrypoint else image.command
    entrypoint = image.entrypoint if service.entrypoint is None else service.entrypoint
    return [*entrypoint, *command]


def _whole(seconds: float) -> str:
    return str(math.ceil(seconds))
