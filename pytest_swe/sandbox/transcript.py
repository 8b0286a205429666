"""The file format of a recording: one JSON object a line. A header, then what was asked of each sandbox and answered.

    {"format": 1, "provider": ..., "capabilities": {...}, "kinds": {...}, "values_of": [...]}
    {"sandbox": 0, "ask": {"call": "acquire", ...}, "answer": {...}}
    {"sandbox": 0, "ask": {"call": "exec", "argv": [...], ...}, "answer": {"exit_code": 0, "stdout": "...", ...}}
    {"sandbox": 0, "ask": {...}, "error": {"type": "SandboxLost", "message": "...", "hint": "", "path": ""}}
    {"ask": {"call": "sweep", "labels": {...}}, "answer": 0}

``ask`` is what a replay compares. Bytes are a string when they are UTF-8, else ``{"base64": ...}``; more than a
mebibyte is ``{"zlib": ...}``; those that are only compared are a size and a SHA-256. The lines of a sandbox stand in
the order in which its calls ended. ``after``: how many had ended when this one began, where not all above it had.
"""

from __future__ import annotations

import base64
import hashlib
import io
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, BinaryIO, cast

from pytest_swe import errors
from pytest_swe.errors import SandboxFileError, SweError
from pytest_swe.model import JSON, ExecResult, Network, Reason, SandboxSpec
from pytest_swe.sandbox.base import Capabilities, ImageFacts
from pytest_swe.sandbox.calls import shown_command
from pytest_swe.sandbox.placeholders import Placeholders

FORMAT = 1

#: Bytes from which on an answer is packed, and up to which a tar stays in memory.
LARGE = 1024 * 1024

Ask = dict[str, JSON]


class Asking:
    """What is asked of one sandbox, with placeholders; the same for the recorder and the replay."""

    def __init__(self, kinds: Mapping[str, str], values_of: Iterable[str], spec_env: Mapping[str, str]) -> None:
        self.placeholders = Placeholders(kinds)
        self._values_of = frozenset(values_of)
        self._learn(spec_env)

    def exec(
        self, argv: Sequence[str], cwd: str | None, env: Mapping[str, str] | None, user: str | None, stdin: bytes
    ) -> Ask:
        """A command. Of variables only the names are told, save those whose values may be."""
        env = env or {}
        self._learn(env)
        hide = self.placeholders.hide_text
        return {
            "call": "exec",
            "argv": [hide(word) for word in argv],
            "cwd": cwd and hide(cwd),
            "env": {name: hide(env[name]) if name in self._values_of else None for name in sorted(env)},
            "user": user,
            "stdin": digest(self.placeholders.hide(stdin)) if stdin else None,
        }

    def path(self, call: str, path: str, **facts: JSON) -> Ask:
        """A file operation."""
        return {"call": call, "path": self.placeholders.hide_text(path), **facts}

    def write(self, path: str, data: bytes) -> Ask:
        """A file that is written, as a digest."""
        return self.path("write_file", path, **digest(self.placeholders.hide(data)))

    def upload(self, path: str, tar: IO[bytes]) -> Ask:
        """A tar that is unpacked, as names and digests, read member by member; times do not count.

        What is no tar is its digest. ``tar`` can be sought in, and stands at its beginning again.
        """
        try:
            members: list[JSON] = [
                {name: value for name, value in member.items() if name not in ("mtime", "data")}
                | (digest(self.placeholders.hide(data)) if member["type"] == "file" else {})
                for member, data in members_of(tar, self.placeholders)
            ]
        except tarfile.TarError:
            tar.seek(0)
            return self.path("upload", path, **digest(self.placeholders.hide(tar.read())))
        finally:
            tar.seek(0)
        return self.path("upload", path, members=members)

    def _learn(self, env: Mapping[str, str]) -> None:
        self.placeholders.keep_secret({name: value for name, value in env.items() if name not in self._values_of})


def acquire(spec: SandboxSpec, labels: Mapping[str, str]) -> Ask:
    """A sandbox that is asked for. Of the labels only the instance counts: the others name a run."""
    return {
        "call": "acquire",
        "image": spec.image,
        "workdir": spec.workdir,
        "network": spec.network,
        "commit": spec.tree.commit if spec.tree else None,
        "instance": labels.get("instance"),
    }


def sweep(labels: Mapping[str, str] | None, placeholders: Placeholders) -> Ask:
    """Sandboxes that are removed by their labels; those without an owner where there are none."""
    hidden: JSON = None if labels is None else {name: placeholders.hide_text(labels[name]) for name in sorted(labels)}
    return {"call": "sweep", "labels": hidden}


def shown(ask: Mapping[str, JSON]) -> list[str]:
    """An ``ask`` as lines, for a diff."""
    facts = {name: value for name, value in ask.items() if name not in ("call", "argv", "members")}
    argv, members = ask.get("argv"), ask.get("members")
    if isinstance(argv, list):
        return shown_command([str(word) for word in argv], **facts)
    lines = [" ".join([str(ask["call"]), *(f"{name}={value}" for name, value in facts.items() if value)])]
    return lines + [f"    {member}" for member in members] if isinstance(members, list) else lines


def pack_bytes(data: bytes) -> JSON:
    """Bytes as JSON that can be read where they are text, and not too many."""
    if len(data) > LARGE:
        return {"zlib": base64.b64encode(zlib.compress(data)).decode("ascii")}
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def unpack_bytes(value: JSON) -> bytes:
    """The inverse of `pack_bytes`."""
    if not isinstance(value, dict):
        return str(value).encode("utf-8")
    if "zlib" in value:
        return zlib.decompress(base64.b64decode(str(value["zlib"])))
    return base64.b64decode(str(value["base64"]))


