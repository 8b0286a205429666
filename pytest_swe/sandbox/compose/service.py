"""One service of a compose file: checked, and said again in Compose's words with only what was understood."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_swe.model import JSON
from pytest_swe.sandbox.compose import keys
from pytest_swe.sandbox.compose.build import Build
from pytest_swe.sandbox.compose.mounts import Mounts
from pytest_swe.sandbox.compose.places import inside
from pytest_swe.sandbox.compose.spot import Spot, Value
from pytest_swe.sandbox.compose.variables import Variables
from pytest_swe.sandbox.container import CAPABILITIES

_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:us|ms|s|m|h))+")
_CONDITIONS = frozenset({"service_started", "service_healthy", "service_completed_successfully"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What a service is to be. ``command`` and ``entrypoint`` are None where the image's own is meant.

    ``capabilities`` are those that root in it has. ``memory`` is in bytes. ``passed`` are further keys for Compose.
    """

    name: str
    image: str = ""
    build: Build | None = None
    command: tuple[str, ...] | None = None
    entrypoint: tuple[str, ...] | None = None
    user: str = ""
    capabilities: frozenset[str] = frozenset(CAPABILITIES)
    memory: int | None = None
    cpus: float | None = None
    pids: int | None = None
    platform: str | None = None
    passed: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What of the rest of the file a service may name."""

    directory: Path
    variables: Variables
    services: frozenset[str]
    networks: frozenset[str]
    configs: frozenset[str]
    secrets: frozenset[str]
    mounts: Mounts


def service_of(name: str, value: Value, spot: Spot, scope: Scope) -> Service:
    """Raises Unsupported for what no service gets, RowInvalid for what cannot be understood."""
    raw = spot.mapping(value)
    spot.only(raw, keys.SERVICE, keys.SERVICE_REFUSED)
    _fixed(raw, spot)
    platform = (spot / "platform").text(raw["platform"]) if "platform" in raw else None
    return Service(
        name=name,
        image=(spot / "image").text(raw["image"]) if "image" in raw else "",
        build=_build(raw["build"], spot / "build", scope, platform) if raw.get("build") is not None else None,
        command=_words(raw.get("command"), spot / "command"),
        entrypoint=_words(raw.get("entrypoint"), spot / "entrypoint"),
        user=(spot / "user").text(raw["user"]) if "user" in raw else "",
        capabilities=_capabilities(raw, spot),
        memory=(spot / "mem_limit").size(raw["mem_limit"]) if "mem_limit" in raw else None,
        cpus=(spot / "cpus").number(raw["cpus"]) if "cpus" in raw else None,
        pids=(spot / "pids_limit").whole(raw["pids_limit"]) if "pids_limit" in raw else None,
        platform=platform,
        passed={**_plain(raw, spot), **_files(raw, spot, scope), **_relations(raw, spot, scope)},
    )


def _fixed(raw: Mapping[str, Value], spot: Spot) -> None:
    """Keys that may be there with one meaning only."""
    if "restart" in raw and raw["restart"] not in ("no", "false"):
        raise (spot / "restart").refused("a service that ends has ended")
    for option in (spot / "security_opt").texts(raw.get("security_opt") or []):
        if option.replace("=", ":") not in ("no-new-privileges", "no-new-privileges:true"):
            raise (spot / "security_opt").refused(f"{option}: the only one is no-new-privileges, which all have")


def _words(value: Value, spot: Spot) -> tuple[str, ...] | None:
    """A command: a list as it is, a text split as a shell would; no shell runs it."""
    if value is None:
        return None
    if not isinstance(value, str):
        return tuple(spot.texts(value))
    try:
        return tuple(shlex.split(value))
    except ValueError as error:
        raise spot.invalid(f"cannot be split into words: {error}") from error


def _build(value: Value, spot: Spot, scope: Scope, platform: str | None) -> Build:
    raw: dict[str, Value] = {"context": value} if isinstance(value, str) else spot.mapping(value)
    spot.only(raw, keys.BUILD, keys.BUILD_REFUSED)
    context = (spot / "context").text(raw.get("context", "."))
    directory = inside(scope.directory, context, spot / "context")
    if not directory.is_dir():
        raise (spot / "context").invalid(f"{context} is no directory")
    dockerfile = (spot / "dockerfile").text(raw.get("dockerfile", "Dockerfile"))
    file = inside(directory, dockerfile, spot / "dockerfile")
    return Build(
        directory=directory,
        dockerfile=str(file.relative_to(directory)),
        target=(spot / "target").text(raw["target"]) if "target" in raw else "",
        arguments={key: text for key, text in pairs(raw.get("args"), spot / "args", scope).items() if text is not None},
        platform=platform,
    )


def pairs(value: Value, spot: Spot, scope: Scope) -> dict[str, str | None]:
    """Names and values, of a mapping or a list of ``NAME=VALUE``; a bare name has the caller's value, or None."""
    if isinstance(value, list):
        listed = [text.partition("=") for text in spot.texts(value)]
        found: dict[str, Value] = {name: text if equals else None for name, equals, text in listed}
    else:
        found = spot.mapping(value)
    made: dict[str, str | None] = {}
    for name, text in found.items():
        place = spot / name
        made[name] = scope.variables.named(name, place) if text is None else place.text(text)
    return made


