#!/usr/bin/env bash
# no_file_test.sh SPINDRIFT: processes find one group without a file and without ids, in whatever order they start, create
# the subgroups that they use, and go on when one is killed; a name that cannot be one is refused.
set -u
spindrift=$1
. "$(dirname "$0")/scratch.sh"
export SPINDRIFT_RUNTIME_DIRECTORY=$scratch/run

# Five at once: whoever founds, all are in one group, and each prints what any of them sends.
for one in 1 2 3 4 5; do
  "$spindrift" tail orders --json >"out$one" 2>"errors$one" &
  members+=($!)
done
until [ "$("$spindrift" group status 2>/dev/null | grep -c ': active, ')" = 5 ]; do sleep 0.1; done
seq 1000 | "$spindrift" send orders >sent 2>errors || { cat errors; exit 1; }
grep -qx 'sent 1000 messages; every member has delivered them' errors sent || { cat errors sent; exit 1; }
for one in 1 2 3 4 5; do until_said '"text":"1000"' "out$one"; done

# Several at once, each of which may be the last one that the group has for a moment.
for round in 1 2 3 4 5; do
  for one in 1 2 3 4; do
    (echo "$one" | "$spindrift" send brief --group brief >"brief$one" 2>&1 || { cat "brief$one"; exit 1; }) &
    senders[one]=$!
  done
  for one in 1 2 3 4; do wait "${senders[one]}" || { echo 'one of several that came and went at once failed'; exit 1; }; done
done

# One that is killed leaves its id to the next that comes.
kill -9 "${members[0]}"
wait "${members[0]}"
"$spindrift" tail orders --json >out6 2>errors6 &
members+=($!)
until "$spindrift" group status | grep -q ": active, process ${members[5]},"; do sleep 0.1; done
seq 1001 2000 | "$spindrift" send orders --quiet >/dev/null 2>errors || { cat errors; exit 1; }
for one in 2 3 4 5; do
  until_said '"text":"2000"' "out$one"
  grep -o '"text":"[0-9]*"' "out$one" | grep -o '[0-9]*' >numbers
  seq 2000 | cmp -s - numbers || { echo "member $one printed something else than 1 to 2000"; exit 1; }
done
until_said '"text":"2000"' out6

# Another name is another subgroup of the same group, which nothing in the environment changes.
"$spindrift" tail audit >audit 2>errors &
auditor=$!
members+=("$auditor")
until "$spindrift" group subgroups 2>/dev/null | grep -q '^audit '; do sleep 0.1; done
echo seen | SPINDRIFT_GROUP_NAME=elsewhere "$spindrift" send audit >/dev/null 2>errors || { cat errors; exit 1; }
until_said ': seen$' audit
grep -q seen out2 && { echo 'one subgroup printed what another delivered'; exit 1; }
"$spindrift" group members | grep -q '^view .* as node' || { "$spindrift" group members; exit 1; }
kill -TERM "$auditor"
wait "$auditor"
unset "members[-1]"
"$spindrift" send 'a"b' </dev/null >/dev/null 2>errors && { echo 'a name with quotes was taken'; exit 1; }
grep -q -- '--subgroup: no subgroup can have that name: .* fix: give 1 to 64 of A-Z' errors || { cat errors; exit 1; }
"$spindrift" send orders --group Audit </dev/null >/dev/null 2>errors && { echo 'a group has a name that none can have'; exit 1; }
grep -q 'group_name = "Audit" is not valid; fix: write 1 to 32 characters' errors || { cat errors; exit 1; }
"$spindrift" send Audit.1 --group audit-1 </dev/null >/dev/null 2>errors || { cat errors; exit 1; }
for one in 1 2 3 4 5; do
  kill -TERM "${members[one]}"
  wait "${members[one]}" || [ $? = 130 ] || { echo "member ${members[one]} ended with code $?"; exit 1; }
done

# One that waits for others says for how many, again when some have come, and when it is told to end, that it sent nothing.
seq 10 | "$spindrift" send crowd --group crowd --members 3 2>crowd &
members+=($!)
until_said '^spindrift: waiting: of the 3 members of subgroup crowd 1 is there$' crowd
"$spindrift" tail crowd --group crowd >/dev/null 2>&1 &
members+=($!)
until_said '^spindrift: waiting: of the 3 members of subgroup crowd 2 are there$' crowd
kill -TERM "${members[6]}"
wait "${members[6]}"
[ $? = 130 ] || { echo 'a sender that was told to end while it waited is not interrupted'; exit 1; }
[ "$(tail -n 1 crowd)" = 'sent nothing: of the 3 members of subgroup crowd 2 are there' ] || { cat crowd; exit 1; }
kill -TERM "${members[7]}"
wait "${members[7]}"

# One that takes the id of another that is gone does not wipe out what became of that.
"$spindrift" tail heirs --group heirs >/dev/null 2>&1 &
members+=($!)
until "$spindrift" group status --group heirs 2>/dev/null | grep -q ': active, '; do sleep 0.1; done
kill -9 "${members[8]}"
wait "${members[8]}"
"$spindrift" send heirs --group heirs </dev/null 2>/dev/null
"$spindrift" group why --group heirs | grep -q "node 0 was process ${members[8]} before, which began then, and died: " ||
  { "$spindrift" group why --group heirs; exit 1; }

