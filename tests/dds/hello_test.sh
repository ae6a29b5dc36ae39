#!/usr/bin/env bash
# hello_test.sh PUBLISHER SUBSCRIBER: the example's two programs, in two processes without any configuration: the one reads what
# the other writes.
set -eu
publisher=${1:?usage: hello_test.sh PUBLISHER SUBSCRIBER} subscriber=$2
export SPINDRIFT_RUNTIME_DIRECTORY
SPINDRIFT_RUNTIME_DIRECTORY=$(mktemp -d)
trap 'rm -rf "$SPINDRIFT_RUNTIME_DIRECTORY"' EXIT
"$subscriber" 5 >"$SPINDRIFT_RUNTIME_DIRECTORY/read" &
reading=$!
wrote=$("$publisher" 5)
wait "$reading"
[ "$wrote" = 'wrote 5 greetings' ] || { echo "the publisher said: $wrote"; exit 1; }
diff - "$SPINDRIFT_RUNTIME_DIRECTORY/read" <<'LINES'
0: hello, world
1: hello, world
2: hello, world
3: hello, world
4: hello, world
LINES
