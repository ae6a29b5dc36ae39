#!/usr/bin/env bash
# rolling_restart_test.sh SPINDRIFT: members are restarted one after another with a file that has another window, while lines
# are sent. Nothing is lost, the group keeps its window and says who differs until all files have the new one, and takes that
# then; a command changes it at once, and files that say what they said before do not undo that.
set -u
spindrift=$1
. "$(dirname "$0")/scratch.sh"

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
sed 's/^suspect_after.*//; s/^\[SUBGROUP/suspect_after_ms = 900\n&/' old.cfg >other.cfg
until_in_view() { # NODES…: those and no others are members
  until [ "$("$spindrift" group members --config old.cfg --json 2>/dev/null | tr -d ' \n' | grep -o '"node":[0-9]*' | cut -d: -f2 |
    sort -n | tr '\n' ' ')" = "$* " ]; do sleep 0.05; done
}
run_node() { # ID FILE
  "$spindrift" node --config "$2" --id "$1" >"node$1" 2>"errors$1" 3>&- &
  members[$1]=$!
}
windows() { # of orders and news, as the group has them
  "$spindrift" group subgroups --config old.cfg --json | tr -d ' \n' | grep -o '"configured":.*' | grep -o '"window_messages":[0-9]*' |
    cut -d: -f2 | tr '\n' ' '
}
until_windows() { until [ "$(windows)" = "$* " ]; do sleep 0.05; done; }
restart() { # ID FILE OTHERS…: leaves in order, and comes again
  local id=$1 file=$2
  shift 2
  kill "${members[$id]}"
  wait "${members[$id]}"
  local code=$?
  [ $code = 130 ] || [ $code = 0 ] || { echo "node $id ended with code $code"; cat "errors$id"; exit 1; }
  until_in_view "$@"
  run_node "$id" "$file"
}

for node in 0 1 2; do run_node $node old.cfg; done
until_in_view 0 1 2
[ "$(windows)" = "256 256 " ] || { windows; exit 1; }

mkfifo lines
exec 3<>lines
"$spindrift" tail orders --reliable --config new.cfg --id 4 --json >got 2>errors_tail 3>&- &
tail=$!
members[10]=$tail
until_in_view 0 1 2 4
"$spindrift" send orders --config old.cfg --id 3 <lines >sent 2>errors_sent 3>&- &
sender=$!
members[11]=$sender
until_in_view 0 1 2 3 4
(trap 'exit 0' TERM; i=0; while printf '%s\n' $((i++)); do echo $i >count; done) >lines 2>/dev/null 3>&- &
load=$!
members[12]=$load

# A file that differs in what must be alike is refused as ever.
"$spindrift" node --config other.cfg --id 5 >refused 2>errors_refused && { echo "another suspect_after_ms was taken"; exit 1; }
grep -q 'suspect_after_ms' errors_refused || { cat errors_refused; exit 1; }

restart 0 new.cfg 1 2 3 4
until_in_view 0 1 2 3 4
until_said 'other sizes of rings than this node' errors0
grep -q 'window_size is 256 in the group and 64 here' errors0 || { cat errors0; exit 1; }
"$spindrift" group why --config old.cfg >why
grep -q 'file of node 0 has other sizes of rings than the group' why || { cat why; exit 1; }
restart 1 new.cfg 0 2 3 4
until_in_view 0 1 2 3 4
restart 2 new.cfg 0 1 3 4
until_in_view 0 1 2 3 4
[ "$(windows)" = "256 256 " ] || { echo "the sender's file still says 256:"; windows; exit 1; }

kill $load
wait $load
unset 'members[12]'
exec 3>&-
wait $sender || { cat errors_sent; exit 1; }
unset 'members[11]'
grep -q 'every member has delivered' errors_sent || { cat errors_sent; exit 1; }

# The last one with the old file has left.
until_windows 64 64
"$spindrift" group why --config old.cfg >why
! grep -q 'sizes of rings' why || { cat why; exit 1; }
kill -INT $tail
wait $tail
unset 'members[10]'
grep -o '"text":"[0-9]*"' got | grep -o '[0-9]*' >numbers
[ -s numbers ] || { echo "no line came"; exit 1; }
seq 0 $(($(wc -l <numbers) - 1)) | cmp -s - numbers || { echo "lines are missing, or out of order"; exit 1; }
said=$(grep -o 'sent [0-9]*' errors_sent | grep -o '[0-9]*')
[ "$said" = "$(wc -l <numbers)" ] || { echo "sent $said, got $(wc -l <numbers)"; cat errors_sent; exit 1; }

# By command, of one of the file's subgroups.
"$spindrift" group change-subgroup news --window 32 --config new.cfg | grep -Eq '^news +.*32 ' || exit 1
[ "$(windows)" = "64 32 " ] || { windows; exit 1; }
restart 1 new.cfg 0 2
until_in_view 0 1 2
[ "$(windows)" = "64 32 " ] || { echo "the file undid the command:"; windows; exit 1; }
until_said 'window_size is 32 in the group and 64 here' errors1
for change in '--senders 0' '--ring-bytes 5000'; do
  # shellcheck disable=SC2086
  "$spindrift" group change-subgroup news $change --config new.cfg >printed 2>errors && { echo "taken: $change"; exit 1; }
  grep -q 'fix: ' errors || { cat errors; exit 1; }
done

# After all were killed, a majority goes on with the sizes that the group had.
kill -STOP "${members[0]}" "${members[1]}" "${members[2]}"  # so that none goes on without the others
kill -9 "${members[0]}" "${members[1]}" "${members[2]}"
wait
members=()
for node in 0 1; do run_node $node new.cfg; done
until_in_view 0 1
[ "$(windows)" = "64 32 " ] || { echo "the next group has other sizes:"; windows; exit 1; }
for node in 0 1; do
  kill "${members[$node]}"
  wait "${members[$node]}"
  code=$?
  [ $code = 130 ] || [ $code = 0 ] || { echo "node $node ended with code $code"; cat "errors$node"; exit 1; }
done
