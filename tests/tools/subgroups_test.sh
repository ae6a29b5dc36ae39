#!/usr/bin/env bash
# subgroups_test.sh SPINDRIFT: two subgroups are created in a group that runs, lines go through both and through one of the
# file, a node joins, a member is killed, and one of the two is dropped; nothing is lost that a member sent that stayed, and
# what is impossible is refused with the reason.
set -u
spindrift=$1
. "$(dirname "$0")/scratch.sh"

cat >group.cfg <<END
[SPINDRIFT]
group_name = created
members = 0,1,2,3,4,5,6,7
founders = 0,1,2
runtime_directory = $scratch/run
suspect_after_ms = 2000
[LAYOUT]
json_layout = '[{"name": "orders"}]'
END
fails() { # TEXT COMMAND…: ends with an error that has this text
  local text=$1
  shift
  "$@" >printed 2>errors && { echo "succeeded: $*"; exit 1; }
  grep -qF "$text" errors || { echo "no \"$text\" of $*:"; cat errors; exit 1; }
}
until_in_view() { # NODES…: those and no others are members
  until [ "$("$spindrift" group members --config group.cfg --json 2>/dev/null | tr -d ' \n' | grep -o '"node":[0-9]*' | cut -d: -f2 |
    sort -n | tr '\n' ' ')" = "$* " ]; do sleep 0.05; done
}
run_node() { # ID
  "$spindrift" node --config group.cfg --id "$1" >"node$1" 2>"errors$1" 3>&- &
  members[$1]=$!
}
subgroups() { # the names of those that were created
  "$spindrift" group subgroups --config group.cfg --json | tr -d ' \n' | grep -o '"subgroups":.*' | grep -o '"name":"[a-z]*"' | cut -d'"' -f4 | tr '\n' ' '
}

for node in 0 1 2; do run_node $node; done
until_in_view 0 1 2
fails 'has no subgroup of that name' "$spindrift" send jobs --config group.cfg --id 5
fails 'no subgroup is named "jobs"' "$spindrift" group drop-subgroup jobs --config group.cfg
fails "is one of the configuration's" "$spindrift" group create-subgroup orders --config group.cfg
fails 'no power of two' "$spindrift" group create-subgroup jobs --ring-bytes 5000 --config group.cfg

# Under load: lines go through the file's subgroup all the time.
mkfifo lines
exec 3<>lines
"$spindrift" send orders --config group.cfg --id 3 <lines >sent 2>errors_sent 3>&- &
sender=$!
members[10]=$sender
until_in_view 0 1 2 3
(i=0; while printf '%s\n' $((i++)); do :; done) >lines 2>/dev/null 3>&- &
load=$!
members[11]=$load
"$spindrift" group create-subgroup jobs news --window 64 --config group.cfg >printed || exit 1
[ "$(subgroups)" = "jobs news " ] || { cat printed; exit 1; }
"$spindrift" group create-subgroup jobs --window 64 --config group.cfg >/dev/null || exit 1  # it is there
fails 'is there already, with another' "$spindrift" group create-subgroup jobs --window 65 --config group.cfg
fails 'already' "$spindrift" group create-subgroup jobs --mode unordered --window 64 --config group.cfg
"$spindrift" group change-subgroup jobs --window 65 --senders 0,1 --config group.cfg >changed || exit 1
grep -Eq '^jobs +ordered +all +0, 1 +65 ' changed || { cat changed; exit 1; }
fails 'nothing to change' "$spindrift" group change-subgroup jobs --config group.cfg
fails 'no subgroup is named "nowhere"' "$spindrift" group change-subgroup nowhere --window 65 --config group.cfg
fails "is the configuration's" "$spindrift" group change-subgroup orders --senders 0 --config group.cfg
fails 'either all, or their ids' "$spindrift" group change-subgroup jobs --senders all,1 --config group.cfg
"$spindrift" group change-subgroup jobs --window 64 --senders all --config group.cfg | grep -Eq '^jobs +ordered +all +all +64 ' || exit 1
"$spindrift" group status --config group.cfg | grep -q news || exit 1

