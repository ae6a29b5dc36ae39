#!/usr/bin/env bash
# stopped_reader_test.sh SPINDRIFT: a tail whose reader has stopped keeps its place for longer than silence is suffered, also
# while the view changes; what it waits for is said, and when the reader goes on nothing is missing.
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
seq 20000 | "$spindrift" send --config group.cfg --id 0 --subgroup orders >out0 2>errors0 &
members+=($!)

until_said ': 1$' out2
kill -9 "${members[1]}"
# That is logged after a second, twice as long as a member may be silent.
until_said 'the view cannot end' errors1
"$spindrift" group why --config group.cfg >why
grep -q 'the view is changing: it waits for node 1, at work in subgroup orders' why || { cat why; exit 1; }

lines=$(sed 's/.*: //' <&3)
[ "$lines" = "$(seq 20000)" ] || { echo 'messages are missing, or in another order'; cat errors1; exit 1; }
wait "${members[0]}" || { echo "tail: code $?"; cat errors1; exit 1; }
wait "${members[2]}" || { echo "send: code $?"; cat errors0; exit 1; }
