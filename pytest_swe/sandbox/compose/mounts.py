"""What a service may see of files: named volumes of its task, directories of the task (read-only), memory."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from pytest_swe.model import JSON
from pytest_swe.sandbox.compose import keys
from pytest_swe.sandbox.compose.places import inside
from pytest_swe.sandbox.compose.spot import Spot, Value

_READ_ONLY = "a directory of the task is mounted read-only only"
_HINT = "write :ro, or read_only: true; for a place to write use a named volume"

#: Options of a file system in memory that change nothing outside of it.
_TMPFS = re.compile(r"(?:size|mode|uid|gid)=[0-9a-zA-Z]+|noexec|nosuid|nodev|rw|ro")


@dataclass(frozen=True, slots=True)
class Mounts:
    """Checks mounts of the services of one file. ``volumes`` are those that the file declares.

    ``is_here``: whether the engine sees this host's files; without it nothing of the task can be mounted.
    """

    directory: Path
    volumes: Collection[str]
    is_here: bool = True

    def volume(self, value: Value, spot: Spot) -> dict[str, JSON]:
        """One entry of ``volumes``, in its long form."""
        if isinstance(value, str):
            return self._short(value, spot)
        long = spot.mapping(value)
        spot.only(long, keys.MOUNT, keys.MOUNT_REFUSED)
        kind = spot.text(long.get("type"))
        source, target = long.get("source"), _absolute(spot / "target", long.get("target"))
        read_only = "read_only" in long and (spot / "read_only").flag(long["read_only"])
        if kind == "tmpfs":
            return self._memory(target, long.get("tmpfs"), spot / "tmpfs")
        (spot / "tmpfs").mapping(long.get("tmpfs"))
        (spot / "bind").only((spot / "bind").mapping(long.get("bind")), {"create_host_path"}, _BIND_REFUSED)
        (spot / "volume").only((spot / "volume").mapping(long.get("volume")), {"nocopy"}, _VOLUME_REFUSED)
        if kind == "bind":
            return self._bind((spot / "source").text(source), target, read_only, spot)
        if kind == "volume":
            return self._named("" if source is None else (spot / "source").text(source), target, read_only, spot)
        raise (spot / "type").refused(f"{kind}: mounts are of type volume, bind or tmpfs")

    def tmpfs(self, value: Value, spot: Spot) -> str:
        """One entry of ``tmpfs``: a path, and options after a colon."""
        path, _, options = spot.text(value).partition(":")
        _absolute(spot, path)
        for option in filter(None, options.split(",")):
            if _TMPFS.fullmatch(option) is None:
                raise spot.refused(f"{option}: the options are size, mode, uid, gid, noexec, nosuid, nodev")
        return f"{path}:{options}" if options else path

    def _short(self, text: str, spot: Spot) -> dict[str, JSON]:
        source, target, *modes = [*text.split(":"), ""] if ":" in text else ["", text]
        if len(modes) > 2:
            raise spot.invalid(f"{text!r} is no volume", hint="SOURCE:TARGET or SOURCE:TARGET:ro")
        given = {mode for mode in modes[0].split(",") if mode} if modes else set()
        if given - {"ro", "rw", "z", "Z", "nocopy"}:
            raise spot.refused(f"{modes[0]}: the modes are ro, rw and nocopy")
        _absolute(spot, target)
        if source.startswith((".", "/", "~")):
            return self._bind(source, target, "ro" in given, spot)
        return self._named(source, target, "ro" in given, spot)

    def _bind(self, source: str, target: str, read_only: bool, spot: Spot) -> dict[str, JSON]:
        found = inside(self.directory, source, spot)
        if not read_only:
            raise spot.refused(_READ_ONLY, hint=_HINT)
        if not self.is_here:
            raise spot.refused("the engine is on another host, and does not see the task's files")
        return {"type": "bind", "source": str(found), "target": target, "read_only": True}

    def _named(self, source: str, target: str, read_only: bool, spot: Spot) -> dict[str, JSON]:
        if source and source not in self.volumes:
            raise spot.invalid(f"no volume {source!r} in volumes:")
        mount: dict[str, JSON] = {"type": "volume", "target": target, "read_only": read_only}
        return {**mount, "source": source} if source else mount

    def _memory(self, target: str, options: Value, spot: Spot) -> dict[str, JSON]:
        found = spot.mapping(options)
        spot.only(found, {"size", "mode"}, {})
        mount: dict[str, JSON] = {"type": "tmpfs", "target": target}
        return {**mount, "tmpfs": {"size": (spot / "size").size(found["size"])}} if "size" in found else mount


_BIND_REFUSED = dict.fromkeys(("propagation", "recursive", "selinux"), "it would reach the host")
_VOLUME_REFUSED = dict.fromkeys(("subpath", "labels"), "volumes are mounted whole")


def _absolute(spot: Spot, value: Value) -> str:
    path = spot.text(value)
    if not path.startswith("/") or path.rstrip("/") == "" or ".." in path.split("/"):
        raise spot.invalid(f"{path!r}: expected an absolute path in the service")
    return path
