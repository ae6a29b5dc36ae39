#!/usr/bin/env bash
# halves_test.sh SPINDRIFT: of four members, which are to wait for a revival, two stand still until the others have given them up, and go
# on then. Neither half has a majority; each hears of the other again and again, and its log says so once in a while.
set -u
spindrift=$1
. "$(dirname "$0")/scratch.sh"

port() { python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
cat >group.cfg <<END
[SPINDRIFT]
members = 0, 1, 2, 3
addresses = 0@127.0.0.1:$(port), 1@127.0.0.1:$(port), 2@127.0.0.1:$(port), 3@127.0.0.1:$(port)
fabric = tcp
security = none
runtime_directory = $scratch/run
majority_lost = wait
suspect_after_ms = 500
[LAYOUT]
json_layout = '[{"name": "orders"}]'
END

until_state() { # STATE NODES…
  local state=$1 node
  shift
  for node; do
    until "$spindrift" group status --config group.cfg 2>/dev/null | grep -q "^node $node: $state"; do
      kill -0 "${members[node]}" 2>/dev/null || { echo "node $node has ended"; cat "errors$node"; exit 1; }
      sleep 0.05
    done
  done
}
for node in 0 1 2 3; do
  "$spindrift" node --id $node --config group.cfg >"out$node" 2>"errors$node" &
  members[node]=$!
done
until_state active 0 1 2 3
kill -STOP "${members[2]}" "${members[3]}"
until_state stranded 0 1
kill -CONT "${members[2]}" "${members[3]}"
until_state stranded 0 1 2 3

# One of a half alone may name the other one of it, and the command says so; no more can be done for the other half.
"$spindrift" group revive --config group.cfg --members 0 --yes 2>errors && { echo 'node 1 was given up beside node 0'; exit 1; }
grep -q 'node 1 is given up, .* end it first: kill -9 .*; or, as it waits, too, name it' errors || { cat errors; exit 1; }

# Each asks those that it has parted from at once, and then more and more seldom: a dozen times within some seconds.
until_said 'event=refused .*subject=2' errors0
sleep 4  # nobody tells of lines that are not written
for node in 0 1 2 3; do
  told=$(grep -c 'event=refused' "errors$node")
  [ "$told" -le 2 ] || { echo "node $node has told of $told refusals"; cat "errors$node"; exit 1; }
done