def digest(data: bytes) -> Ask:
    """What is kept of bytes that are only compared."""
    return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


_TYPES = {tarfile.REGTYPE: "file", tarfile.DIRTYPE: "directory", tarfile.SYMTYPE: "symlink", tarfile.LNKTYPE: "link"}


def spooled(tar: BinaryIO) -> BinaryIO:
    """A copy of a stream that can be read twice, on disk if it is large; the caller closes it."""
    copy = tempfile.SpooledTemporaryFile(max_size=LARGE)
    shutil.copyfileobj(tar, copy)
    copy.seek(0)
    return cast(BinaryIO, copy)


def members_of(tar: IO[bytes], placeholders: Placeholders) -> Iterator[tuple[Ask, bytes]]:
    """Every member of a tar as JSON, with its content. Raises tarfile.TarError for what is no tar."""
    with tarfile.open(fileobj=tar, mode="r|") as members:
        for member in members:
            content = members.extractfile(member) if member.isreg() else None
            yield (
                {
                    "name": placeholders.hide_text(member.name),
                    "type": _TYPES.get(member.type, "other"),
                    "mode": f"{member.mode:o}",
                    "mtime": int(member.mtime),
                    "target": placeholders.hide_text(member.linkname) or None,
                },
                content.read() if content else b"",
            )


def pack_tar(tar: bytes, placeholders: Placeholders) -> JSON:
    """A tar member by member, so that placeholders can be longer than what they stand for."""
    members = members_of(io.BytesIO(tar), placeholders)
    return [{**member, "data": pack_bytes(placeholders.hide(data))} for member, data in members]


def unpack_tar(value: JSON, placeholders: Placeholders) -> bytes:
    """The inverse of `pack_tar`."""
    types = {name: kind for kind, name in _TYPES.items()}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for entry in value if isinstance(value, list) else ():
            assert isinstance(entry, dict)
            data = placeholders.show(unpack_bytes(entry["data"]))
            member = tarfile.TarInfo(placeholders.show_text(str(entry["name"])))
            member.type = types.get(str(entry["type"]), tarfile.REGTYPE)
            member.mode, member.mtime = int(str(entry["mode"]), 8), int(str(entry["mtime"]))
            member.linkname = placeholders.show_text(str(entry["target"] or ""))
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def pack_result(result: ExecResult, placeholders: Placeholders) -> Ask:
    """How a command ended."""
    return {
        "exit_code": result.exit_code,
        "stdout": pack_bytes(placeholders.hide(result.stdout)),
        "stderr": pack_bytes(placeholders.hide(result.stderr)),
        "seconds": round(result.seconds, 3),
        "timed_out": result.timed_out,
        "dropped": result.dropped,
        **({"oom_killed": True} if result.oom_killed else {}),
    }


def unpack_result(value: Mapping[str, JSON], argv: tuple[str, ...], placeholders: Placeholders) -> ExecResult:
    """The inverse of `pack_result`, for the command that this run has asked for."""
    exit_code = value["exit_code"]
    return ExecResult(
        argv=argv,
        exit_code=None if exit_code is None else int(str(exit_code)),
        stdout=placeholders.show(unpack_bytes(value["stdout"])),
        stderr=placeholders.show(unpack_bytes(value["stderr"])),
        seconds=float(str(value["seconds"])),
        timed_out=bool(value["timed_out"]),
        dropped=int(str(value["dropped"])),
        oom_killed=bool(value.get("oom_killed")),
    )


def pack_error(error: SweError, placeholders: Placeholders) -> Ask:
    """An exception of the project's tree."""
    return {
        "type": type(error).__name__,
        "message": placeholders.hide_text(str(error.args[0])),
        "hint": error.hint,
        "path": placeholders.hide_text(getattr(error, "path", "")),
        **({"reason": error.reason.value} if error.reason != type(error).reason else {}),
    }


def unpack_error(value: Mapping[str, JSON], placeholders: Placeholders) -> SweError:
    """The inverse of `pack_error`."""
    kind = getattr(errors, str(value["type"]), SweError)
    message = placeholders.show_text(str(value["message"]))
    if kind is SandboxFileError:
        return SandboxFileError(message, path=placeholders.show_text(str(value["path"])))
    assert issubclass(kind, SweError)
    found = kind(message, hint=str(value["hint"]))
    if "reason" in value:
        found.reason = Reason(str(value["reason"]))
    return found


def pack_image(image: ImageFacts) -> JSON:
    """What a sandbox was made of, where its provider tells."""
    return {"digest": image.digest, "seconds": round(image.seconds, 3)} if image.digest else None


def unpack_image(value: JSON) -> ImageFacts:
    """The inverse of `pack_image`."""
    if not isinstance(value, dict):
        return ImageFacts()
    return ImageFacts(str(value["digest"]), float(str(value["seconds"])))


def pack_capabilities(capabilities: Capabilities) -> Ask:
    """What the recorded provider can honour."""
    return {
        name: sorted(value) if isinstance(value, frozenset) else value
        for name, value in ((name, getattr(capabilities, name)) for name in Capabilities.__dataclass_fields__)
    }


def unpack_capabilities(value: Mapping[str, JSON]) -> Capabilities:
    """The inverse of `pack_capabilities`; a field that is not known any more is left out."""
    known = {name: value[name] for name in Capabilities.__dataclass_fields__ if name in value}
    networks = known.pop("networks", ["none", "full"])
    assert isinstance(networks, list)
    return Capabilities(networks=frozenset[Network](networks), **known)  # type: ignore[arg-type]
