"""Whatever links a candidate leaves, nothing is read or written outside its directory."""

from __future__ import annotations

import contextlib
import io
import tarfile
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_swe.errors import SandboxFileError
from pytest_swe.sandbox.host.rooted import Rooted

CONTENT = b"of the host, not of the jail"
NAMES = st.sampled_from(["a", "b", "c"])
PARTS = st.lists(st.one_of(NAMES, st.just(".."), st.just("."), st.just("secret"), st.just("outside")), max_size=6)
#: OUT stands for the absolute path of the directory above.
TARGETS = st.builds(
    lambda start, parts: start + "/".join(parts) or "a", st.sampled_from(["", "/", "OUT/", "OUT/jail/"]), PARTS
)
PATHS = st.builds(lambda parts: "/" + "/".join(parts), PARTS)


@settings(max_examples=150, deadline=None)
@given(links=st.lists(st.tuples(PATHS, TARGETS), max_size=5), path=PATHS, member=PARTS)
def test_no_path_leads_out(links: list[tuple[str, str]], path: str, member: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        outside = Path(folder, "outside")
        jail = Path(folder, "jail")
        for made in (outside, jail, jail / "a"):
            made.mkdir()
        (outside / "secret").write_bytes(CONTENT)
        (Path(folder, "secret")).write_bytes(CONTENT)
        rooted = Rooted(jail)
        for place, target in links:
            tar = io.BytesIO()
            with tarfile.open(fileobj=tar, mode="w") as packed:
                link = tarfile.TarInfo(place.lstrip("/") or "a")
                link.type, link.linkname = tarfile.SYMTYPE, target.replace("OUT", folder)
                packed.addfile(link)
            with contextlib.suppress(SandboxFileError):
                rooted.unpack(io.BytesIO(tar.getvalue()), "/")

        with contextlib.suppress(SandboxFileError):
            assert rooted.read(path) != CONTENT
        with contextlib.suppress(SandboxFileError):
            assert CONTENT not in rooted.pack(path)
        with contextlib.suppress(SandboxFileError):
            rooted.write(path, b"written")
            assert rooted.read(path) == b"written"
        with contextlib.suppress(SandboxFileError):
            rooted.unpack(tar_of("/".join(member) or "a"), path)

        left = {entry.relative_to(folder).as_posix() for entry in Path(folder).rglob("*") if jail not in entry.parents}
        assert left == {"jail", "outside", "outside/secret", "secret"}
        assert (outside / "secret").read_bytes() == Path(folder, "secret").read_bytes() == CONTENT


def tar_of(name: str) -> io.BytesIO:
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as packed:
        member = tarfile.TarInfo(name)
        member.size = 3
        packed.addfile(member, io.BytesIO(b"new"))
    tar.seek(0)
    return tar
