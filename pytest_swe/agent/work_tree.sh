#!/bin/bash
# Runs inside the sandbox, before and after an agent. It asks a git directory of its own, beside this file, about the
# work tree; of the tree's repository it only takes names (what is tracked) and ids, as data.
#
#   work_tree.sh list TREE LARGEST SINCE   what stands in the tree; files over LARGEST bytes apart, what is newer than SINCE
#   work_tree.sh keep TREE                 the tree object of the files in `paths`, and a pack of it
#   work_tree.sh diff TREE LIMIT           the patch from the tree in `tree` to the files in `paths`
#
# Beside it may stand: format (of object ids), exclude (the repository's own list of ignored files), baseline.pack and
# tree (from `keep`); NUL-terminated lists: paths, and kept and undo, both as git's --index-info reads them.

set -u
. "${0%/*}/neutral.sh"
action=$1 tree=$2
cd "$tree" 2>/dev/null || die "no directory at the work tree's place"
tree=$(pwd -P)
command -v git >/dev/null || die "no git"
export GIT_DIR=$here/git GIT_WORK_TREE=$tree

own_git() {
  [ ! -d "$GIT_DIR" ] || return 0
  local format
  format=$(cat "$here/format" 2>/dev/null) || format=$(object_format)
  [ "$format" = sha1 ] || export GIT_DEFAULT_HASH=$format
  git init -q --template= "$GIT_DIR" || return 1
  unset GIT_DEFAULT_HASH
  mkdir -p "$GIT_DIR/info"
  # Bytes as they stand in the tree: no line ends, filters or encodings. This file is above every .gitattributes.
  printf '* -text !eol !ident !filter !working-tree-encoding !diff !merge !whitespace\n' >"$GIT_DIR/info/attributes"
  [ ! -f "$here/exclude" ] || cp "$here/exclude" "$GIT_DIR/info/exclude"
  printf '[core]\n%s[gc]\n\tauto = 0\n' "$(printf '\t%s\n' 'fileMode = true' 'symlinks = true' 'ignoreCase = false' \
    'autocrlf = false' 'safecrlf = false' 'excludesFile = /dev/null' 'attributesFile = /dev/null' \
    'hooksPath = /dev/null' 'fsmonitor = false' 'untrackedCache = false' 'compression = 1' 'quotePath = true')
" >>"$GIT_DIR/config"
  if [ -f "$here/baseline.pack" ]; then
    git index-pack --stdin <"$here/baseline.pack" >/dev/null && git read-tree "$(cat "$here/tree")"
  fi
}

object_format() {
  local found
  found=$(ask "$tree" rev-parse --show-object-format 2>/dev/null)
  case $found in sha256) printf sha256 ;; *) printf sha1 ;; esac
}

head_commit() { ask "$tree" rev-parse -q --verify HEAD 2>/dev/null; }
objects() { ask "$tree" rev-parse --git-path objects 2>/dev/null; }

# NUL-terminated, what the tree's repository tracks, in its index and in HEAD: also what its rules would ignore.
tracked() {
  local index head
  [ -f .git ] || [ -d .git ] || return 0
  # A pipe would keep git waiting.
  [ -z "$(find .git -maxdepth 2 ! -type d ! -type f ! -type l 2>/dev/null | head -n 1)" ] || return 0
  index=$(ask "$tree" rev-parse --git-path index 2>/dev/null)
  if [ -f "$index" ]; then
    cp "$index" "$here/their-index"
    cp "${index%/*}"/sharedindex.* "$GIT_DIR/" 2>/dev/null
    GIT_INDEX_FILE=$here/their-index git ls-files -z
  fi
  head=$(head_commit) && GIT_ALTERNATE_OBJECT_DIRECTORIES=$(objects) git ls-tree -r -z --name-only --full-tree "$head"
}

# Every file, without git's own directories; names begin with ./
listed() { find . -name .git -prune -o "$@" -print0; }

