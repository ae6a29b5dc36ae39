#!/usr/bin/env bash
# shapes_test.sh SHAPES PING PONG THROUGHPUT_PUBLISHER THROUGHPUT_SUBSCRIBER: the examples that are written as those of other products
# are, each pair in processes of its own without any configuration.
set -eu
shapes=${1:?usage: shapes_test.sh SHAPES PING PONG THROUGHPUT_PUBLISHER THROUGHPUT_SUBSCRIBER} ping=$2 pong=$3 publisher=$4 subscriber=$5
export SPINDRIFT_RUNTIME_DIRECTORY
SPINDRIFT_RUNTIME_DIRECTORY=$(mktemp -d)
scratch=$SPINDRIFT_RUNTIME_DIRECTORY
trap 'rm -rf "$scratch"' EXIT

# The subscriber is late, and has what is kept of the color that it asks for, and then the end of the instance.
"$shapes" -P -t Circle -c RED -D l -k 2 -n 60 -w 50 -F d >"$scratch/red" &
red=$!
"$shapes" -P -t Circle -c GREEN -D l -k 2 -n 60 -w 50 >"$scratch/green" &
green=$!
until [ -s "$scratch/red" ] && [ -s "$scratch/green" ]; do sleep 0.05; done
"$shapes" -S -t Circle -c RED -D l -k 0 -n 5 >"$scratch/read"
[ "$(grep -c '^Circle     RED ' "$scratch/read")" = 5 ] || { cat "$scratch/read"; exit 1; }
"$shapes" -S -t Circle -k 0 -n 1000 >"$scratch/all" &
all=$!
wait "$red" "$green"
for end in 'RED .*NOT_ALIVE_DISPOSED' 'GREEN .*NOT_ALIVE_'; do
  until grep -q "$end" "$scratch/all"; do
    kill -0 "$all" || { echo "the subscriber ended before it said $end"; exit 1; }
    sleep 0.05
  done
done
kill "$all"
wait "$all" || true

"$pong" &
pong_process=$!
trips=$("$ping" 200 100)
wait "$pong_process"
[[ "$trips" = '100 round trips of 200 bytes: median '* ]] || { echo "ping said: $trips"; exit 1; }

"$subscriber" >"$scratch/throughput" &
reading=$!
[ "$("$publisher" 500 20000)" = 'wrote 20000 samples' ]
wait "$reading"
grep -q '^20000 samples, 0 missing, 10000000 bytes, ' "$scratch/throughput" || { cat "$scratch/throughput"; exit 1; }
