#!/bin/bash
# Runs inside the sandbox, in one go: applies the candidate's patch, lays the hidden tests, runs the eval script.
#
#   driver.sh         stdout: what the evaluation prints, in one ordered stream
#                     stderr: facts, one "swe-fact <key> <value>" a line; every child has its stderr on stdout
#   driver.sh hash    digests of the hidden tests; the eval script asks before and after the tests
#   driver.sh forget  removes result files that stand before the tests have run
#   driver.sh stage   lays what the tests need and no patch can carry
#   driver.sh begin   only prepares the tree, for an agent that starts in it; begin.sh then hides what only an agent must
#                     not see
#   driver.sh hollow  makes every hidden test fail that is a Python function (hollow.py)
#
# Beside it stand: eval.sh; miscounted (if the counts of a hunk are wrong); candidate ("patch", or "none": the unpatched tree is evaluated); patch.diff; and lists of
# paths, NUL-terminated: names (all that the patch names), added (what it adds), hidden (what the patch and the test
# patch both name), all three with ./ before them; checks (there|gone|changed|mode and a path, in turns); tests (what the
# test patch leaves); outside (what the patch names outside the tree or in .git).
# Where a family asks for them: places (where the tree may stand, the first that is there counts); prepare.sh (before the
# patch); tests.patch and tests.added (the hidden tests and what they add); overlay.names and overlay/0, 1, ... (files
# laid over the tree); staged.names and staged/0, 1, ... (the same, just before the tests start); results (a root and a pattern, in turns: the files that the tests leave); files/ (for the script).

set -u
here=$(cd "$(dirname "$0")" && pwd)

work_tree() {
  local place
  if [ -n "${TESTBED:-}" ] || [ ! -s "$here/places" ]; then
    printf %s "${TESTBED:-/testbed}"
    return
  fi
  # The first that is a repository, else the first that is there at all.
  while IFS= read -r -d '' place; do
    if [ -e "$place/.git" ]; then
      printf %s "$place"
      return
    fi
  done <"$here/places"
  while IFS= read -r -d '' place; do
    if [ -d "$place" ]; then break; fi
  done <"$here/places"
  printf %s "${place:-$(tr '\0' '\n' <"$here/places" | head -n 1)}"
}

tree=$(work_tree)

fact() { printf 'swe-fact %s %s\n' "$1" "$2" >&2; }

# Milliseconds. Not every date knows %N (Alpine's does not); bash 5 has the time itself.
now() {
  if [ -z "${EPOCHREALTIME:-}" ]; then date +%s%3N; else local micro=${EPOCHREALTIME//[^0-9]/}; printf %s "${micro%???}"; fi
}

exists() { [ -e "$1" ] || [ -L "$1" ]; }

# The user of the sandbox need not own the tree, and no setting of theirs may change how a patch applies.
neutral_git() {
  HOME=$here/home XDG_CONFIG_HOME=$here/home GIT_CONFIG_GLOBAL=$here/home/.gitconfig GIT_CONFIG_NOSYSTEM=1 git "$@"
}

attempt() {
  case $1 in
    # Only where the counts are wrong: git believes them, and leaves out what stands below a hunk that is said to be short.
    git-apply-recount) [ -f "$here/miscounted" ] && neutral_git apply --verbose --recount "$here/patch.diff" ;;
    git-apply) neutral_git apply --verbose "$here/patch.diff" ;;
    git-apply-over) over_untracked && neutral_git apply --verbose "$here/patch.diff" ;;
    # It wants an index that knows the files as they are; put back, they have other times.
    git-apply-3way)
      stays_inside || return 1
      neutral_git update-index -q --refresh
      neutral_git apply --verbose --3way "$here/patch.diff"
      ;;
    git-apply-rest) there_already && neutral_git apply --verbose "${rest[@]}" "$here/patch.diff" ;;
    # Without fuzz; --forward, because --batch alone would undo what is there already (SWE-bench#228).
    patch)
      may_be_patched &&
        patch --batch --forward --unified --fuzz=0 --no-backup-if-mismatch --reject-file=- -p1 -i "$here/patch.diff"
      ;;
  esac
}

