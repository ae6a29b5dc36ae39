#!/usr/bin/env bash
# upgrade_test.sh SPINDRIFT NEXT: members are restarted one after another with a later release, while members of the earlier one
# send and print lines. Nothing is lost, the group speaks the earlier version and says who keeps it at that until the last of
# these has left, and the later one from then on; who cannot speak that is refused and told why.
set -u
spindrift=$1 next=$2
. "$(dirname "$0")/rolling.sh"
. "$(dirname "$0")/scratch.sh"
asks_by=group.cfg

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
protocols() { # of those that run
  status | grep -o '"condition":"\(active\|installing\|changing\)"[^{]*"protocol":[0-9]*' | grep -o '[0-9]*$' | sort -u | tr '\n' ' '
}

for node in 0 1 2; do run_node $node "$spindrift" group.cfg; done
until_in_view 0 1 2
[ "$(protocols)" = "21 " ] || { status; exit 1; }

begin_load group.cfg group.cfg
for node in 0 1 2; do
  others=$(for other in 0 1 2 3 4; do [ $other = $node ] || echo $other; done)
  # shellcheck disable=SC2086
  restart $node "$next" group.cfg $others
  until_in_view 0 1 2 3 4
  [ "$(protocols)" = "21 " ] || { echo "before all speak it:"; status; exit 1; }
done
until "$spindrift" group why --config group.cfg >why && grep -q 'up to 22, for nodes 3, 4 are of an earlier one' why; do sleep 0.05; done

end_sender
[ "$(protocols)" = "21 " ] || { echo "beside the last one that speaks none later:"; status; exit 1; }
end_tail
until [ "$(protocols)" = "22 " ]; do sleep 0.05; done
until_said 'the group goes on to a later version of the protocol" version=22 before=21' errors0
"$next" group why --config group.cfg >why
! grep -q 'earlier one' why || { cat why; exit 1; }

check_lines

# The earlier release does not come back, and hears why.
"$spindrift" node --config group.cfg --id 3 >refused 2>errors_refused && { echo "a process that cannot speak it was taken in"; exit 1; }
grep -q 'this group speaks version 22 of the protocol, and your release versions 17 to 21' errors_refused &&
  grep -q 'fix: run the release' errors_refused || { cat errors_refused; exit 1; }
"$next" send orders --config group.cfg --id 3 <<<"after all" >sent 2>errors_sent || { cat errors_sent; exit 1; }
grep -q 'every member has delivered' errors_sent || { cat errors_sent; exit 1; }

# Those that found anew speak what all of them do, whatever the group did before.
kill_all
run_node 0 "$next" group.cfg
run_node 1 "$spindrift" group.cfg
until_in_view 0 1
[ "$(protocols)" = "21 " ] || { echo "founded anew:"; status; exit 1; }
for node in 0 1; do end_node $node; done
