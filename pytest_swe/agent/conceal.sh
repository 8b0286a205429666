#!/bin/bash
# Runs inside the sandbox before an agent starts: every repository in the work tree is made anew from what is needed of
# its past, and takes the place of the old one. What git keeps besides (other branches, reflogs, stashes, notes, worktrees,
# alternates, unreachable objects, the messages of the last commit and fetch) is not carried over.
#
#   conceal.sh history TREE BASE   BASE: the id of the commit that the task starts from, or ""
#   conceal.sh caches TREE         other copies of the project in the sandbox, and other repositories

set -u
. "${0%/*}/neutral.sh"
action=$1
cd "$2" 2>/dev/null || die "no directory at the work tree's place"
tree=$(pwd -P)

SECTIONS='^(remote|branch|include|includeif|url|credential|svn-remote|http|fetch|maintenance|gc)\.'
KEYS='core.worktree core.bare core.alternaterefscommand core.splitindex core.fsmonitor extensions.partialclone
  extensions.refstorage extensions.worktreeconfig extensions.preciousobjects'

note() { printf '%s\0' "$1" >>"$here/out/notes"; }
fails() { die "${work#"$tree"/}: $1: $(tail -c 300 "$here/out/errors" | tr '\n' ' ')"; }

fresh() { GIT_DIR=$new GIT_WORK_TREE=$work git -c core.hooksPath=/dev/null -c core.fsmonitor=false "$@"; }
old() { ask "$work" "$@"; }

# The commit that the agent sees as HEAD: what BASE has, or, where the image is another commit than BASE or changed, one
# commit on BASE that holds what can be seen in the tree.
tip_of() {
  local head made when
  # Without a commit HEAD is empty; a commit that cannot be read is another thing.
  if head=$(old rev-parse -q --verify HEAD); then head=$(old rev-parse --verify 'HEAD^{commit}') || return 1; fi
  base=${1:+$(old rev-parse -q --verify "$1^{commit}")}
  if [ -n "$1" ] && [ -z "$base" ]; then note "base_not_there"; fi
  if [ -z "$base" ] || [ "$head" = "$base" ]; then
    printf %s "$head"
    return
  fi
  cp "$index" "$here/seen" 2>/dev/null
  made=$(
    export GIT_INDEX_FILE=$here/seen
    { [ -z "$head" ] || old read-tree "$head"; } && old add -u . && old write-tree
  ) || return 1
  if [ "$made" = "$(old rev-parse "$base^{tree}")" ]; then
    printf %s "$base"
    return
  fi
  when=$(old show -s --format=%ct "$base")
  GIT_AUTHOR_NAME=image GIT_AUTHOR_EMAIL=image@localhost GIT_AUTHOR_DATE="$when +0000" GIT_COMMITTER_NAME=image \
    GIT_COMMITTER_EMAIL=image@localhost GIT_COMMITTER_DATE="$when +0000" \
    old commit-tree "$made" -p "$base" -m "The tree as the image has it"
}

