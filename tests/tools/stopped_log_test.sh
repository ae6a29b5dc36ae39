#!/usr/bin/env bash
# stopped_log_test.sh SPINDRIFT: members whose standard error, or whose lines about views, nobody reads lose nothing but such
# lines: the group changes its view and delivers, and whoever is told to end does.
set -u
spindrift=$1
. "$(dirname "$0")/scratch.sh"
cat >group.cfg <<END
[SPINDRIFT]
members = 0, 1, 2, 3
founders = 1, 2, 3
runtime_directory = $scratch/run
log_level = info
[LAYOUT]
json_layout = '[{"name": "orders"}]'
END

# Pipes that are full from the start, and that nobody reads.
mkfifo log views
exec 3<>log 4<>views
head -c 65536 /dev/zero >&3
head -c 65536 /dev/zero >&4

"$spindrift" tail --config group.cfg --id 1 --subgroup orders --reliable >out1 2>log &
members+=($!)
"$spindrift" node --config group.cfg --id 2 >views 2>log &
members+=($!)
"$spindrift" node --config group.cfg --id 3 >out3 2>log &
members+=($!)
seq 20000 | "$spindrift" send --config group.cfg --id 0 --subgroup orders >out0 2>errors0 || { cat errors0; exit 1; }
until_said ': 20000$' out1

# A loss and a leave: all who stay log and print their views.
kill -9 "${members[0]}"
until_said '; failed 1 ' out3
"$spindrift" tail --config group.cfg --id 1 --subgroup orders --reliable >out1 2>log &
members+=($!)
until_said '; joined 1$' out3
seq 20000 | "$spindrift" send --config group.cfg --id 0 --subgroup orders >out0 2>errors0 || { cat errors0; exit 1; }
until_said ': 20000$' out1
kill -TERM "${members[1]}"
until_said '; left 2$' out3
for one in 2 3; do
  kill -TERM "${members[one]}"
  wait "${members[one]}" || { echo "member ${members[one]} ended with code $?"; exit 1; }
done

# The one whose lines about views are not read waits for that, out of the group, and then has all of them.
head -c 65536 <&4 >/dev/null
wait "${members[1]}" || { echo "ended with code $?"; exit 1; }
exec 5<views 4>&-
cat <&5 >lines
grep -q '; failed 1 ' lines && tail -n 1 lines | grep -q '^left: ' || { echo 'lines about views are missing'; cat lines; exit 1; }
