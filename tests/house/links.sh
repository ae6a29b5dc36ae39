#!/usr/bin/env bash
# links.sh TREE: every relative link of every page leads to a file, and behind # to a heading of it, and every path that README
# and ARCHITECTURE set in backticks exists; exits 1 and names each that does not.
set -eu
cd "${1:?usage: links.sh TREE}"

broken=0
missing() {
  echo "$1: no such file: $2"
  broken=$((broken + 1))
}

# anchors PAGE: what its headings are called in links.
anchors() {
  sed -nE 's/^#+ +//p' "$1" | tr '[:upper:]' '[:lower:]' | sed -E 's/[^[:alnum:] _-]//g; s/ /-/g'
}

while IFS= read -r page; do
  directory=$(dirname "$page")
  while IFS= read -r link; do
    target=${link%%#*}
    case $target in http://* | https://* | mailto:*) continue ;; esac
    file=${target:+$directory/$target}
    file=${file:-$page}
    [ -e "$file" ] || { missing "$page" "$target"; continue; }
    case $link in *.md'#'* | '#'*) anchors "$file" | grep -qxF -- "${link#*#}" || missing "$page" "$link" ;; esac
  done < <(grep -oE '\]\([^) ]+\)' "$page" | sed -E 's/^\]\((.*)\)$/\1/' || true)
done < <(find . \( -name .git -o -name build \) -prune -o -name '*.md' -print)

# In the two pages, `tools/demo` and the like are promises too. A path of this tree starts with one of its folders.
for page in README.md ARCHITECTURE.md; do
  [ -f "$page" ] || continue
  while IFS= read -r path; do
    case $path in *[*…{]*) continue ;; esac
    [ -e "$path" ] || missing "$page" "$path"
  done < <(grep -oE '`(core|fabric|group|kernel|sst|smc|views|store|rpc|dds|tools|bench|tests|docs|cmake|examples|\.ci)/[^` ]*' "$page" | tr -d '`' || true)
done

[ "$broken" -eq 0 ] || exit 1
echo "links: every link leads somewhere"
