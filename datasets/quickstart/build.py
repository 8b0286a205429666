"""Build the Docker images of this data set, or of the instances that are named.

    python build.py [--base IMAGE] [INSTANCE_ID ...]

The shared image `pytest-swe/quickstart-base:1` is built first; on it, one small image for each instance. Docker's
build cache makes a second run cheap: nothing is built again unless a file or the base changed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent
SHARED = "pytest-swe/quickstart-base:1"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build the Docker images of the quickstart data set.")
    parser.add_argument("--base", metavar="IMAGE", help="has python3 and pip (default: that of base.Dockerfile)")
    parser.add_argument("instances", nargs="*", metavar="INSTANCE_ID", help="default: all")
    options = parser.parse_args(arguments)
    images = image_names()
    unknown = sorted(set(options.instances) - set(images))
    if unknown:
        parser.error(f"no instance {', '.join(unknown)}; there are {', '.join(images)}")
    try:
        build(SHARED, "base.Dockerfile", base=options.base)
        for instance in options.instances or images:
            build(images[instance], f"tasks/{instance}/Dockerfile", base=SHARED)
    except FileNotFoundError:
        print("build.py: there is no command `docker`", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as failed:
        hint = "" if options.base else " (without a registry: --base names an image that the engine has, with Python and pip)"
        print(f"{failed.output}build.py: docker build ended with status {failed.returncode}{hint}", file=sys.stderr)
        return 1
    return 0


def image_names() -> dict[str, str]:
    """Instance id -> name of its image, as task.yaml has it."""
    tasks = (yaml.safe_load(path.read_text("utf-8")) for path in sorted(ROOT.glob("tasks/*/task.yaml")))
    return {task["instance_id"]: task["image"] for task in tasks}


def build(image: str, dockerfile: str, *, base: str | None) -> None:
    """One image, with the root of the data set as build context."""
    started = time.monotonic()
    build_args = ["--build-arg", f"BASE={base}"] if base else []
    command = ["docker", "build", "--quiet", "--tag", image, "--file", str(ROOT / dockerfile), *build_args, str(ROOT)]
    subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    print(f"{image}  {time.monotonic() - started:.1f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
