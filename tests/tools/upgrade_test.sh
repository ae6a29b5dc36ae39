#!/usr/bin/env bash
# upgrade_test.sh SPINDRIFT NEXT: members are restarted one after another with a later release, while members of the earlier one
# send and print lines. Nothing is lost, the group speaks the earlier version and says who keeps it at that until the last of
# these has left, and the later one from then on; who cannot speak that is refused and told why.
set -u
spindrift=$1 next=$2
. "$(dirname "$0")/scratch.sh"

cat >group.cfg <<END
[SPINDRIFT]
group_name = upgrade
members = 0, 1, 2, 3, 4
founders = 0, 1, 2
runtime_directory = $scratch/run
[LAYOUT]
json_layout = '[{"name": "orders"}]'
END
status() { "$next" group status --config group.cfg --json | tr -d ' \n'; }
until_in_view() { # NODES…: those and no others are members
  until [ "$("$next" group members --config group.cfg --json 2>/dev/null | tr -d ' \n' | grep -o '"node":[0-9]*' | cut -d: -f2 |
    sort -n | tr '\n' ' ')" = "$* " ]; do sleep 0.05; done
}
protocols() { # of those that run
  status | grep -o '"condition":"active"[^{]*"protocol":[0-9]*' | grep -o '[0-9]*$' | sort -u | tr '\n' ' '
}
run_node() { # ID RELEASE
  "$2" node --config group.cfg --id "$1" >"node$1" 2>"errors$1" 3>&- &
  members[$1]=$!
}
restart() { # ID RELEASE OTHERS…: leaves in order, and comes again
  local id=$1 release=$2 code
  shift 2
  kill "${members[$id]}"
  wait "${members[$id]}"
  code=$?
  [ $code = 130 ] || [ $code = 0 ] || { echo "node $id ended with code $code"; cat "errors$id"; exit 1; }
  until_in_view "$@"
  run_node "$id" "$release"
}

for node in 0 1 2; do run_node $node "$spindrift"; done
until_in_view 0 1 2
[ "$(protocols)" = "17 " ] || { status; exit 1; }

mkfifo lines
exec 3<>lines
"$spindrift" tail orders --reliable --config group.cfg --id 4 --json >got 2>errors_tail 3>&- &
tail=$!
members[10]=$tail
until_in_view 0 1 2 4
"$spindrift" send orders --config group.cfg --id 3 <lines >sent 2>errors_sent 3>&- &
sender=$!
members[11]=$sender
until_in_view 0 1 2 3 4
(trap 'exit 0' TERM; i=0; while printf '%s\n' $((i++)); do echo $i >count; done) >lines 2>/dev/null 3>&- &
load=$!
members[12]=$load

for node in 0 1 2; do
  others=$(for other in 0 1 2 3 4; do [ $other = $node ] || echo $other; done)
  # shellcheck disable=SC2086
  restart $node "$next" $others
  until_in_view 0 1 2 3 4
  [ "$(protocols)" = "17 " ] || { echo "before all speak it:"; status; exit 1; }
done
until "$spindrift" group why --config group.cfg >why && grep -q 'up to 18, for nodes 3, 4 are of an earlier one' why; do sleep 0.05; done

kill $load
wait $load
unset 'members[12]'
exec 3>&-
wait $sender || { cat errors_sent; exit 1; }
unset 'members[11]'
grep -q 'every member has delivered' errors_sent || { cat errors_sent; exit 1; }
[ "$(protocols)" = "17 " ] || { echo "beside the last one that speaks none later:"; status; exit 1; }
kill -INT $tail
wait $tail
unset 'members[10]'
until [ "$(protocols)" = "18 " ]; do sleep 0.05; done
"$next" group why --config group.cfg >why
! grep -q 'earlier one' why || { cat why; exit 1; }

grep -o '"text":"[0-9]*"' got | grep -o '[0-9]*' >numbers
[ -s numbers ] || { echo "no line came"; exit 1; }
seq 0 $(($(wc -l <numbers) - 1)) | cmp -s - numbers || { echo "lines are missing, or out of order"; exit 1; }
said=$(grep -o 'sent [0-9]*' errors_sent | grep -o '[0-9]*')
[ "$said" = "$(wc -l <numbers)" ] || { echo "sent $said, got $(wc -l <numbers)"; cat errors_sent; exit 1; }

# The earlier release does not come back, and hears why.
"$spindrift" node --config group.cfg --id 3 >refused 2>errors_refused && { echo "a process that cannot speak it was taken in"; exit 1; }
grep -q 'this group speaks version 18 of the protocol, and your release version 17' errors_refused &&
  grep -q 'fix: run the release' errors_refused || { cat errors_refused; exit 1; }
"$next" send orders --config group.cfg --id 3 <<<"after all" >sent 2>errors_sent || { cat errors_sent; exit 1; }
grep -q 'every member has delivered' errors_sent || { cat errors_sent; exit 1; }

# Those that found anew speak what all of them do, whatever the group did before.
kill -STOP "${members[0]}" "${members[1]}" "${members[2]}"  # so that none goes on without the others
kill -9 "${members[0]}" "${members[1]}" "${members[2]}"
wait
members=()
run_node 0 "$next"
run_node 1 "$spindrift"
until_in_view 0 1
[ "$(protocols)" = "17 " ] || { echo "founded anew:"; status; exit 1; }
for node in 0 1; do
  kill "${members[$node]}"
  wait "${members[$node]}"
  code=$?
  [ $code = 130 ] || [ $code = 0 ] || { echo "node $node ended with code $code"; cat "errors$node"; exit 1; }
done
