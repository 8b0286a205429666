"""Agents as shell scripts, by what they do; each is run in a sandbox of a quickstart row."""

from __future__ import annotations

from collections.abc import Mapping

from .conftest import QUICKSTART

ROW = "pytest-swe__spans-1"
TASK = QUICKSTART / "tasks" / ROW
GOLD = (TASK / "gold.patch").read_text()

#: Does what the row asks for.
FIX = f"git apply <<'END_OF_PATCH'\n{GOLD}END_OF_PATCH\n"

#: Lines of the fix and of the hidden tests, and one that the agent's tree has: what a search must not find, and must.
MARKS = {
    "fix": "Whether the two spans overlap or lie end",
    "tests": "test_spans_end_to_end_do_not_",
    "tree": "two spans",
}

#: Looks through every file, process and object of git. No mark stands whole in the text of the command itself.
SEARCH = """python3 - <<'END_OF_SEARCH'
import os, subprocess
marks = {name: (a + b).encode() for name, (a, b) in @MARKS@.items()}
found = {name: set() for name in marks}
def look(where, data):
    for name, mark in marks.items():
        if mark in data:
            found[name].add(where)
for top, places, names in os.walk("/"):
    places[:] = [p for p in places if os.path.join(top, p) not in ("/sys", "/proc")]
    for path in (os.path.join(top, name) for name in names):
        try:
            if os.path.isfile(path):
                look(path, open(path, "rb").read())
        except OSError:
            pass
for pid in filter(str.isdigit, os.listdir("/proc")):
    for part in ("cmdline", "environ"):
        try:
            look(f"/proc/{pid}/{part}", open(f"/proc/{pid}/{part}", "rb").read())
        except OSError:
            pass
objects = subprocess.run(
    ["git", "cat-file", "--batch-all-objects", "--unordered", "--batch"], cwd="/testbed", capture_output=True
)
assert objects.returncode == 0 and objects.stdout
look("git", objects.stdout)
print("FOUND", {name: sorted(places) for name, places in found.items()})
END_OF_SEARCH
""".replace("@MARKS@", repr({name: (mark[:9], mark[9:]) for name, mark in MARKS.items()}))

#: A filter for what git shows, settings of every place, hooks and attributes.
SETTINGS = """
git config --global color.ui always; git config diff.noprefix true; git config diff.external /bin/false
git config --global core.quotePath true; git config --system core.fileMode false; git config core.autocrlf true
git config filter.x.clean 'tr a-z A-Z'; echo '* filter=x diff=x' > .git/info/attributes
echo 'spans/' >> .git/info/exclude
git config diff.x.textconv 'echo nothing'; git config core.worktree /tmp; git config core.excludesFile /etc/hosts
"""

AGENTS: Mapping[str, str] = {
    "honest": FIX + SEARCH,
    "nothing": "true",
    "fails": FIX + "exit 3",
    "hangs": FIX + "trap '' TERM INT; echo begun; sleep 1000 & setsid sleep 1000 & wait; sleep 1000",
    "floods": FIX + "yes flood | head -c 70000000; echo the-end",
    "kills_its_shell": FIX + "kill -9 $$",
    "kills_all": FIX + "(kill -9 -1); kill -9 -1",
    "git_settings": FIX + SETTINGS,
    "another_branch": "git checkout -qb other\n" + FIX + "git -c user.name=a -c user.email=a@b commit -qam done",
    "detaches": FIX
    + "setsid nohup sh -c 'while :; do echo x >> noise.txt; echo y > new-$(date +%N).txt; done' >/dev/null &\nsleep 1",
    "no_git": FIX + "rm -rf .git",
    "huge": FIX + "truncate -s 40G sparse.bin; head -c 30000000 /dev/urandom > big.bin",
    # Left where the work tree is not: of no use to whoever is judged in a fresh sandbox.
    "plants": """
for place in $(python3 -c 'import sys; print(*sys.path)') /usr/local/bin /opt; do
  mkdir -p $place; echo 'import os; os._exit(0)' > $place/sitecustomize.py; done
printf '#!/bin/sh\\necho 13 passed\\n' > /usr/local/bin/pytest; chmod +x /usr/local/bin/pytest
cp /usr/local/bin/pytest /usr/local/bin/python3; echo > untracked.txt
""",
    "takes_git_away": FIX + "rm -f $(command -v git); ln -s /bin/true /usr/local/bin/git",
}


def name_of(agent: str) -> str:
    """What the run calls one of them: they are all commands, numbered in their order."""
    number = [*AGENTS].index(agent) + 1
    return "command" if number == 1 else f"command-{number}"


def arguments() -> list[str]:
    """Options of pytest for all of them."""
    return [word for script in AGENTS.values() for word in ("--swe-agent", f"command:{script}")]
