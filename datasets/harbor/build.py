"""Build the image that the tasks of this data set stand on.

    python build.py [--base IMAGE]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

IMAGE = "pytest-swe/harbor-demo:1"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build the image that the tasks of this data set stand on.")
    parser.add_argument("--base", metavar="IMAGE", help="an image with bash and Python to stand on")
    base = parser.parse_args(arguments).base
    root = Path(__file__).resolve().parent
    command = ["docker", "build", "--quiet", "--tag", IMAGE, "--file", str(root / "base.Dockerfile")]
    command += ["--build-arg", f"BASE={base}"] if base else []
    try:
        subprocess.run([*command, str(root)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    except FileNotFoundError:
        print("build.py: there is no command `docker`", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as failed:
        hint = "" if base else " (without a registry: --base names an image that the engine has, with bash and Python)"
        print(f"{failed.output}build.py: docker build ended with status {failed.returncode}{hint}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
