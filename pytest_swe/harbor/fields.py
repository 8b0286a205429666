"""The types of single fields of ``task.toml``, as Harbor 0.25.0 checks them. Pure; each raises ValueError."""

from __future__ import annotations

import ipaddress
import posixpath
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9][A-Za-z0-9_.-]*")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG])B?", re.IGNORECASE)
_MIB = {"K": 1 / 1024, "M": 1.0, "G": 1024.0}
_TOPOLOGY = re.compile(r"[1-9]\d*(x[1-9]\d*){1,2}")
#: Names that Windows keeps for devices; a directory called so cannot be unpacked there.
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})
_UNPORTABLE = frozenset('<>:"/\\|?*')
_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_CREDENTIAL = re.compile(r"authorization|cookie|token|secret|passw|credential|api-?_?key|(^|[-_])(auth|key)([-_]|$)")


def _no_truth(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError(f"expected a number, got {str(value).lower()}")
    return value


def host(value: object) -> str:
    """A host that an allow-list may name, in lower case: a name, ``*.`` and a name, an address, or a strict CIDR."""
    text = str(value).lower() if isinstance(value, str) else ""
    name = text.removeprefix("*.")
    if text and len(name) <= 253 and all(_LABEL.fullmatch(label) for label in name.split(".")):
        return text
    try:
        ipaddress.ip_network(text, strict=True)
    except ValueError:
        raise ValueError(
            f"expected a host name, *.name, an address or a network without scheme, port and path, got {str(value)!r}"
        ) from None
    return text


def portable_name(value: object) -> str:
    """A step's name: a directory that every file system can have, 255 bytes at most."""
    if not isinstance(value, str) or not value:
        raise ValueError("expected a name for a directory")
    bad = not value.isprintable() or bool(_UNPORTABLE & set(value)) or value.strip(" ") != value
    if bad or value.endswith(".") or value.partition(".")[0].casefold() in _DEVICES:
        raise ValueError(f"expected a name that a directory can have on every system, got {value[:80]!r}")
    if len(value.encode("utf-8", "surrogatepass")) > 255:
        raise ValueError("expected at most 255 bytes")
    return value


def same_name(names: Iterable[str]) -> str:
    """A name that repeats an earlier one where case and Unicode form do not count; empty when all differ."""
    seen: set[str] = set()
    for name in names:
        key = unicodedata.normalize("NFC", name).casefold()
        if key in seen:
            return name
        seen.add(key)
    return ""


def package_name(value: object) -> str:
    """``org/name`` of a published task."""
    if not isinstance(value, str) or not _PACKAGE.fullmatch(value) or ".." in value:
        raise ValueError(f"expected org/name in letters, digits, '_', '.' and '-', got {str(value)[:80]!r}")
    return value


def mebibytes(text: str) -> int:
    """``2G``, ``512M`` or ``65536K`` in MiB, rounded up."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"expected a size such as '2G' or '512M', got {text[:80]!r}")
    return max(1, -int(-(float(found[1]) * _MIB[found[2].upper()]) // 1))


def source_path(value: object) -> str:
    """A path in a container, without ``..``."""
    if not isinstance(value, str) or not value.strip() or "\0" in value or ".." in value.split("/"):
        raise ValueError(f"expected a path in the container without '..', got {str(value)[:80]!r}")
    if not value.strip("/."):
        raise ValueError(f"expected a file or directory, got {value!r}, which is everything")
    return value


def destination_path(value: object) -> str:
    """A relative path below the artifacts of a trial that is not the manifest's."""
    text = value if isinstance(value, str) else ""
    plain = posixpath.normpath(text) if text else "."
    if (
        plain in (".", "manifest.json")
        or "\\" in text
        or "\0" in text
        or text.startswith("/")
        or ".." in text.split("/")
    ):
        raise ValueError(
            f"expected a relative path without '..' and '\\' that is not manifest.json, got {str(value)[:80]!r}"
        )
    return plain


def no_credentials(headers: Mapping[str, str]) -> None:
    """A header that names a credential must be ``${VAR}``, without a default: a task is no place for secrets."""
    for name, value in headers.items():
        if _CREDENTIAL.search(name.lower()) and not _REFERENCE.fullmatch(value):
            raise ValueError(f"the header {name!r} carries a credential: write ${{NAME}}, without a default")


def topology(value: object) -> str:
    """The shape of a TPU slice: ``2x4`` or ``2x2x1``."""
    if not isinstance(value, str) or not _TOPOLOGY.fullmatch(value):
        raise ValueError(f"expected a topology such as '2x4', got {str(value)[:80]!r}")
    return value


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _transport(value: object) -> object:
    return "streamable-http" if value == "http" else value


#: Seconds that an engine, a shell and a clock still understand.
_LONGEST = 30 * 86400
#: A limit: more than nothing, at most 30 days.
Seconds = Annotated[float, Field(gt=0, le=_LONGEST, allow_inf_nan=False), BeforeValidator(_no_truth)]
#: A pause or a grace: none, or as long.
Pause = Annotated[float, Field(ge=0, le=_LONGEST, allow_inf_nan=False), BeforeValidator(_no_truth)]
Number = Annotated[float, Field(allow_inf_nan=False), BeforeValidator(_no_truth)]
Count = Annotated[int, Field(ge=0), BeforeValidator(_no_truth)]
Some = Annotated[int, Field(gt=0), BeforeValidator(_no_truth)]
Processors = Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(_no_truth)]
Command = Annotated[str, Field(min_length=1)]
Host = Annotated[str, BeforeValidator(host)]
StepName = Annotated[str, BeforeValidator(portable_name)]
PackageName = Annotated[str, BeforeValidator(package_name)]
Source = Annotated[str, BeforeValidator(source_path)]
Destination = Annotated[str, BeforeValidator(destination_path)]
Topology = Annotated[str, BeforeValidator(topology)]
LowerCase = BeforeValidator(_lower)
TransportAlias = BeforeValidator(_transport)
