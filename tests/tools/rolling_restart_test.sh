#!/usr/bin/env bash
# rolling_restart_test.sh SPINDRIFT: members are restarted one after another with a file that has another window, while lines
# are sent. Nothing is lost, the group keeps its window and says who differs until all files have the new one, and takes that
# then; a command changes it at once, and files do not undo that, whatever they say and whoever dies.
set -u
spindrift=$1
. "$(dirname "$0")/rolling.sh"
. "$(dirname "$0")/scratch.sh"
asks_by=old.cfg

cat >old.cfg <<END
[SPINDRIFT]
group_name = rolling
members = 0, 1, 2, 3, 4, 5
founders = 0, 1, 2
runtime_directory = $scratch/run
[SUBGROUP/DEFAULT]
window_size = 256
[LAYOUT]
json_layout = '[{"name": "orders"}, {"name": "news"}]'
END
sed 's/^window_size.*/window_size = 64/' old.cfg >new.cfg
sed 's/^window_size.*/window_size = 16/' old.cfg >third.cfg
sed 's/^suspect_after.*//; s/^\[SUBGROUP/suspect_after_ms = 900\n&/' old.cfg >other.cfg
windows() { # of orders and news, as the group has them
  "$spindrift" group subgroups --config old.cfg --json | tr -d ' \n' | grep -o '"configured":.*' | grep -o '"window_messages":[0-9]*' |
    cut -d: -f2 | tr '\n' ' '
}
until_windows() { until [ "$(windows)" = "$* " ]; do sleep 0.05; done; }

for node in 0 1 2; do run_node $node "$spindrift" old.cfg; done
until_in_view 0 1 2
[ "$(windows)" = "256 256 " ] || { windows; exit 1; }

begin_load new.cfg old.cfg

# A file that differs in what must be alike is refused as ever.
"$spindrift" node --config other.cfg --id 5 >refused 2>errors_refused && { echo "another suspect_after_ms was taken"; exit 1; }
grep -q 'suspect_after_ms' errors_refused || { cat errors_refused; exit 1; }

restart 0 "$spindrift" new.cfg 1 2 3 4
until_in_view 0 1 2 3 4
until_said 'other sizes of rings than this node' errors0
grep -q 'window_size is 256 in the group and 64 here' errors0 || { cat errors0; exit 1; }
"$spindrift" group why --config old.cfg >why
grep -q 'file of node 0 has other sizes of rings than the group' why || { cat why; exit 1; }
restart 1 "$spindrift" new.cfg 0 2 3 4
until_in_view 0 1 2 3 4
restart 2 "$spindrift" new.cfg 0 1 3 4
until_in_view 0 1 2 3 4
[ "$(windows)" = "256 256 " ] || { echo "the sender's file still says 256:"; windows; exit 1; }

end_sender

# The last one with the old file has left.
until_windows 64 64
"$spindrift" group why --config old.cfg >why
! grep -q 'sizes of rings' why || { cat why; exit 1; }
end_tail
check_lines

# By command, of one of the file's subgroups.
"$spindrift" group change-subgroup news --window 32 --config new.cfg | grep -Eq '^news +.*32 ' || exit 1
[ "$(windows)" = "64 32 " ] || { windows; exit 1; }
restart 1 "$spindrift" new.cfg 0 2
until_in_view 0 1 2
[ "$(windows)" = "64 32 " ] || { echo "the file undid the command:"; windows; exit 1; }
until_said 'window_size is 32 in the group and 64 here' errors1
until_said "the group takes other sizes of rings.*subgroup news: window_size was 64 and is 32" errors0
for change in '--senders 0' '--ring-bytes 5000'; do
  # shellcheck disable=SC2086
  "$spindrift" group change-subgroup news $change --config new.cfg >printed 2>errors && { echo "taken: $change"; exit 1; }
  grep -q 'fix: ' errors || { cat errors; exit 1; }
done

# After all were killed, a majority goes on with the sizes that the group had.
kill_all
for node in 0 1; do run_node $node "$spindrift" new.cfg; done
until_in_view 0 1
[ "$(windows)" = "64 32 " ] || { echo "the next group has other sizes:"; windows; exit 1; }

# Nor is the command undone by a file that says something else again, whoever dies.
restart 1 "$spindrift" third.cfg 0
until_in_view 0 1
until_said 'window_size is 32 in the group and 16 here; a command has set' errors1
kill -9 "${members[0]}"
wait "${members[0]}"
until_in_view 1
[ "$(windows)" = "64 32 " ] || { echo "a death undid the command:"; windows; exit 1; }
end_node 1
