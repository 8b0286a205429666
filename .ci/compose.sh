#!/bin/bash
# compose.sh DIR: Docker Compose 2 in DIR, a directory of Docker's own configuration (DOCKER_CONFIG=DIR), where `docker`
# finds no Compose. On Debian: the plugin of the suite that has it, which runs on an older C library too. Nothing of the
# system is changed. Needs apt. Status 75: the archive could not be reached.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${1:?a directory}

main() {
  mkdir -p "$dir/cli-plugins"
  if DOCKER_CONFIG=$dir docker compose version >/dev/null 2>&1; then return; fi
  work=$(mktemp -d -t compose.XXXXXX)
  trap 'rm -rf "$work"' EXIT
  bash "$here/debs.sh" trixie "$work/deb" docker-compose
  dpkg -x "$work"/deb/docker-compose_*.deb "$work/unpacked"
  cp "$work/unpacked/usr/libexec/docker/cli-plugins/docker-compose" "$dir/cli-plugins/"
  DOCKER_CONFIG=$dir docker compose version
}

main