# One whose reader has stopped holds up the senders of its subgroup, and neither the view nor other subgroups. It waits for
# its reader when it is to leave, and says so, and that a second signal does not wait.
mkfifo reader
"$spindrift" tail stuck --group stuck >reader 2>stuck &
members+=($!)
exec 3<reader
"$spindrift" tail stuck --group stuck >others 2>/dev/null &
members+=($!)
until [ "$("$spindrift" group status --group stuck 2>/dev/null | grep -c ': active, ')" = 2 ]; do sleep 0.1; done
seq 100000 | timeout 60 "$spindrift" send stuck --group stuck 2>/dev/null &
members+=($!)
until_said ': 1000$' others
until "$spindrift" group why --group stuck | grep -q 'whose application takes least of subgroup stuck'; do sleep 0.1; done
echo through | timeout 10 "$spindrift" send free --group stuck 2>errors || { cat errors; exit 1; }
kill -INT "${members[9]}"
until_said '^spindrift: still leaving: .*; a second signal ends this process at once$' stuck
kill -INT "${members[9]}"
wait "${members[9]}"
[ $? = 130 ] || { echo 'a second signal did not end a member whose reader has stopped'; exit 1; }
exec 3<&-
kill -TERM "${members[10]}"
wait "${members[10]}" "${members[11]}"

# One that has left waits for its reader, too.
"$spindrift" tail few --group stuck >reader 2>few &
members+=($!)
exec 3<reader
until "$spindrift" group status --group stuck 2>/dev/null | grep -q ': active, '; do sleep 0.1; done
until "$spindrift" group subgroups --group stuck 2>/dev/null | grep -q '^few '; do sleep 0.1; done
seq 6000 | timeout 60 "$spindrift" send few --group stuck 2>errors || { cat errors; exit 1; }
kill -INT "${members[12]}"
until_said '^spindrift: still printing what was delivered: .*; another signal ends this process at once$' few
cat <&3 >printed
exec 3<&-
wait "${members[12]}"
[ "$(wc -l <printed)" = 6000 ] || { echo "of 6000 messages $(wc -l <printed) were printed"; exit 1; }

# A visitor with another configuration does not found a group of its own beside one, and is told which key it is.
"$spindrift" tail guests --group guests >/dev/null 2>guests &
members+=($!)
until "$spindrift" group status --group guests 2>/dev/null | grep -q ': active, '; do sleep 0.1; done
"$spindrift" send guests --group guests --set SPINDRIFT/suspect_after_ms=700 </dev/null >/dev/null 2>errors
[ $? = 3 ] && grep -q 'suspect_after_ms is 700 here and 2000 there' errors || { cat errors; exit 1; }

# What looks at a group from outside finds it by its name, which is not empty.
"$spindrift" counters --group guests >printed 2>errors && [ -s printed ] || { cat printed errors; exit 1; }
for command in 'counters' 'group status' 'tail guests'; do
  # shellcheck disable=SC2086
  "$spindrift" $command --group '' >printed 2>errors
  [ $? = 2 ] && grep -q -e '--group: the name is empty' errors || { echo "$command:"; cat printed errors; exit 1; }
done
[ "$("$spindrift" group forget 9 --group guests)" = 'node 9 remembers nothing here: there is nothing to forget' ] || exit 1
kill -TERM "${members[13]}"
wait "${members[13]}"

# One whose reader has had enough leaves at once, and does not wait for a message to find so.
{ timeout 60 "$spindrift" tail heads --group heads 2>errors; echo $? >code; } | head -n 1 >printed &
pipeline=$!
until "$spindrift" group status --group heads 2>/dev/null | grep -q ': active, '; do sleep 0.1; done
seq 1 | "$spindrift" send heads --group heads --members 2 --quiet 2>/dev/null
wait $pipeline
[ "$(cat code)" = 0 ] && grep -q ': 1$' printed || { cat code printed errors; exit 1; }

# Advice that needs no file, and an error once.
yes x | head -c 40000 | tr -d '\n' | "$spindrift" send large --group large >/dev/null 2>errors
[ $? = 1 ] && grep -q 'at all members alike: in the file, or by --set SUBGROUP/DEFAULT/max_smc_payload_size=' errors ||
  { cat errors; exit 1; }
[ "$(grep -c 'has more than the 10240 bytes' errors)" = 1 ] || { cat errors; exit 1; }
"$spindrift" send large --group large --set SPINDRIFT/fabric=tcp </dev/null >/dev/null 2>errors
[ $? = 2 ] && grep -q 'a group without a file: whoever is present founds the group' errors || { cat errors; exit 1; }

# The last members of a group that is gone are called what they are.
"$spindrift" group members --group large | grep -q '^view .*; none of its members runs on this host any more$' ||
  { "$spindrift" group members --group large; exit 1; }

# A process that is stopped may be in a group: whoever comes waits for it, and says so.
"$spindrift" tail halted --group halted >halted 2>&1 &
members+=($!)
until "$spindrift" group status --group halted 2>/dev/null | grep -q ': active, '; do sleep 0.1; done
kill -STOP "${members[14]}"
"$spindrift" tail halted --group halted --set SPINDRIFT/join_timeout_ms=500 >/dev/null 2>errors
[ $? = 5 ] || { echo 'one that came to a stopped process went on'; exit 1; }
"$spindrift" group status --group halted | grep -q '^node 0: stopped, ' || { echo 'a stopped process is called active'; exit 1; }
"$spindrift" group why --group halted | grep -q "^node 0 is stopped: .*; fix: kill -CONT ${members[14]}, or" ||
  { echo 'why does not tell of a stopped process'; exit 1; }
grep -q 'for node 0, of which a process runs here and does not answer; fix: let it go on' errors || { cat errors; exit 1; }
kill -CONT "${members[14]}"
"$spindrift" tail halted --group halted --count 1 >heard 2>errors &
members+=($!)
echo now | "$spindrift" send halted --group halted --members 3 --quiet 2>/dev/null
until_said ': now$' heard
