# Sourced by the scripts beside it, inside the sandbox: git without anybody's settings, and how results are told.
#
# Configuration of the system, of the user and of the environment is left out here. That of a repository is left out by
# using a git directory of our own; where a repository itself must be asked, `ask` switches off what could run a program.

here=$(cd "$(dirname "$0")" && pwd)
for name in "${!GIT_@}"; do unset "$name"; done
unset name BASH_ENV ENV CDPATH GREP_OPTIONS
umask 022
mkdir -p "$here/home" "$here/out"

# The system's own programs before those that a project's environment puts in front.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH
export LC_ALL=C HOME=$here/home XDG_CONFIG_HOME=$here/home TMPDIR=$here
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1 GIT_OPTIONAL_LOCKS=0
export GIT_NO_REPLACE_OBJECTS=1 GIT_GRAFT_FILE=/dev/null GIT_TERMINAL_PROMPT=0
# A partial clone must not fetch: a remote's address can be a command.
export GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1

# Git in the repository of the work tree $1, for the rest of the arguments.
ask() {
  local work=$1
  shift
  GIT_DIR=$work/.git GIT_WORK_TREE=$work git -c core.hooksPath=/dev/null -c core.fsmonitor=false \
    -c core.untrackedCache=false -c core.excludesFile=/dev/null -c core.attributesFile=/dev/null \
    -c core.splitIndex=false -c core.quotePath=false -c core.worktree="$work" -c core.bare=false \
    -c color.ui=false -c diff.external= -c diff.noprefix=false -c gc.auto=0 -c maintenance.auto=false \
    -c core.preferSymlinkRefs=false -c core.commitGraph=false -c pack.writeReverseIndex=false "$@"
}

# Parts of the answer: a name, a size, and that many bytes. What is cut short has no end.
tell() { printf 'swe-part %s %d\n' "$1" "$(wc -c <"$2")" && cat "$2"; }
say() { printf '%s' "$2" >"$here/out/said" && tell "$1" "$here/out/said"; }
finish() {
  printf 'swe-end\n'
  exit 0
}
die() {
  say problem "$1"
  finish
}
