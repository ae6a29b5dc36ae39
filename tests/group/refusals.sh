#!/usr/bin/env bash
# refusals.sh COMPILER SOURCE -I…: each case of SOURCE must fail to compile, for the reason that stands beside it and with no
# other error; without a case it compiles. What SOURCE includes is compiled once, ahead of all cases.
set -eu
compiler=$1 source=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
grep '^#include' "$source" >"$work/includes.hpp"
case $("$compiler" --version) in *clang*) compiled=includes.hpp.pch ;; *) compiled=includes.hpp.gch ;; esac
"$compiler" -std=c++20 "$@" -x c++-header "$work/includes.hpp" -o "$work/$compiled" || { echo 'the headers do not compile'; exit 1; }
compile() { "$compiler" -std=c++20 -fsyntax-only "$@" -include "$work/includes.hpp" "$source"; }

compile "$@" || { echo 'the source without a mistake does not compile'; exit 1; }
mapfile -t cases < <(sed -n -E 's,^#(el)?if MISTAKE == ([0-9]+)  // (.*)$,\2 \3,p' "$source")
[ "${#cases[@]}" -gt 0 ] || { echo "no cases in $source"; exit 1; }
for entry in "${cases[@]}"; do
  number=${entry%% *} reason=${entry#* }
  if output=$(compile -DMISTAKE="$number" "$@" 2>&1); then
    echo "case $number compiles, but should not: $reason"
    exit 1
  fi
  errors=$(grep -c 'error: ' <<<"$output")
  if ! grep 'error: ' <<<"$output" | grep -qF "$reason" || [ "$errors" -gt 1 ]; then
    printf 'case %s fails for another reason than, or not alone for: %s\n%s\n' "$number" "$reason" "$output"
    exit 1
  fi
done
echo "${#cases[@]} mistakes are refused"
