#!/bin/bash
# test-image.sh NAME: the image of the Docker tests, unless it is there. Debian comes from a registry where one
# can be reached, else from mmdebstrap (as root, or as a user with subordinate ids): about a minute.
set -euo pipefail
name=${1:?name of the image}
if docker image inspect "$name" >/dev/null 2>&1; then exit 0; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
from=debian:bookworm-slim

if ! docker image inspect "$from" >/dev/null 2>&1 && ! docker pull -q "$from" >/dev/null 2>&1; then
  if ! command -v mmdebstrap >/dev/null; then
    echo "no registry answers: apt-get install mmdebstrap, or name an image with git, patch and python3 in" \
      "PYTEST_SWE_TEST_IMAGE" >&2
    exit 1
  fi
  from=pytest-swe/debian:bookworm
  # The host's own mirror, where it is a Debian; mmdebstrap knows the official one.
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -m 1 '/debian/\?$' || :)
  echo "building $from with mmdebstrap"
  mmdebstrap --quiet --variant=minbase \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' bookworm - ${mirror:+"$mirror"} | docker import - "$from" >/dev/null
fi

echo "building $name"
mkdir "$work/ca"
cp /usr/local/share/ca-certificates/*.crt "$work/ca/" 2>/dev/null || :
cp "$(dirname "${BASH_SOURCE[0]}")/test-image/Dockerfile" "$work/"
docker build -q -t "$name" --build-arg FROM="$from" "$work" 2>"$work/build.log" >/dev/null || { cat "$work/build.log" >&2; exit 1; }
