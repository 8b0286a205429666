#!/bin/bash
# debs.sh SUITE DIR PACKAGE...: downloads packages of another suite of Debian into DIR, with a state of apt that is
# nobody else's: the system's own packages and sources are left alone. Status 75: the archive could not be reached.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
suite=${1:?a suite} dir=${2:?a directory}
shift 2

work=$(mktemp -d -t debs.XXXXXX)
trap 'rm -rf "$work"' EXIT
mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -1)
mkdir -p "$dir" "$work"/{lists/partial,cache/archives/partial}
: >"$work/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:-http://deb.debian.org/debian} $suite main" \
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
Acquire::Check-Valid-Until "false";
Acquire::Check-Date "false";
CONF
export APT_CONFIG=$work/apt.conf
bash "$here/fetch.sh" apt-get update -qq -o APT::Update::Error-Mode=any
cd "$dir"
bash "$here/fetch.sh" apt-get download -qq "$@"
