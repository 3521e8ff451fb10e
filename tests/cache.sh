# Sourced by the build scripts under tests/: things that are built once and kept.
#
# A built thing is a directory NAME-KEY in $BPA_CACHE (default ~/.cache/bpa),
# where KEY is a short hash of all that it was built from. A directory with
# that name is whole: it is built under another name and renamed at the end.

BPA_CACHE=${BPA_CACHE:-$HOME/.cache/bpa}

# Progress goes to stderr, because stdout carries the directory alone.
say() { echo "$*" >&2; }

die() {
  say "error: $*"
  exit 1
}

# hash_of WORD... : short hash over the given words and over stdin.
hash_of() {
  { printf '%s\n' "$@"; cat; } | sha256sum | cut -c1-12
}

# tree_of DIR : names and contents of all files below DIR, for hash_of. Texts for
# readers and what Python leaves behind make no difference to what is built.
tree_of() {
  (cd "$1" && find . -type f ! -name '*.pyc' ! -name '*.md' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum)
}

# cached NAME KEY FUNCTION : prints the directory NAME-KEY; calls FUNCTION with
# an empty directory to fill when it does not stand yet. Callers at the same
# time wait for one another, so that one builds and all use the result.
cached() {
  local name=$1 key=$2 make=$3 lock tmp
  local final=$BPA_CACHE/$name-$key
  if [ ! -d "$final" ]; then
    mkdir -p "$BPA_CACHE"
    exec {lock}>"$BPA_CACHE/.$name.lock"
    flock "$lock"
    # Whoever made these is gone: we hold the lock.
    rm -rf "$BPA_CACHE/$name"-*.tmp.*
    if [ ! -d "$final" ]; then
      tmp=$final.tmp.$$
      mkdir "$tmp"
      "$make" "$tmp" >&2
      mv "$tmp" "$final"
    fi
    exec {lock}>&-
  fi
  echo "$final"
}