list() {
  local largest=$1 since=$2
  listed ! -type d ! -type f ! -type l >"$here/out/special" 2>/dev/null
  if tr '\0' '\n' <"$here/out/special" | grep -q '/\.git[a-z]*$'; then
    die "a file that git would read is a pipe or a device"
  fi
  own_git 2>"$here/out/errors" || die "git does not start: $(head -c 300 "$here/out/errors")"
  tracked >"$here/out/tracked" 2>/dev/null
  git ls-files --others --exclude-standard -z >"$here/out/others" 2>"$here/out/errors" ||
    die "git cannot read the tree: $(head -c 300 "$here/out/errors")"
  listed \( -type l -o -type f ! -size "+${largest}c" \) >"$here/out/present"
  listed -type f -size "+${largest}c" >"$here/out/big"
  find . -mindepth 2 -name .git -prune -print0 >"$here/out/nested"
  : >"$here/out/newer"
  if [ "$since" != 0 ] && touch -d "@$since" "$here/since" 2>/dev/null; then
    listed -newer "$here/since" ! -type d >"$here/out/newer"
  fi
  date +%s >"$here/out/time"
  local part
  for part in special tracked others present big nested newer time; do tell $part "$here/out/$part"; done
  finish
}

# The tree of the files in `paths`; what stands in `kept` is taken as it is.
write_tree() {
  rm -f "$GIT_DIR/index"
  { [ ! -s "$here/kept" ] || git update-index -z --index-info <"$here/kept"; } &&
    git update-index --add --remove --replace -z --stdin <"$here/paths" && git write-tree
}

keep() {
  local made head
  made=$(write_tree 2>"$here/out/errors") || die "git cannot keep the tree: $(tail -c 300 "$here/out/errors")"
  git ls-files --stage -z >"$here/out/entries"
  printf '%s\n' "$made" | git pack-objects --revs -q --window=0 --stdout >"$here/baseline.pack" || die "no pack"
  : >"$here/out/dirty"
  if head=$(head_commit); then
    GIT_ALTERNATE_OBJECT_DIRECTORIES=$(objects) \
      git diff-tree -r -z --name-only --ignore-submodules=all "$head^{tree}" "$made" >"$here/out/dirty"
  fi
  say tree "$made"
  say format "$(case ${#made} in 64) printf sha256 ;; *) printf sha1 ;; esac)"
  tell entries "$here/out/entries"
  tell dirty "$here/out/dirty"
  local exclude
  exclude=$(ask "$tree" rev-parse --git-path info/exclude 2>/dev/null)
  [ ! -f "$exclude" ] || tell exclude "$exclude"
  date +%s >"$here/out/time"
  tell time "$here/out/time"
  finish
}

# Whether the patch, applied to the baseline, gives exactly the tree that it was made from.
carries() {
  [ "$base" != "$final" ] || return 0
  (
    export GIT_INDEX_FILE=$here/check
    rm -f "$here/check"
    git read-tree "$base" && git apply --cached --whitespace=nowarn "$here/out/patch" && [ "$(git write-tree)" = "$final" ]
  )
}

make_patch() {
  git diff-tree -r -p --binary --full-index --no-color --no-ext-diff --no-textconv --src-prefix=a/ --dst-prefix=b/ \
    "$@" "$base" "$final" >"$here/out/patch"
}

diff_trees() {
  local limit=$1 base full final size
  base=$(cat "$here/tree")
  full=$(write_tree 2>"$here/out/errors") && [ ${#full} = ${#base} ] ||
    die "git cannot take the tree: $(tail -c 300 "$here/out/errors")"
  git diff-tree -r -z --name-only "$base" "$full" >"$here/out/changed"
  { [ ! -s "$here/undo" ] || git update-index --replace -z --index-info <"$here/undo"; } && final=$(git write-tree) ||
    die "git cannot leave out what is excluded"
  make_patch -M -l1000
  size=$(wc -c <"$here/out/patch")
  [ "$size" -le "$limit" ] || die "the patch has $((size)) bytes, more than $limit"
  if ! carries >>"$here/out/errors" 2>&1; then
    make_patch --no-renames
    carries >>"$here/out/errors" 2>&1 || die "no patch gives this tree: $(tail -c 300 "$here/out/errors")"
    size=$(wc -c <"$here/out/patch")
    [ "$size" -le "$limit" ] || die "the patch has $((size)) bytes, more than $limit"
  fi
  tell changed "$here/out/changed"
  tell patch "$here/out/patch"
  tell errors "$here/out/errors"
  finish
}

case $action in
  list) list "$3" "$4" ;;
  keep) keep ;;
  diff) diff_trees "$3" ;;
esac
