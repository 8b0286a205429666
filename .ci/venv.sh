#!/bin/bash
# venv.sh PYTHON DIR PIP-ARGUMENTS...: a virtual environment in DIR with what pip is asked to install.
# An environment of another Python version, or a broken one, is replaced.
set -euo pipefail
python=$1 venv=$2
shift 2

version_of() { "$1" -c 'import sys; print(sys.version.split()[0])' 2>/dev/null; }

if ! version=$(version_of "$python"); then
  echo "$python: no such Python; install python3 (3.11 or newer) or name one: make PYTHON=/path/to/python3" >&2
  exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "$python is Python $version; pytest-swe needs 3.11 or newer: make PYTHON=/path/to/python3.11" >&2
  exit 1
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  echo "$python cannot make virtual environments; on Debian: apt-get install python3-venv" >&2
  exit 1
fi

if [ "$(version_of "$venv/bin/python")" != "$version" ] || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
  "$python" -m venv --clear "$venv"
fi
echo "installing into $venv (Python $version)"
# Twice quiet: pip's warnings about a user's own index settings are not ours; its errors are still shown.
"$venv/bin/python" -m pip install -qq --disable-pip-version-check "$@"
