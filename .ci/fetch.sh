#!/bin/bash
# fetch.sh COMMAND...: runs a command that brings something over a network; again, twice, if it fails. Its own status
# is 75 then (EX_TEMPFAIL), so that a network in trouble is told from a test that fails.
set -uo pipefail
for pause in 5 20 ''; do
  "$@" && exit 0
  echo "failed: $*${pause:+; again in $pause s}" >&2
  [ -z "$pause" ] || sleep "$pause"
done
exit 75
