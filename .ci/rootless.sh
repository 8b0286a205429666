#!/bin/bash
# What engines of an ordinary user need on Debian: programs, and a user with subordinate ids. As root. The tests start the
# engines themselves. Status 75: the archive could not be reached.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if ! { command -v newuidmap && command -v rootlesskit && command -v slirp4netns; } >/dev/null; then
  bash "$here/fetch.sh" apt-get update -qq -o APT::Update::Error-Mode=any
  DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 bash "$here/fetch.sh" \
    apt-get install -y -qq --no-install-recommends uidmap rootlesskit slirp4netns >/dev/null
fi
id ci-rootless >/dev/null 2>&1 || useradd --create-home ci-rootless
