"""The provider ``apptainer`` as an ordinary user: the contract's tests that can differ for one.

What a user has not: limits of processors and processes, users other than root, and, without /dev/fuse, SIF files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOBODY = 65534

#: Of `test_apptainer`, by parts of names.
SUBSET = """
    exit_code_is env_of_the_spec secrets zombies user_of users_are large_file tar_keeps time_out_kills
    killing_everything network limit_limits limit_is_honoured sixteen deadline sweep_finds close_ends from_outside
    host_cannot shows not_stand_in_memory dead_owner too_much_memory leaves_nothing
""".split()

pytestmark = [pytest.mark.apptainer, pytest.mark.docker]


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that belongs to an ordinary user; pytest's own are root's alone."""
    folder = Path(tempfile.mkdtemp(prefix="pytest-swe-user-"))
    folder.chmod(0o755)
    yield folder
    subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=False)
    shutil.rmtree(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="for a user the whole suite runs as one anyway")
def test_an_ordinary_user_keeps_the_contract(place: Path, test_image: str) -> None:
    """The user may read what root may, because the tests may stand in root's home; nothing else is different."""
    archive = place / "images" / f"{test_image}.tar"
    archive.parent.mkdir(parents=True)
    subprocess.run(["docker", "save", "--output", archive, test_image], check=True)
    archive.chmod(0o644)
    home = place / "home"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    reads = [f"--{kind}-caps=-all,+dac_read_search" for kind in ("inh", "ambient")]
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *reads]
    command = [*become, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(home),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_SWE_TEST_IMAGE": test_image,
        "PYTEST_SWE_TEST_APPTAINER_IMAGES": str(place / "images"),
    }
    done = subprocess.run(
        [*command, "tests/sandbox/test_apptainer.py", "-k", " or ".join(SUBSET)],
        cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:]
    assert "deselected" in done.stdout
    passed = int(done.stdout.rpartition(" passed")[0].split()[-1])
    assert passed >= 30, done.stdout[-2000:]