# A member that misses nothing, and an observer.
"$spindrift" tail jobs --reliable --config group.cfg --id 4 --count 1000 --json >reliable 2>errors_reliable 3>&- &
reliable=$!
members[12]=$reliable
until_in_view 0 1 2 3 4
"$spindrift" tail news --config group.cfg --count 100 --json >observed 2>errors_observed 3>&- &
observer=$!
members[13]=$observer
until_said 'observes node' errors_observed
seq 1 500 | "$spindrift" send jobs --config group.cfg --id 5 >/dev/null 2>errors_first || { cat errors_first; exit 1; }
kill -9 "${members[1]}"
seq 501 1000 | "$spindrift" send jobs --config group.cfg --id 5 >/dev/null 2>errors_second || { cat errors_second; exit 1; }
seq 1 100 | "$spindrift" send news --config group.cfg --id 6 >/dev/null 2>errors_news || { cat errors_news; exit 1; }
wait $reliable || { cat errors_reliable; exit 1; }
wait $observer || { cat errors_observed; exit 1; }
grep -o '"text":"[0-9]*"' reliable | grep -o '[0-9]*' >got
seq 1 1000 | cmp -s - got || { echo "not all jobs came, in order:"; tail -3 got; wc -l got; exit 1; }
grep -o '"text":"[0-9]*"' observed | grep -o '[0-9]*' >got
seq 1 100 | cmp -s - got || { echo "not all news were observed"; exit 1; }
until_in_view 0 2 3

# A newcomer has what was created before it came.
run_node 7
until_in_view 0 2 3 7
"$spindrift" group subgroups --through 7 --config group.cfg --json >printed || exit 1
grep -q news printed || { cat printed; exit 1; }

# Who may send does not depend on who is there, and the reason names who may.
"$spindrift" group create-subgroup orders_of_55 --senders 0,55 --members all --config group.cfg >printed 2>errors || exit 1
grep -qF -- '--senders: node 55 is not in the roster, which has 0, 1, 2, 3, 4, 5, 6, 7: it takes no part before' errors || { cat errors; exit 1; }
"$spindrift" group change-subgroup orders_of_55 --senders 55,56 --config group.cfg >printed 2>errors || exit 1
grep -qF 'fix: spindrift group add 55 56, or name others' errors || { cat errors; exit 1; }
"$spindrift" group change-subgroup orders_of_55 --senders 0 --config group.cfg >printed 2>errors || exit 1
[ ! -s errors ] || { cat errors; exit 1; }
"$spindrift" group change-subgroup orders_of_55 --senders 55 --config group.cfg >printed 2>errors || exit 1
fails 'node 5 is not one of its senders; fix: give --id one of: 55' "$spindrift" send orders_of_55 --config group.cfg --id 5
"$spindrift" group drop-subgroup orders_of_55 --config group.cfg >printed || exit 1

# A sender whose subgroup goes has sent what it has sent, and ends for that, not for a mistake of its own.
mkfifo more
exec 4<>more
"$spindrift" send jobs --config group.cfg --id 5 <more >sent_jobs 2>errors_jobs 3>&- 4>&- &
sender_of_jobs=$!
members[14]=$sender_of_jobs
until_in_view 0 2 3 5 7
echo 1 >&4
until "$spindrift" counters --config group.cfg --id 5 | grep -Eq '^ *1 +subgroup[.]jobs[.]sent$'; do sleep 0.05; done
"$spindrift" group drop-subgroup jobs --config group.cfg >printed || exit 1
echo 2 >&4
wait $sender_of_jobs
code=$?
exec 4>&-
[ $code = 6 ] && grep -q 'subgroup jobs was dropped before standard input was sent; fix: ' errors_jobs &&
  grep -q '^sent 1 message; every member has delivered it' errors_jobs || { echo "code $code"; cat errors_jobs; exit 1; }
unset 'members[14]'
until_in_view 0 2 3 7
[ "$(subgroups)" = "news " ] || { cat printed; exit 1; }
fails 'has no subgroup of that name' "$spindrift" tail jobs --config group.cfg
fails 'has no subgroup of that name' "$spindrift" send jobs --config group.cfg --id 5
seq 1 10 | "$spindrift" send news --config group.cfg --id 5 >/dev/null 2>errors_last || { cat errors_last; exit 1; }

kill $load
wait $load 2>/dev/null
unset 'members[10]' 'members[11]' 'members[12]' 'members[13]'
exec 3>&-
wait $sender || { cat errors_sent; exit 1; }
grep -q 'every member has delivered' errors_sent || { cat errors_sent; exit 1; }
for node in 0 2 7; do
  kill "${members[$node]}"
  wait "${members[$node]}"
  code=$?
  [ $code = 130 ] || [ $code = 0 ] || { echo "node $node ended with code $code"; cat "errors$node"; exit 1; }
done
