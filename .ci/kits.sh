#!/bin/bash
# kits.sh DIR: kits of agents in DIR for the tests that run them: mini-swe-agent's, for the Python that the test image
# has. Needs the project's environment, a Python of that version with pip, and PyPI. Status 75: one of these is not there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
dir=${1:?a directory}
agent=mini-swe-agent

main() {
  local version python
  [ -x "${VENV:-.venv}/bin/pytest-swe" ] || give_up "the project is not installed here: make install"
  version=$(docker run --rm "${PYTEST_SWE_TEST_IMAGE:-pytest-swe/test-base:1}" \
    python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  for python in "${VENV:-.venv}/bin/python" "python$version" ~/.pyenv/versions/"$version".*/bin/python; do
    if has_pip "$python" "$version"; then break; fi
    python=
  done
  [ -n "$python" ] || give_up "no Python $version with pip here"
  mkdir -p "$dir/reached"
  "$python" -m pip download -q --no-deps -d "$dir/reached" "$agent" || give_up "PyPI does not have $agent, or is not there"
  rm -r "$dir/reached"
  "${VENV:-.venv}/bin/pytest-swe" agent-kit "$agent" "$dir" --python "$python" || give_up "the kit could not be made"
}

has_pip() { "$1" -c "import pip, sys; sys.exit('%d.%d' % sys.version_info[:2] != '$2')" 2>/dev/null; }

give_up() {
  echo "kits: $1" >&2
  exit 75
}

main
