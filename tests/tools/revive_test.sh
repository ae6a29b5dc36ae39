#!/usr/bin/env bash
# revive_test.sh SPINDRIFT: two of three members, which are to wait for a revival, are killed or stopped. The third keeps its
# state and says so, is revived and no sooner, goes on, and takes in what is started anew; and ends when it hears that the others have gone on.
set -u
spindrift=$1
. "$(dirname "$0")/scratch.sh"
export SPINDRIFT_CONFIG=$scratch/group.cfg

port() { python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
addresses="0@127.0.0.1:$(port), 1@127.0.0.1:$(port), 2@127.0.0.1:$(port), 3@127.0.0.1:$(port)"
cat >group.cfg <<END2
[SPINDRIFT]
group_name = revived
members = 0, 1, 2, 3
founders = 0, 1, 2
addresses = $addresses
fabric = tcp
security = none
runtime_directory = $scratch/run
majority_lost = wait
suspect_after_ms = 1000
[LAYOUT]
json_layout = '[{"name": "orders"}]'
END2

run_node() { # ID
  "$spindrift" tail orders --reliable --id "$1" --config group.cfg >>"out$1" 2>"errors$1" &
  members[$1]=$!
}
must_run() { # NODES…
  local node
  for node; do kill -0 "${members[node]}" 2>/dev/null || { echo "node $node has ended"; cat "errors$node"; exit 1; }; done
}
until_in_view() { # NODES…
  until must_run "$@" && [ "$("$spindrift" group members --config group.cfg --json | tr -d ' \n' | grep -o '"node":[0-9]*' | cut -d: -f2 |
    sort -n | tr '\n' ' ')" = "$* " ]; do sleep 0.05; done
}
until_state() { # NODE STATE
  until must_run "$1" && "$spindrift" group status --config group.cfg 2>/dev/null | grep -q "^node $1: $2"; do sleep 0.05; done
}
send() { # FIRST LAST: lines, by node 3
  seq "$1" "$2" | "$spindrift" send orders --id 3 --config group.cfg --quiet >/dev/null 2>errors_sent || { cat errors_sent; exit 1; }
}
revive() { "$spindrift" group revive --config group.cfg "$@" >printed 2>errors </dev/null; }
stranded_since() { # since when node 0 is, as counters and metrics have it
  "$spindrift" counters --config group.cfg --id 0 | sed -n 's/^ *\([0-9]*\)  *member.stranded_since_ms$/\1/p' >counted
  "$spindrift" counters --config group.cfg --format prometheus | sed -n 's/^spindrift_member_stranded_since_seconds{.*node="0".*} //p' >measured
  echo "$(cat counted) $(cat measured)"
}
fails() { # CODE TEXT OPTIONS…: to revive the group fails so
  local code=$1 text=$2 ended
  shift 2
  revive "$@"
  ended=$?
  [ $ended = "$code" ] && grep -qF -- "$text" errors && return
  echo "revive $*: code $ended"
  cat errors
  exit 1
}
printed() { # NODE FIRST LAST: exactly these lines
  seq "$2" "$3" >expected
  until [ "$(wc -l <"out$1")" -ge "$(wc -l <expected)" ]; do sleep 0.05; done
  sed 's/^\[[^]]*\] *//; s/^node [0-9]*: //; s/^[0-9]*: //' "out$1" | cmp -s - expected || { echo "node $1 printed:"; head -3 "out$1"; tail -3 "out$1"; exit 1; }
}

for node in 0 1 2; do run_node $node; done
until_in_view 0 1 2
send 1 500
fails 3 'node 0 runs here, and has not lost the majority of a view' --members 0 --yes
fails 3 'none of the members that are named runs here' --members 7 --yes
[ "$(stranded_since)" = '0 0.000' ] || { stranded_since; exit 1; }
began_ms=$(date +%s%3N)

cp run/revived/status/0.status before || exit 1

# Two die: what is left waits, is found by `why`, and goes on with the word of those who run it.
kill -STOP "${members[1]}" "${members[2]}" # or node 0 goes on with one of them for a moment
kill -9 "${members[1]}" "${members[2]}"
until_state 0 stranded
"$spindrift" group why --config group.cfg >why
grep -q 'node 0 waits: without a majority it keeps its state: lost the majority of view .* spindrift group revive --members 0, with --force unless this host shows that nodes 1,2 have ended: else they may live, and would be a majority of the 3 members; of its view node 1, 2 have ended, as this host shows$' why || { cat why; exit 1; }
since_ms=$(stranded_since | cut -d' ' -f1)
[ "$since_ms" -ge "$began_ms" ] && [ "$since_ms" -le "$(date +%s%3N)" ] && stranded_since | grep -q " ${since_ms%???}" || { stranded_since; exit 1; }
grep -q 'waits: it has lost the majority of its view, and keeps its state' errors0 || { cat errors0; exit 1; }
"$spindrift" group create-subgroup late --config group.cfg >printed 2>errors && { echo "a subgroup was created without a majority"; exit 1; }
grep -q 'has lost the majority of its view, and changes nothing' errors || { cat errors; exit 1; }
send 501 1000 &
waiting=$!
fails 2 'nobody is here to be asked' --members 0
# A status that a full disk has kept from being written says nothing of that; the member's counters do.
cp run/revived/status/0.status now && cp before run/revived/status/0.status || exit 1
fails 3 'nodes 1,2 may live' --members 0 --yes
cp now run/revived/status/0.status || exit 1
fails 2 'name those that are left: --members 0' --members 0,1 --yes --force
fails 2 'node 7 is no member' --members 0,7 --yes --force
"$spindrift" group status --config group.cfg | grep -q '^node 0: stranded, .* without its majority' || { "$spindrift" group status --config group.cfg; exit 1; }
"$spindrift" group members --config group.cfg | grep -q '^view [0-9]*, as node 0 has it: its majority is lost' || { "$spindrift" group members --config group.cfg; exit 1; }
mkdir of_the_dead
mv run/revived/status/[12].status of_the_dead || exit 1
fails 3 'nodes 1,2 may live' --members 0 --yes
grep -q -- 'cannot be reached: --force' errors || { cat errors; exit 1; }
mv of_the_dead/* run/revived/status || exit 1
# A node that is started beside it is told who is there, and where to look, while it waits and when it has waited.
"$spindrift" node --id 1 --config group.cfg --set SPINDRIFT/join_timeout_ms=4000 >/dev/null 2>errors_late &
members[3]=$!
until "$spindrift" group why --config group.cfg | grep -q 'node 1 began to look .*a view: node 0 is in one.*until spindrift group revive'; do
  kill -0 "${members[3]}" 2>/dev/null || { echo 'it ended before `why` told of it'; cat errors_late; exit 1; }
  sleep 0.05
done
wait "${members[3]}"
grep -q 'waiting for a view (node 0 is in one, .*until spindrift group revive): ' errors_late || { cat errors_late; exit 1; }
grep -q 'of which node 0 is in a view and has not taken it in.*until spindrift group revive' errors_late || { cat errors_late; exit 1; }
revive --members 0 --yes || { cat errors; exit 1; }
grep -q 'the group goes on with node 0' printed || { cat printed; exit 1; }
wait $waiting || exit 1
until_in_view 0
[ "$(stranded_since)" = '0 0.000' ] || { stranded_since; exit 1; }
printed 0 1 1000

"$spindrift" group members --config group.cfg >printed
grep -q 'majority' printed && { cat printed; exit 1; }
"$spindrift" group why --config group.cfg >why
for node in 1 2; do
  grep -q "node $node was removed: it was given up by a revival of node 0; before that, " why || { cat why; exit 1; }
done

# Nodes that were given up come again, as newcomers: one after the other, for both together are a majority of what they
# remember, and may found anew before they see node 0.
: >out1
run_node 1
until_in_view 0 1
: >out2
run_node 2
until_in_view 0 1 2
send 1001 1500
printed 0 1 1500
printed 1 1001 1500

# Two are stopped: none of them is given up while its process is here. When they go on they are the group, and who waited hears
# that it is out.
for node in 1 2; do kill -STOP "${members[node]}"; done
until_state 0 stranded
fails 3 'is given up, and its process' --members 0 --yes --force
grep -q 'or, as it waits' errors && { echo 'a node that cannot go on is to be named'; cat errors; exit 1; }
grep -q 'end it first: kill -9' errors || { cat errors; exit 1; }
for node in 1 2; do kill -CONT "${members[node]}"; done
until_in_view 1 2
wait "${members[0]}"
code=$?
[ $code = 9 ] && grep -q 'it goes on without this node' errors0 || { echo "node 0 ended with code $code"; cat errors0; exit 1; }
