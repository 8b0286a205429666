"""The tree in which an agent begins: that to which its patch will be applied, and nothing that gives it away."""

from __future__ import annotations

import io
import secrets

from pytest_swe.errors import HarnessError
from pytest_swe.evaluation import driver
from pytest_swe.evaluation.plan import Around
from pytest_swe.model import Reason
from pytest_swe.sandbox.base import Sandbox

#: Seconds for a family's preparations, and for taking away what they needed.
SECONDS = 600.0
REMOVAL_SECONDS = 120.0

#: bash for `Around.begin`: the tree as the one commit that there is, where its past shows what an agent must not see.
ONE_COMMIT = """\
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
rm -rf .git
git init --quiet . && git add --all && git -c user.name=pytest-swe -c user.email=pytest-swe@localhost \\
  commit --quiet --no-verify --allow-empty -m begin || exit 1
"""
#: bash for `Around.begin`: `hide PATH...` takes paths away, relative ones out of the tree and its history too.
HIDE = f"""\
here=${{0%/*}}
git() {{ HOME=$here/home GIT_CONFIG_NOSYSTEM=1 command git "$@"; }}
one_commit() {{
{ONE_COMMIT}}}
hide() {{
  local path
  for path; do
    rm -rf -- "$path"
    if [ -e "$path" ] || [ -L "$path" ]; then
      echo "$path cannot be hidden"
      exit 1
    fi
    if [ "${{path#/}}" = "$path" ] && [ -e .git ] && [ -n "$(git log --all -1 --format=%h -- "$path")" ]; then
      one_commit
    fi
  done
}}
"""
_REMOVE = 'rm -rf -- "$1"; [ ! -e "$1" ]'


def begin(around: Around, sandbox: Sandbox) -> str:
    """The work tree, made ready. Raises SandboxError, HarnessError when that failed or left something behind."""
    directory = f"{driver.DIRECTORY}/{secrets.token_hex(16)}"
    sandbox.upload(io.BytesIO(driver.beginning(around)), directory)
    try:
        done = sandbox.exec(("bash", f"{directory}/driver.sh", "begin"), cwd="/", timeout=SECONDS)
        tree = driver.tree_of(done)
    finally:
        gone = sandbox.exec(("/bin/sh", "-c", _REMOVE, "swe", directory), cwd="/", timeout=REMOVAL_SECONDS)
    if gone.exit_code != 0:
        raise HarnessError("what prepared the tree cannot be removed", reason=Reason.NOT_CONCEALED)
    return tree