# GNU patch finds an empty patch in order, and would write into .git, where git itself refuses to.
may_be_patched() { [ -s "$here/names" ] && stays_inside; }

# Whether no file that the patch names is outside, or behind a link: GNU patch and --3way (not plain apply) write there.
stays_inside() {
  local path
  [ ! -s "$here/outside" ] || return 1
  while IFS= read -r -d '' path; do
    while [ "$path" != "${path%/*}" ]; do
      path=${path%/*}
      [ ! -L "$path" ] || return 1
    done
  done <"$here/names"
}

# Images hold uncommitted changes, which a diff made in them repeats (SWE-bench#228). Of the files that the patch names,
# those that are as it leaves them, for git to exclude; false when there are none, or no others.
there_already() {
  local path others=
  rest=()
  : >"$here/already"
  while IFS= read -r -d '' path; do
    path=${path#./}
    case $path in *[][*?\\]*) return 1 ;; esac
    if neutral_git apply --check --reverse --include="$path" "$here/patch.diff" >/dev/null 2>&1; then
      rest+=("--exclude=$path")
      printf '%s\0' "$path" >>"$here/already"
    else
      others=1
    fi
    [ ${#rest[@]} -le 100 ] || return 1
  done <"$here/names"
  [ ${#rest[@]} -gt 0 ] && [ -n "$others" ]
}

# Images hold untracked files (generated parsers, build/) that a patch may add anew. Remove those that it names; false
# when there are none. swebench removes every untracked file here, and with them what the tests need.
over_untracked() {
  local path found=1
  while IFS= read -r -d '' path; do
    if exists "$path" && ! neutral_git ls-files --error-unmatch -- "$path" >/dev/null 2>&1; then
      rm -f -- "$path" && found=0
    fi
  done <"$here/added"
  return $found
}

# Keep, of every path that the patch names, what is there now, and which directories are not.
snapshot() {
  mkdir -p "$here/before"
  index=$(neutral_git rev-parse --git-path index 2>/dev/null)
  [ -f "$index" ] && cp -p "$index" "$here/index"
  : >"$here/present"
  : >"$here/listed"
  : >"$here/directories"
  local path parent
  while IFS= read -r -d '' path; do
    [ -d "$path" ] && [ ! -L "$path" ] && continue
    printf '%s\0' "$path" >>"$here/listed"
    if exists "$path"; then
      printf '%s\0' "$path" >>"$here/present"
      continue
    fi
    parent=${path%/*}
    while ! exists "$parent"; do
      printf '%s\0' "$parent" >>"$here/directories"
      parent=${parent%/*}
    done
  done <"$here/names"
  [ ! -s "$here/present" ] || copy . "$here/before" "$here/present"
}

# Busybox has a tar that takes no list with NUL.
has_gnu_tar() { tar --version 2>/dev/null | grep -q GNU; }

# From directory $1 to directory $2 the paths listed in $3.
copy() {
  local path
  if ! has_gnu_tar; then
    while IFS= read -r -d '' path; do
      mkdir -p -- "$2/$(dirname -- "$path")" && cp -pP -- "$1/$path" "$2/$path"
    done <"$3"
    return
  fi
  tar -C "$1" -c --null --no-recursion -T "$3" -f - | tar -C "$2" -x -f -
}

# Make the paths listed in $1 what they were before the patch.
put_back() {
  local path
  xargs -0 -r rm -f -- <"$1" 2>/dev/null
  xargs -0 -r rmdir -- <"$here/listed" 2>/dev/null
  while IFS= read -r -d '' path; do
    if exists "$here/before/$path"; then printf '%s\0' "$path"; fi
  done <"$1" >"$here/back"
  [ ! -s "$here/back" ] || copy "$here/before" . "$here/back"
  xargs -0 -r rmdir -- <"$here/directories" 2>/dev/null
}

put_back_index() {
  if [ -f "$here/index" ]; then cp -p "$here/index" "$index"; fi
}

differs() {
  if [ -L "$1" ] || [ -L "$2" ]; then
    [ "$(readlink "$1")" != "$(readlink "$2")" ]
  else
    ! cmp -s -- "$1" "$2"
  fi
}

is_listed() {
  local path
  while IFS= read -r -d '' path; do
    [ "$path" != "$1" ] || return 0
  done <"$2"
  return 1
}

# Whether no file that the patch names is another than before: what "applies" like that did not apply.
nothing_changed() {
  local path
  while IFS= read -r -d '' path; do
    if exists "$path" || exists "$here/before/$path"; then
      exists "$path" && exists "$here/before/$path" && ! differs "$path" "$here/before/$path" || return 1
      [ "$(stat -c %a "$path")" = "$(stat -c %a "$here/before/$path")" ] || return 1
    fi
  done <"$here/names"
}

# Whether every file that the patch names came out as the patch says.
whole() {
  local check path
  while IFS= read -r -d '' check && IFS= read -r -d '' path; do
    if [ -s "$here/already" ] && is_listed "$path" "$here/already"; then continue; fi
    case $check in
      there) exists "$path" || return 1 ;;
      gone) ! exists "$path" || return 1 ;;
      changed) differs "$path" "$here/before/$path" || return 1 ;;
      mode) [ "$(stat -c %a "$path")" != "$(stat -c %a "$here/before/$path")" ] || return 1 ;;
    esac
  done <"$here/checks"
}

# Every attempt starts from the same tree. Nothing is cleaned: images hold untracked files that tests need.
apply() {
  local rung outcome=failed begin
  begin=$(now)
  snapshot
  for rung in git-apply-recount git-apply git-apply-over git-apply-rest git-apply-3way patch; do
    printf '%s:\n' "$rung" >>"$here/apply.log"
    rm -f "$here/already"
    if attempt "$rung" >>"$here/apply.log" 2>&1; then
      if whole 2>/dev/null || ! nothing_changed; then
        outcome=applied
        break
      fi
      printf 'error: it changes nothing: what it asks for is there already, or it has no content\n' >>"$here/apply.log"
    fi
    put_back "$here/names"
    put_back_index
  done
  fact apply_output "$(tail -c 16384 "$here/apply.log" | base64 -w 0)"
  fact apply_ms $(($(now) - begin))
  if [ $outcome = applied ]; then
    fact rung $rung
    if whole 2>/dev/null; then fact whole yes; else fact whole no; fi
    # --3way stages its result; the next steps find the index as every other attempt leaves it.
    put_back_index
    if [ -s "$here/hidden" ]; then
      put_back "$here/hidden"
      fact hidden restored
    fi
  fi
  fact apply $outcome
  [ $outcome = applied ]
}

# What the family does to the tree before the patch: no code of the candidate has run yet.
prepare() {
  [ -f "$here/$1" ] || return 0
  bash "$here/$1" </dev/null >"$here/prepare.log" 2>&1 && return 0
  fact prepare "$(tail -c 2048 "$here/prepare.log" | base64 -w 0)"
  return 1
}

# The files of $1 over the tree, whatever stands in their way: a directory, a link, a file where a directory should be.
lay() {
  local number=0 path parent
  while IFS= read -r -d '' path; do
    parent=$path
    while [ "${path:0:1}" != / ] && [ "$parent" != "${parent%/*}" ]; do
      parent=${parent%/*}
      if [ -L "$parent" ] || { [ -e "$parent" ] && [ ! -d "$parent" ]; }; then rm -f -- "$parent"; fi
    done
    rm -rf -- "$path"
    mkdir -p -- "$(dirname -- "$path")" && cp -- "$here/$1/$number" "$path" || return 1
    number=$((number + 1))
  done <"$here/$1.names"
}

# The hidden tests, over what the image or the patch may have put where they add a file.
lay_tests() {
  neutral_git apply --verbose --whitespace=nowarn "$here/tests.patch" && return 0
  xargs -0 -r rm -rf -- <"$here/tests.added"
  neutral_git apply --verbose --whitespace=nowarn "$here/tests.patch" ||
    neutral_git apply --verbose --whitespace=nowarn --recount --ignore-space-change "$here/tests.patch"
}

lay_hidden() {
  {
    { [ ! -f "$here/overlay.names" ] || lay overlay; } && { [ ! -f "$here/tests.patch" ] || LC_ALL=C lay_tests; }
  } >"$here/tests.log" 2>&1 && return 0
  fact tests_patch "$(tail -c 4096 "$here/tests.log" | base64 -w 0)"
  return 1
}

# NUL-terminated, the files that match the family's list of results.
results() {
  local root pattern
  while IFS= read -r -d '' root && IFS= read -r -d '' pattern; do
    root=${root/#'{out}'/$here/out}
    if [ -n "$pattern" ]; then
      find "$root" -type f -path "$pattern" -print0 2>/dev/null
    elif [ -f "$root" ] && [ ! -L "$root" ]; then
      printf '%s\0' "$root"
    fi
  done <"$here/results"
}

# The paths listed in $1, NUL-terminated, from the root of the file system.
absolute() {
  local path
  while IFS= read -r -d '' path; do
    case $path in /*) ;; *) path=$PWD/$path ;; esac
    printf '%s\0' "$path"
  done <"$1"
}

# At most 64 MiB of what the tests left, as one tar.
collect() {
  [ -f "$here/results" ] || return 0
  results >"$here/results.found"
  absolute "$here/results.found" >"$here/results.list"
  [ -s "$here/results.list" ] || return 0
  if has_gnu_tar; then
    tar -c -P --null -T "$here/results.list" -f - 2>/dev/null
  else
    copy "" "$here/collected" "$here/results.list"
    tar -C "$here/collected" -c -f - . 2>/dev/null
  fi | head -c 67108865 >"$here/results.tar"
  if [ "$(stat -c %s "$here/results.tar")" -gt 67108864 ]; then fact results too_big; else fact results "$here/out"; fact results_tree "$PWD"; fi
}

evaluate() {
  local begin
  begin=$(now)
  mkdir -p "$here/out"
  SWE_FILES=$here/files SWE_OUT=$here/out bash "$here/eval.sh" </dev/null 2>&1
  fact eval_exit $?
  fact eval_ms $(($(now) - begin))
  if [ -f "$here/status" ]; then fact test_exit "$(head -c 64 "$here/status" | base64 -w 0)"; fi
  collect
  if [ -f "$here/staged.failed" ]; then fact problem "the files that the tests need: $(head -c 300 "$here/staged.log")"; fi
  if [ -f "$here/tests.after" ] && ! cmp -s "$here/tests.before" "$here/tests.after"; then fact tests changed; fi
}

if [ "${1:-}" = hash ]; then
  cd "$tree" && xargs -0 -r sha256sum -- <"$here/tests"
  exit 0
fi

if [ "${1:-}" = forget ]; then
  cd "$tree" && results | xargs -0 -r rm -f --
  exit 0
fi

if [ "${1:-}" = stage ]; then
  cd "$tree" && lay staged 2>"$here/staged.log" || touch "$here/staged.failed"
  exit 0
fi

if [ "${1:-}" = hollow ]; then
  cd "$tree" || exit 0
  while IFS= read -r -d '' path; do
    case $path in *.py) if [ -f "$path" ] && [ ! -L "$path" ]; then cat "$here/hollow.py" >>"$path"; fi ;; esac
  done <"$here/tests"
  exit 0
fi

if ! cd "$tree" 2>/dev/null; then
  fact problem "no work tree at $tree"
  exit 1
fi
for tool in git tar base64 xargs; do
  if ! command -v "$tool" >/dev/null; then
    fact problem "the image has no $tool"
    exit 1
  fi
done
# What an earlier evaluation in the same sandbox left is no fact about this one.
rm -rf -- "$here"/{before,home,already,index,present,listed,directories,back,status,tests.before,tests.after,out} \
  "$here"/{apply.log,prepare.log,tests.log,results.found,results.list,results.tar,collected,staged.log,staged.failed}
mkdir -p "$here/home"
printf '[safe]\n\tdirectory = *\n\tdirectory = %s\n' "$tree" >"$here/home/.gitconfig"
prepare prepare.sh || exit 0
if [ "${1:-}" = begin ]; then
  prepare begin.sh && fact tree "$tree"
  exit 0
fi
case $(cat "$here/candidate") in
  none) fact apply none ;;
  patch) (LC_ALL=C apply) || exit 0 ;;
  *)
    fact problem "the upload is not whole"
    exit 1
    ;;
esac
lay_hidden || exit 0
evaluate
