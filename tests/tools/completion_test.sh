#!/usr/bin/env bash
# completion_test.sh SPINDRIFT: bash completes spindrift's words, by the script that it prints; the other shells read theirs.
set -u
spindrift=$1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
touch orders.cfg
mkdir keys
"$spindrift" completion bash >script || exit 1
# shellcheck source=/dev/null
source ./script
wrong=0
completed() {  # words, the last one being completed
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  _spindrift
  printf '%s ' "${COMPREPLY[@]}"
}
expect() {  # what completes, then the words
  local expected=$1 got
  shift
  got=$(completed "$@")
  [ "$got" = "$expected " ] || { echo "\"$*\" completes to \"$got\", not to \"$expected\""; wrong=1; }
}
expect 'tail' spindrift ta
expect 'check' spindrift config ch
expect '--subgroup' spindrift tail --config orders.cfg --su
expect 'orders.cfg' spindrift tail --config or
expect 'orders.cfg' spindrift config check or
expect 'real max' spindrift demo --rate ''
expect 'keys' spindrift group status --group-dir ''
expect 'bash zsh fish --help' spindrift completion ''
expect '' spindrift tail --count ''
expect '' spindrift demo-m
complete -p spindrift >/dev/null || wrong=1
commands=$("$spindrift" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
for command in $commands; do
  expect "$(grep "^$command" <<<"$commands" | paste -sd ' ')" spindrift "$command"  # top begins topic, too
done
for shell in zsh fish; do
  "$spindrift" completion "$shell" >script || wrong=1
  if command -v "$shell" >/dev/null; then "$shell" -n script || wrong=1; fi
done
[ "$wrong" = 0 ] && echo 'the words are completed'
exit "$wrong"
