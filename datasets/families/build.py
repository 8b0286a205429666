"""Build the Docker images of the family examples: one for all, and one for each family that brings a Dockerfile.

    python build.py [FAMILY ...]

The images of the quickstart must be there: `python ../quickstart/build.py` first.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent
SHARED = "pytest-swe/families:1"
BROKEN = "pytest-swe/families-broken:1"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build the Docker images of the family examples.")
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="default: all")
    chosen = parser.parse_args(arguments).families
    try:
        for image, dockerfile in images():
            if not chosen or image in (SHARED, BROKEN) or dockerfile.parent.name in chosen:
                build(image, dockerfile)
    except FileNotFoundError:
        print("build.py: there is no command `docker`", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as failed:
        hint = " (they stand on the quickstart's: build those first, python ../quickstart/build.py)"
        print(f"{failed.output}build.py: docker build ended with status {failed.returncode}{hint}", file=sys.stderr)
        return 1
    return 0


def images() -> Iterator[tuple[str, Path]]:
    """Image and Dockerfile, in the order in which they are built; a family's own has its directory as context."""
    yield SHARED, ROOT / "base.Dockerfile"
    yield BROKEN, ROOT / "broken.Dockerfile"
    for dockerfile in sorted(ROOT.glob("*/Dockerfile")):
        yield f"pytest-swe/family-{dockerfile.parent.name}:1", dockerfile


def build(image: str, dockerfile: Path) -> None:
    command = ["docker", "build", "--quiet", "--tag", image, "--file", str(dockerfile), str(dockerfile.parent)]
    subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)


if __name__ == "__main__":
    sys.exit(main())
