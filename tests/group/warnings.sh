#!/usr/bin/env bash
# warnings.sh COMPILER SOURCE -I…: SOURCE compiles without a warning, however it is optimized.
set -eu
compiler=$1 source=$2
shift 2
for level in -O1 -O2 -O3; do
  "$compiler" -std=c++20 "$level" -Wall -Wextra -Werror "$@" -c "$source" -o /dev/null || { echo "not with $level"; exit 1; }
done
echo 'no warnings'