def _capabilities(raw: Mapping[str, Value], spot: Spot) -> frozenset[str]:
    added = {_capability(name) for name in (spot / "cap_add").texts(raw.get("cap_add") or [])}
    dropped = {_capability(name) for name in (spot / "cap_drop").texts(raw.get("cap_drop") or [])}
    for name in sorted(added - set(CAPABILITIES)):
        raise (spot / "cap_add").refused(f"{name}: root in a service has {', '.join(CAPABILITIES)}")
    return frozenset(added if "ALL" in dropped else (set(CAPABILITIES) | added) - dropped)


def _capability(name: str) -> str:
    return name.upper().removeprefix("CAP_")


def _plain(raw: Mapping[str, Value], spot: Spot) -> dict[str, JSON]:
    """What is passed on as it is, once it has its type."""
    passed: dict[str, JSON] = {}
    for key in ("read_only", "stdin_open", "tty"):
        if key in raw:
            passed[key] = (spot / key).flag(raw[key])
    for key in ("hostname", "working_dir"):
        if key in raw:
            passed[key] = (spot / key).text(raw[key])
    if "shm_size" in raw:
        passed["shm_size"] = (spot / "shm_size").size(raw["shm_size"])
    if "healthcheck" in raw:
        passed["healthcheck"] = _healthcheck(raw["healthcheck"], spot / "healthcheck")
    if "ulimits" in raw:
        passed["ulimits"] = _ulimits(raw["ulimits"], spot / "ulimits")
    return passed


def _healthcheck(value: Value, spot: Spot) -> dict[str, JSON]:
    raw = spot.mapping(value)
    spot.only(raw, keys.HEALTHCHECK, {})
    made: dict[str, JSON] = {}
    if "test" in raw:
        test = raw["test"]
        made["test"] = ["CMD-SHELL", test] if isinstance(test, str) else [*(spot / "test").texts(test)]
    if "disable" in raw:
        made["disable"] = (spot / "disable").flag(raw["disable"])
    if "retries" in raw:
        made["retries"] = (spot / "retries").whole(raw["retries"])
    # start_interval needs an engine of version 25, and only makes a start faster.
    for key in ("interval", "timeout", "start_period"):
        if key in raw:
            text = (spot / key).text(raw[key])
            if _DURATION.fullmatch(text) is None:
                raise (spot / key).invalid(f"expected a time such as 1m30s, found {text!r}")
            made[key] = text
    return made


def _ulimits(value: Value, spot: Spot) -> dict[str, JSON]:
    made: dict[str, JSON] = {}
    for name, limit in spot.mapping(value).items():
        place = spot / name
        if name not in keys.ULIMITS:
            raise place.refused(f"those that can be set are {', '.join(keys.ULIMITS)}")
        both = {"soft": limit, "hard": limit} if isinstance(limit, str) else place.mapping(limit)
        place.only(both, {"soft", "hard"}, {})
        numbers = {key: (place / key).whole(text) for key, text in both.items()}
        if any(number > keys.ULIMITS[name] for number in numbers.values()):
            raise place.refused(f"at most {keys.ULIMITS[name]}")
        made[name] = {**numbers}
    return made


