"""Who can run an engine without being root, and what that needs of this host."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
from pathlib import Path

#: Programs without which no engine runs rootless. https://docs.docker.com/engine/security/rootless/
NEEDED = ("newuidmap", "rootlesskit", "slirp4netns", "busybox", "setpriv", "unshare", "podman")

#: Where Debian keeps Docker's own script to start rootless.
DEBIAN = "/usr/share/docker.io/contrib/dockerd-rootless.sh"


def why_no_rootless() -> str:
    """What rootless engines lack here; empty when they can run."""
    lacking = [program for program in NEEDED if not shutil.which(program)]
    if docker_script() is None:
        lacking.append("dockerd-rootless.sh")
    if lacking:
        return f"rootless engines need {', '.join(lacking)}"
    return "" if ordinary_user() else "no ordinary user has ranges in /etc/subuid and /etc/subgid (useradd makes one)"


def ordinary_user() -> pwd.struct_passwd | None:
    """This user, or for root the first other one, with ranges in /etc/subuid and /etc/subgid; None without."""
    for user in pwd.getpwall():
        mine = user.pw_uid == os.geteuid() if os.geteuid() else user.pw_uid != 0
        if mine and all(_has_range(Path(f"/etc/sub{kind}"), user) for kind in ("uid", "gid")):
            return user
    return None


def docker_script() -> str | None:
    """Docker's own way to start rootless."""
    return shutil.which("dockerd-rootless.sh") or (DEBIAN if Path(DEBIAN).is_file() else None)


def _has_range(file: Path, user: pwd.struct_passwd) -> bool:
    with contextlib.suppress(OSError):
        owners = {line.partition(":")[0] for line in file.read_text().splitlines()}
        return not owners.isdisjoint({user.pw_name, str(user.pw_uid)})
    return False
