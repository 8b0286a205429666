"""Making an image for apptainer: one call of ``apptainer build``, in a directory of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from pytest_swe.errors import DiskFull
from pytest_swe.sandbox.apptainer_program import Program
from pytest_swe.sandbox.images.base import PullFailed

#: lz4 packs in 6 s what gzip packs in 43, and unpacks several times faster; the file is a third larger.
COMPRESSION = "-comp lz4"

#: Seconds in which nothing is written, after which a build that fetches nothing counts as stuck.
SILENCE = 1800.0

#: Variables of the user's that say how registries are reached.
PASSED_ON = (*("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE"),)

#: MiB below which a build failed for want of space, whatever it says.
_NO_SPACE = 16 * 1024 * 1024


def build(
    program: Program,
    source: str,
    folder: Path,
    *,
    unpacked: bool,
    options: Sequence[str] = (),
    silence: float = SILENCE,
) -> Path:
    """Build ``source`` in ``folder``, which is empty; returns the file or directory.

    Raises DiskFull; PullFailed with apptainer's last words, also after ``silence`` seconds without anything written.
    """
    made, home = folder / ("tree" if unpacked else "image.sif"), folder / "home"
    for place in (home, folder / "tmp"):
        place.mkdir()
    how = ["--sandbox", "--fix-perms"] if unpacked else ["--mksquashfs-args", COMPRESSION]
    env = program.environment(home)
    env |= {"APPTAINER_TMPDIR": str(folder / "tmp"), "APPTAINER_CACHEDIR": str(folder / "cache")}
    env |= {name: value for name in PASSED_ON if (value := os.environ.get(name))}
    argv = [program.path, "--silent", "build", "--disable-cache", *options, *how, str(made), source]
    with (folder / "said").open("w+b") as said:
        try:
            process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        except OSError as error:
            raise PullFailed(f"apptainer does not run: {error}") from error
        ended = _ended(process, folder, silence)
        said.seek(0)
        words = said.read().decode("utf-8", "replace")
    if not ended:
        raise PullFailed(f"nothing came for {silence:.0f} s", silent=True)
    if process.returncode or not made.exists():
        if "no space left" in words or shutil.disk_usage(folder).free < _NO_SPACE:
            raise DiskFull(f"no space left to build {source}", hint=f"free space at {folder.parent}")
        raise PullFailed(_last(words))
    return made


def _ended(process: subprocess.Popen[bytes], folder: Path, silence: float) -> bool:
    """Wait for the end of it while it writes; whether it ended by itself."""
    written, since = -1, time.monotonic()
    while True:
        try:
            process.wait(silence / 10)
            return True
        except subprocess.TimeoutExpired:
            now = _written(folder)
        if now != written:
            written, since = now, time.monotonic()
        elif time.monotonic() > since + silence:
            process.kill()
            process.wait()
            return False


def _written(folder: Path) -> int:
    """Bytes and files below ``folder``, as one number that changes when something is written."""
    total = 0
    for root, directories, names in os.walk(folder):
        total += len(directories) + len(names)
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except OSError:
                continue
    return total


def _last(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if "FATAL" in line), lines[-1] if lines else "no word why")
    return last.replace("FATAL:", "").strip()[:400]