def _files(raw: Mapping[str, Value], spot: Spot, scope: Scope) -> dict[str, JSON]:
    """Variables and mounts."""
    passed: dict[str, JSON] = {}
    if "environment" in raw:
        passed["environment"] = {
            name: text
            for name, text in pairs(raw["environment"], spot / "environment", scope).items()
            if text is not None
        }
    if "env_file" in raw:
        passed["env_file"] = _env_files(raw["env_file"], spot / "env_file", scope.directory)
    for key, one in (("volumes", scope.mounts.volume), ("tmpfs", scope.mounts.tmpfs)):
        if raw.get(key) is not None:
            value = raw[key]
            entries = value if isinstance(value, list) else [value]
            passed[key] = [one(entry, spot / key / number) for number, entry in enumerate(entries)]
    for key, known in (("configs", scope.configs), ("secrets", scope.secrets)):
        if raw.get(key) is not None:
            passed[key] = _file_mounts(raw[key], spot / key, known)
    return passed


def _env_files(value: Value, spot: Spot, directory: Path) -> list[JSON]:
    made: list[JSON] = []
    for number, entry in enumerate(value if isinstance(value, list) else [value]):
        place = spot / number
        raw: dict[str, Value] = {"path": entry} if isinstance(entry, str) else place.mapping(entry)
        place.only(raw, keys.ENV_FILE, {})
        made.append(str(inside(directory, place.text(raw.get("path")), place)))
    return made


def _file_mounts(value: Value, spot: Spot, known: frozenset[str]) -> list[JSON]:
    made: list[JSON] = []
    if not isinstance(value, list):
        raise spot.invalid("expected a list")
    for number, entry in enumerate(value):
        place = spot / number
        raw: dict[str, Value] = {"source": entry} if isinstance(entry, str) else place.mapping(entry)
        place.only(raw, keys.FILE_MOUNT, {})
        mount: dict[str, JSON] = {key: (place / key).text(text) for key, text in raw.items() if key != "mode"}
        if "mode" in raw:
            mount["mode"] = _mode((place / "mode").text(raw["mode"]), place / "mode")
        if mount.get("source") not in known:
            raise place.invalid(f"nothing of the name {mount.get('source')!r} at the top of the file")
        made.append(mount)
    return made


def _mode(text: str, spot: Spot) -> int:
    if re.fullmatch(r"(?:0o?)?[0-7]{3}", text) is None:
        raise spot.invalid(f"expected a mode such as 0440, found {text!r}")
    return int(text[-3:], 8)


def _relations(raw: Mapping[str, Value], spot: Spot, scope: Scope) -> dict[str, JSON]:
    """What connects it with other services."""
    passed: dict[str, JSON] = {}
    if raw.get("depends_on") is not None:
        passed["depends_on"] = _dependencies(raw["depends_on"], spot / "depends_on", scope.services)
    if "network_mode" in raw:
        passed["network_mode"] = _network_mode((spot / "network_mode").text(raw["network_mode"]), spot, scope)
    if raw.get("networks") is not None:
        if "network_mode" in raw:
            raise (spot / "networks").invalid("networks and network_mode exclude each other")
        passed["networks"] = _networks(raw["networks"], spot / "networks", scope.networks)
    return passed


def _dependencies(value: Value, spot: Spot, services: frozenset[str]) -> dict[str, JSON]:
    found: dict[str, Value] = dict.fromkeys(spot.texts(value)) if isinstance(value, list) else spot.mapping(value)
    made: dict[str, JSON] = {}
    for name, how in found.items():
        place = spot / name
        raw = place.mapping(how)
        place.only(raw, keys.DEPENDENCY, {})
        condition = (place / "condition").text(raw.get("condition", "service_started"))
        if condition not in _CONDITIONS:
            raise (place / "condition").invalid(f"expected one of {', '.join(sorted(_CONDITIONS))}")
        if name not in services:
            raise place.invalid(f"there is no service {name}", hint=f"services are {', '.join(sorted(services))}")
        made[name] = {"condition": condition}
    return made


def _network_mode(mode: str, spot: Spot, scope: Scope) -> str:
    kind, _, other = mode.partition(":")
    if mode == "none" or (kind == "service" and other in scope.services):
        return mode
    raise (spot / "network_mode").refused(f"{mode}: it may be none, or service: and another service of the file")


def _networks(value: Value, spot: Spot, known: frozenset[str]) -> dict[str, JSON]:
    found: dict[str, Value] = dict.fromkeys(spot.texts(value)) if isinstance(value, list) else spot.mapping(value)
    made: dict[str, JSON] = {}
    for name, how in found.items():
        place = spot / name
        raw = place.mapping(how)
        place.only(raw, keys.ATTACHMENT, keys.ATTACHMENT_REFUSED)
        if name not in known:
            raise place.invalid(f"no network {name!r} in networks:")
        made[name] = {"aliases": [*(place / "aliases").texts(raw.get("aliases") or [])]}
    return made