# Into the new repository, the history of $tip and the tags that name commits of it; where objects of it are missing (a
# partial clone), that one commit.
fill() {
  local name id
  old for-each-ref --merged="$tip" --format='%(refname) %(objectname)' refs/tags >"$here/out/tags" || return 1
  {
    printf '%s\n' "$tip"
    cut -d ' ' -f 2 "$here/out/tags"
  } | old pack-objects --revs -q --window=0 --delta-base-offset "$new/objects/pack/pack" >/dev/null 2>>"$here/out/errors" || {
    rm -f "$new"/objects/pack/*
    note "history_cut_to_one_commit"
    : >"$here/out/tags"
    printf '%s\n' "$tip" >"$new/shallow"
    {
      printf '%s\n' "$tip"
      old rev-parse "$tip^{tree}"
      old ls-tree -r -t "$tip" | awk '$2 != "commit" { print $3 }'
    } | sort -u | old pack-objects -q --window=0 "$new/objects/pack/pack" >/dev/null || return 1
  }
  if [ ! -f "$new/shallow" ] && [ -f "$common/shallow" ]; then
    while read -r id; do if fresh cat-file -e "$id" 2>/dev/null; then printf '%s\n' "$id"; fi; done <"$common/shallow" >"$new/shallow"
  fi
  while read -r name id; do fresh update-ref "$name" "$id" || return 1; done <"$here/out/tags"
}

# HEAD, on the branch that it was on, or on none.
point() {
  local branch
  if branch=$(old symbolic-ref -q HEAD); then
    fresh symbolic-ref HEAD "$branch"
    [ -z "$tip" ] || fresh update-ref "$branch" "$tip"
  else
    fresh update-ref --no-deref HEAD "$tip"
  fi
}

# The old index where it says what $tip has (it may hold sparse checkouts and times); else that of $tip.
settle_index() {
  [ -n "$tip" ] || return 0
  if [ -f "$index" ] && cp "$index" "$new/index" && { cp "${index%/*}"/sharedindex.* "$new/" 2>/dev/null || true; } &&
    [ "$(GIT_INDEX_FILE=$new/index old write-tree 2>/dev/null)" = "$(old rev-parse "$tip^{tree}")" ] &&
    ! old ls-files --resolve-undo 2>/dev/null | grep -q .; then
    return 0
  fi
  rm -f "$new/index" "$new"/sharedindex.*
  note "index_reset"
  fresh read-tree "$tip" && { fresh update-index -q --refresh >/dev/null || true; }
}

settle_config() {
  local key
  cat "$common/config" >>"$new/config" || return 1
  while key=$(fresh config --file "$new/config" --name-only --get-regexp "$SECTIONS" | head -n 1) && [ -n "$key" ]; do
    fresh config --file "$new/config" --unset-all "$key" || return 1
  done
  for key in $KEYS; do fresh config --file "$new/config" --unset-all "$key"; done
  fresh config --file "$new/config" core.bare false
}

# What an agent may need of the rest: rules for its tree, and hooks.
settle_rest() {
  local name
  mkdir -p "$new/info"
  for name in exclude attributes sparse-checkout; do
    if [ -f "$gitdir/info/$name" ]; then cp "$gitdir/info/$name" "$new/info/"; elif [ -f "$common/info/$name" ]; then cp "$common/info/$name" "$new/info/"; fi
  done
  [ ! -d "$common/hooks" ] || cp -R "$common/hooks" "$new/"
}

# Every object of the repository at $1 is one of the history of $tip or a tag in it; every ref is in it. Prints what is not.
left_over() {
  local refs
  GIT_DIR=$1 git for-each-ref ${tip:+--no-merged="$tip"} --format='%(refname)'
  GIT_DIR=$1 git cat-file --batch-all-objects --batch-check='%(objectname)' | sort -u >"$here/out/there"
  refs=$(GIT_DIR=$1 git for-each-ref --format='%(objectname)')
  { [ -z "$tip" ] || GIT_DIR=$1 git rev-list --objects "$tip" $refs; } | cut -d ' ' -f 1 | sort -u >"$here/out/needed"
  comm -23 "$here/out/there" "$here/out/needed"
  comm -13 "$here/out/there" "$here/out/needed" | sed 's/$/ is missing/'
  find "$1" \( -path "$1/logs/*" -o -name '*_HEAD' -o -name COMMIT_EDITMSG -o -name alternates -o -path "$1/worktrees/*" \
    -o -path "$1/modules/*" \) -print
  # The work tree's files have the ids that the index says, so what it names besides is more than can be seen.
  [ -z "$tip" ] || GIT_DIR=$1 GIT_WORK_TREE=$work git diff-index --cached --name-only "$tip"
}

# What belongs to the old repository and stands elsewhere: of a work tree, of a submodule, of a clone that shares objects.
elsewhere() {
  case $gitdir/ in "$work/.git/"*) ;; *) printf '%s\n' "$gitdir" ;; esac
  case $common/ in "$work/.git/"*) ;; *) printf '%s\n' "$common" ;; esac
  local place
  old count-objects -v | sed -n 's/^alternate: //p' | while IFS= read -r place; do
    if [ -f "${place%/*}/HEAD" ]; then place=${place%/*}; fi
    printf '%s\n' "$place"
  done
}

# Make the repository of the work tree $1 anew, from the history of $2 or of HEAD; $3 is "inner" for one within the tree.
conceal() {
  local work=$1 inner=${3:-} new=$here/new index gitdir common tip owner mode before
  rm -rf "$new" "$here/seen" && : >"$here/out/errors"
  if [ -L "$work/.git" ]; then fails "its .git is a symbolic link"; fi
  if ! gitdir=$(old rev-parse --absolute-git-dir 2>"$here/out/errors"); then
    # Nothing to read: a pointer to nowhere, or an empty directory.
    if [ -f "$work/.git" ] || [ -z "$(find "$work/.git" -type f | head -n 1)" ]; then return 0; fi
    fails "its .git is no repository that can be read"
  fi
  common=$(cd "$work" && cd "$(old rev-parse --git-common-dir)" && pwd -P) || fails "no directory of its objects"
  index=$(old rev-parse --git-path index)
  tip=$(tip_of "$2" 2>"$here/out/errors") || fails "its files cannot be kept"
  before=$(old cat-file --batch-all-objects --batch-check='%(objectname)' 2>/dev/null | wc -l)
  GIT_DEFAULT_HASH=$(old rev-parse --show-object-format 2>/dev/null || printf sha1) fresh init -q --template= 2>"$here/out/errors" ||
    fails "no new repository"
  { [ -z "$tip" ] || fill; } 2>>"$here/out/errors" || fails "its history cannot be copied"
  { settle_config && point && settle_index && settle_rest; } 2>>"$here/out/errors" || fails "its state cannot be kept"
  fresh pack-refs --all
  rm -rf "$new/logs"
  left_over "$new" >"$here/out/left" 2>>"$here/out/errors"
  [ ! -s "$here/out/left" ] || die "still in the repository at $work: $(head -n 20 "$here/out/left" | tr '\n' ' ')"
  removed=$((removed + before - $(wc -l <"$here/out/there")))
  owner=$(stat -c %u:%g "$work/.git") mode=$(stat -c %A "$common")
  elsewhere >>"$here/out/elsewhere"
  { chown -R "$owner" "$new" && case $mode in ????????w*) chmod -R a+rwX "$new" ;; esac; } 2>>"$here/out/errors" ||
    fails "its owner cannot be kept"
  { rm -rf "$work/.git" && mv "$new" "$work/.git"; } 2>>"$here/out/errors" || fails "the old repository cannot be removed"
  printf '%s\0' "$work" >>"$here/out/done"
  if [ -z "$inner" ] && [ ! -s "$here/out/tip" ]; then printf %s "$tip" >"$here/out/tip"; fi
}

# Repositories around the tree, from the inside out: an agent can go up to them.
around() {
  local place=$tree
  while [ -n "$place" ] && [ "$place" != "${SWE_ROOT:-}" ]; do
    if [ -e "$place/.git" ] || [ -L "$place/.git" ]; then printf '%s\0' "$place"; fi
    place=${place%/*}
  done
  if [ -z "$place" ] && [ -e /.git ]; then printf '/\0'; fi
}

# Those within, the innermost first: a submodule's objects stand in the repository around it.
within() {
  local place
  find . -mindepth 2 -name .git -prune -print0 | while IFS= read -r -d '' place; do
    place=${place%/.git}
    printf '%s\0' "$tree/${place#./}"
  done | sort -zr
}

# Whether $1 is in a repository that was made anew.
is_made() {
  local work
  while IFS= read -r -d '' work; do
    case $1/ in "${work%/}/.git/"*) return 0 ;; esac
  done <"$here/out/done"
  return 1
}

make_anew() {
  local work place
  : >"$here/out/notes"
  : >"$here/out/done"
  : >"$here/out/elsewhere"
  : >"$here/out/tip"
  within >"$here/out/within"
  around >"$here/out/around"
  if [ -s "$here/out/within" ] || [ -s "$here/out/around" ]; then command -v git >/dev/null || die "no git"; fi
  [ -s "$here/out/around" ] || note "no_repository"
  while IFS= read -r -d '' work; do conceal "$work" "" inner; done <"$here/out/within"
  while IFS= read -r -d '' work; do conceal "$work" "$1"; done <"$here/out/around"
  while IFS= read -r place; do
    if [ "$place" = / ] || is_made "$place"; then continue; fi
    rm -rf -- "$place"
    [ ! -e "$place" ] || die "a part of the old repository cannot be removed: $place"
    note "removed $place"
  done < <(sort -u "$here/out/elsewhere")
  tell tip "$here/out/tip"
  tell repositories "$here/out/done"
  tell notes "$here/out/notes"
  say removed "$removed"
  finish
}

# Top level packages of the tree: their names are what an installed copy is called.
packages() {
  local file
  for file in ./*/__init__.py ./src/*/__init__.py ./lib/*/__init__.py; do
    file=${file%/__init__.py} file=${file##*/}
    case $file in '*' | test | tests | testing | doc | docs | examples | scripts | tools | utils | benchmarks) ;; *) printf '%s\n' "$file" ;; esac
  done | sort -u | head -n 20
}

