#!/usr/bin/env bash
# stopped_reader_test.sh SPINDRIFT: a tail whose reader has stopped keeps its place for longer than silence is suffered, and
# holds up no change of the view: one is removed and one comes meanwhile. For whom the senders wait is said, and who has paused,
# and when the reader goes on nothing is missing.
set -u
spindrift=$1
. "$(dirname "$0")/scratch.sh"
write_group_of_three

mkfifo reader
"$spindrift" tail --config group.cfg --id 1 --subgroup orders --reliable --count 20000 >reader 2>errors1 &
members+=($!)
exec 3<reader
"$spindrift" tail --config group.cfg --id 2 --subgroup orders --reliable >out2 2>errors2 &
members+=($!)
mkfifo lines
exec 4<>lines
"$spindrift" send --config group.cfg --id 0 --subgroup orders <lines >out0 2>errors0 3<&- 4>&- &
members+=($!)
seq 20000 >lines &
filler=$!

until_said ': 1$' out2
until "$spindrift" group why --config group.cfg |
  grep -q '^sends of node 0 wait most of the time for node 1, whose application takes least of subgroup orders'; do sleep 0.1; done
until "$spindrift" group why --config group.cfg |
  grep -q ' node 1 has paused the handler of subgroup orders for [0-9]* s: up to [1-9][0-9]* messages of each sender wait, '; do sleep 0.1; done
"$spindrift" group status --config group.cfg | grep -A1 '^node 1: ' | grep -q 'subgroup orders: adequate, .*; its handler is paused since 2' ||
  { "$spindrift" group status --config group.cfg; exit 1; }
"$spindrift" group status --config group.cfg | grep -A1 '^node 2: ' | grep -q 'is paused' && { echo 'node 2 is said to pause'; exit 1; }
kill -9 "${members[1]}"
until "$spindrift" group members --config group.cfg 2>/dev/null | grep -q '^view 1, '; do sleep 0.1; done
"$spindrift" tail --config group.cfg --id 2 --subgroup orders --reliable >again 2>errors2 3<&- 4>&- &
members+=($!)
until "$spindrift" group members --config group.cfg 2>/dev/null | grep -q '^view 2, '; do sleep 0.1; done
[ "$("$spindrift" group members --config group.cfg | grep -c '^ *[0-9]')" = 3 ] ||
  { "$spindrift" group members --config group.cfg; exit 1; }

wait $filler
exec 4>&-
lines=$(sed 's/.*: //' <&3)
[ "$lines" = "$(seq 20000)" ] || { echo 'messages are missing, or in another order'; cat errors1; exit 1; }
wait "${members[0]}" || { echo "tail: code $?"; cat errors1; exit 1; }
wait "${members[2]}" || { echo "send: code $?"; cat errors0; exit 1; }
kill -TERM "${members[3]}"
wait "${members[3]}"
[ ! -s again ] || [ "$(sed 's/.*: //' again | tail -n 1)" = 20000 ] || { echo 'the newcomer missed the last message'; exit 1; }
