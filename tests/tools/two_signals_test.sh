#!/usr/bin/env bash
# two_signals_test.sh SPINDRIFT: a member that gets two signals at once, as timeout(1) sends them, leaves in order all the same;
# one that is still leaving half a second later is ended by another.
set -u
spindrift=$1
. "$(dirname "$0")/scratch.sh"

# Those that are in a view themselves, not only as the others have it.
count_members() { "$spindrift" group status --config group.cfg --json 2>&1 | tr -d ' \n' | grep -o '"condition":"active"' | wc -l; }

write_group_of_three
sed -i "s/suspect_after_ms = 500/suspect_after_ms = 20000/" group.cfg
"$spindrift" node --id 0 --config group.cfg >out0 2>errors0 &
members+=($!)
for round in 1 2 3 4 5; do
  for node in 1 2; do
    "$spindrift" tail orders --reliable --id $node --config group.cfg --json >"out$node" 2>"errors$node" &
    members[node]=$!
  done
  until [ "$(count_members)" = 3 ]; do sleep 0.05; done
  kill -TERM "${members[1]}" "${members[1]}"
  kill -INT "${members[2]}"
  kill -TERM "${members[2]}"
  for node in 1 2; do
    wait "${members[node]}"
    code=$?
    [ $code = 0 ] || { echo "round $round: node $node ended with code $code"; cat "errors$node"; exit 1; }
  done
done

# A member that is stopped takes nothing of what the sender has to say from then on: once that has taken more than a pipe holds, it
# cannot leave.
"$spindrift" tail orders --reliable --id 1 --config group.cfg >out1 2>errors1 &
members[1]=$!
mkfifo lines
"$spindrift" send orders --id 2 --config group.cfg --members 3 <lines 2>errors2 &
members[2]=$!
exec 3>lines
until [ "$(count_members)" = 3 ]; do sleep 0.05; done
kill -STOP "${members[1]}"
yes >&3 2>/dev/null &
members[3]=$!
until [ "$(awk '/^wchar/ { print $2 }' "/proc/${members[3]}/io")" -gt 65536 ]; do sleep 0.05; done
kill -TERM "${members[2]}"
until_said 'still leaving' errors2
kill -TERM "${members[2]}"
wait "${members[2]}"
code=$?
[ $code = 143 ] || { echo "the second signal: code $code"; cat errors2; exit 1; }