caches() {
  local root=${SWE_ROOT:-}/ name wanted=()
  while read -r name; do
    wanted+=(-o -type d -path "*-packages/$name" -o -type f -name "$name-*.whl" -o -type f -name "$name-*.tar.gz")
  done < <(packages)
  find "$root" -xdev \( -path "$tree" -o -path "$here" -o -path "${root}proc" -o -path "${root}sys" \) -prune -o \
    \( -type d -path '*/.cache/pip/*' -o -type d -path '*/.cache/uv/*' -o -type d -path '*/_cacache/*' -o -name .git \
    -o -type d -name objects "${wanted[@]}" \) -prune -print0 2>/dev/null >"$here/out/places"
  while IFS= read -r -d '' name; do
    case $name in
      */.cache/pip/* | */.cache/uv/* | */_cacache/*) name=${name%/*} ;;
      */objects) if [ -f "${name%/*}/HEAD" ] && [ -d "${name%/*}/refs" ]; then name=${name%/*}; else continue; fi ;;
    esac
    printf '%s\0' "/${name#"$root"}"
  done <"$here/out/places" | sort -zu | head -c 65536 >"$here/out/caches"
  tell caches "$here/out/caches"
  finish
}

removed=0
case $action in
  history) make_anew "$3" ;;
  caches) caches ;;
esac
