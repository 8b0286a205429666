"""A task's compose file, checked whole: what is to be built and started, once all of it was understood."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_swe.model import JSON
from pytest_swe.sandbox.compose import keys
from pytest_swe.sandbox.compose.build import Build
from pytest_swe.sandbox.compose.mounts import Mounts
from pytest_swe.sandbox.compose.places import inside
from pytest_swe.sandbox.compose.reading import read_compose
from pytest_swe.sandbox.compose.service import Scope, Service, service_of
from pytest_swe.sandbox.compose.spot import Spot, Value
from pytest_swe.sandbox.compose.variables import Variables
from pytest_swe.sandbox.group import GroupSpec

MAIN = "main"

#: MiB for a sidecar that names no limit, and the most that one may name where main has less.
SIDECAR_MB = 2048

#: A name of a service, network, volume, config or secret, as Compose has it.
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What was understood. ``services`` has ``main`` always; ``files`` are Compose's ``configs`` and ``secrets``.

    ``networks`` are names: all alike, but for ``internal`` ones, that nothing leaves.
    """

    services: Mapping[str, Service]
    networks: frozenset[str] = frozenset()
    internal: frozenset[str] = frozenset()
    volumes: frozenset[str] = frozenset()
    files: Mapping[str, dict[str, JSON]] = field(default_factory=dict)


def plan_of(spec: GroupSpec, *, is_here: bool = True, unset_may_be: bool = False) -> Plan:
    """The plan of a group. Reads the task's files; starts, builds and asks nothing.

    ``is_here``: the engine sees this host's files. ``unset_may_be``: variables of environments may have no value yet.
    Raises Unsupported for what a task may not have, RowInvalid for what cannot be understood.
    """
    default = _default_build(spec)
    if spec.compose is None:
        return Plan(services={MAIN: _main(Service(name=MAIN), spec, default, Spot(spec.directory))})
    root = Spot(spec.compose)
    variables = Variables(
        values={**spec.variables, **_own_variables(spec, default)}, secrets=spec.secrets, missing_may_be=unset_may_be
    )
    raw = read_compose(spec.compose)
    root.only(raw, keys.TOP, keys.TOP_REFUSED)
    known = {key: variables.everywhere(value, root / key) for key, value in raw.items() if key in keys.TOP}
    networks = _networks(known.get("networks"), root / "networks")
    volumes = _volumes(known.get("volumes"), root / "volumes")
    services = _services(known.get("services"), root / "services")
    files = {key: _files(known.get(key), root / key, spec.directory, is_here) for key in ("configs", "secrets")}
    scope = Scope(
        directory=spec.directory,
        variables=variables,
        services=frozenset(services),
        networks=frozenset({"default", *networks}),
        configs=frozenset(files["configs"]),
        secrets=frozenset(files["secrets"]),
        mounts=Mounts(spec.directory, volumes, is_here),
    )
    made = {name: service_of(name, value, root / "services" / name, scope) for name, value in services.items()}
    made[MAIN] = _main(made[MAIN], spec, default, root / "services" / MAIN)
    for name in made.keys() - {MAIN}:
        made[name] = _sidecar(made[name], spec, default, root / "services" / name)
    internal = frozenset(name for name, is_internal in networks.items() if is_internal)
    return Plan(services=made, networks=frozenset(networks), internal=internal, volumes=volumes, files=files)


def _default_build(spec: GroupSpec) -> Build | None:
    """What ``main`` is built from, where its compose file says nothing else."""
    has = (spec.directory / "Dockerfile").is_file()
    return Build(directory=spec.directory.resolve(), platform=spec.main.platform) if has else None


def _own_variables(spec: GroupSpec, default: Build | None) -> dict[str, str]:
    """Those that a task may count on, under Harbor's names; they win over all others."""
    found = {"CONTEXT_DIR": str(spec.directory.resolve())}
    if default is not None:
        found["MAIN_IMAGE_NAME"] = default.name()
    if spec.main.image:
        found["PREBUILT_IMAGE_NAME"] = spec.main.image
        found.setdefault("MAIN_IMAGE_NAME", spec.main.image)
    if spec.main.cpus is not None:
        found["CPUS"] = f"{spec.main.cpus:g}"
    if spec.main.memory_mb is not None:
        found["MEMORY"] = f"{spec.main.memory_mb}M"
    return found


def _services(value: Value, spot: Spot) -> dict[str, Value]:
    found = spot.mapping(value)
    for name in found:
        _named(name, spot / name)
    return {MAIN: None, **found}


def _main(service: Service, spec: GroupSpec, default: Build | None, spot: Spot) -> Service:
    """With its image settled: a prebuilt one unless it is to be built all the same, else what can be built."""
    build = service.build or default
    image = service.image or spec.main.image
    if image and (build is None or (spec.main.image and not spec.force_build)):
        return replace(service, image=image, build=None)
    if build is None:
        raise spot.invalid(
            "main has neither an image nor a Dockerfile", hint="a Dockerfile is expected beside the file"
        )
    return replace(service, image="", build=build)


def _sidecar(service: Service, spec: GroupSpec, default: Build | None, spot: Spot) -> Service:
    most = max(spec.main.memory_mb or 0, SIDECAR_MB)
    if (service.memory or 0) > most * 1024 * 1024:
        raise (spot / "mem_limit").refused(f"a sidecar has at most {most} MiB: as much as main, or {SIDECAR_MB}")
    if service.build is not None:
        return replace(service, image="")
    if not service.image:
        raise spot.invalid("it has neither image nor build")
    if default is not None and service.image == default.name():
        return replace(service, image="", build=default)
    return service


def _networks(value: Value, spot: Spot) -> dict[str, bool]:
    """Names, and whether the file has it internal."""
    made: dict[str, bool] = {}
    for name, how in spot.mapping(value).items():
        place = spot / name
        _named(name, place)
        raw = place.mapping(how)
        place.only(raw, keys.NETWORK, keys.NETWORK_REFUSED)
        if raw.get("driver", "bridge") not in ("bridge", "default"):
            raise (place / "driver").refused(f"{raw['driver']}: networks are bridges")
        made[name] = "internal" in raw and (place / "internal").flag(raw["internal"])
    return made


def _volumes(value: Value, spot: Spot) -> frozenset[str]:
    for name, how in spot.mapping(value).items():
        place = spot / name
        _named(name, place)
        raw = place.mapping(how)
        place.only(raw, keys.VOLUME, keys.VOLUME_REFUSED)
        if raw.get("driver", "local") not in ("local", "default"):
            raise (place / "driver").refused(f"{raw['driver']}: volumes are the engine's own")
    return frozenset(spot.mapping(value))


def _files(value: Value, spot: Spot, directory: Path, is_here: bool) -> dict[str, JSON]:
    """Configs or secrets of the file: each a file of the task, or its text."""
    made: dict[str, JSON] = {}
    for name, how in spot.mapping(value).items():
        place = spot / name
        _named(name, place)
        raw = place.mapping(how)
        place.only(raw, keys.FILE, keys.FILE_REFUSED)
        if "file" in raw:
            if not is_here:
                raise (place / "file").refused("the engine is on another host, and does not see the task's files")
            made[name] = {"file": str(inside(directory, (place / "file").text(raw["file"]), place / "file"))}
        elif "content" in raw and spot.path[-1] == "configs":
            made[name] = {"content": (place / "content").text(raw["content"])}
        else:
            raise place.invalid("expected file: and a file of the task")
    return made


def _named(name: str, spot: Spot) -> None:
    if _NAME.fullmatch(name) is None:
        raise spot.invalid("a name is of letters, digits, dots, dashes and underscores")
