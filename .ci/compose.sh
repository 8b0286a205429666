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
  download docker-compose
  dpkg -x "$work"/deb/docker-compose_*.deb "$work/unpacked"
  cp "$work/unpacked/usr/libexec/docker/cli-plugins/docker-compose" "$dir/cli-plugins/"
  DOCKER_CONFIG=$dir docker compose version
}

fetch() { bash "$here/fetch.sh" "$@"; }

# download PACKAGE: from Debian 13, with a state of apt that is nobody else's.
download() {
  local mirror
  mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -1)
  mkdir -p "$work"/{deb,lists/partial,cache/archives/partial}
  : >"$work/status"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:-http://deb.debian.org/debian} trixie main" \
    >"$work/sources.list"
  cat >"$work/apt.conf" <<CONF
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "$work/lists";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
APT::Sandbox::User "root";
CONF
  APT_CONFIG=$work/apt.conf fetch apt-get update -qq -o APT::Update::Error-Mode=any
  (cd "$work/deb" && APT_CONFIG=$work/apt.conf fetch apt-get download -qq "$1")
}

main
