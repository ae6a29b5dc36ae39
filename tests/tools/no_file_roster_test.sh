#!/usr/bin/env bash
# no_file_roster_test.sh SPINDRIFT: the roster of a group without a file changes, and whoever comes goes by it: a node that is
# added names one that is there, and an id that was removed is taken by nobody.
set -u
spindrift=$1
. "$(dirname "$0")/scratch.sh"
export SPINDRIFT_RUNTIME_DIRECTORY=$scratch/run

begin() { # NUMBER ARGUMENT…: a tail of that number
  local number=$1
  shift
  "$spindrift" tail orders --json "$@" >"out$number" 2>"errors$number" 3>&- &
  members[number]=$!
}
until_active() { # COUNT: so many are members
  until [ "$("$spindrift" group status 2>/dev/null | grep -c ': active, ')" = "$1" ]; do sleep 0.05; done
}
nodes_in_view() {
  "$spindrift" group members --json | tr -d ' \n' | grep -o '"node":[0-9]*' | cut -d: -f2 | sort -n | tr '\n' ' '
}

for number in 0 1 2; do
  begin $number
  until_active $((number + 1))
done
# A node that runs without a record of views is not said to have nothing to forget.
"$spindrift" group forget 0 --yes >printed 2>errors
code=$?
[ $code = 3 ] && grep -q 'node 0 runs on this host as process [0-9]*; fix: end that process first' errors || { echo "code $code"; cat printed errors; exit 1; }

mkfifo lines
exec 3<>lines
"$spindrift" send orders <lines >sent 2>errors_sent 3>&- &
sender=$! members[90]=$!
until_active 4

# Newcomers whose lists lack nodes that run, and all but themselves, while lines go through the group: nobody is removed for it.
"$spindrift" group add 40 41 >/dev/null || exit 1
seq 3000 >lines &
filler=$!
begin 40 --id 40 --set SPINDRIFT/members=0,40
begin 41 --id 41 --set SPINDRIFT/members=41
until_active 6
wait $filler
[ "$(nodes_in_view)" = '0 1 2 3 40 41 ' ] || { nodes_in_view; exit 1; }
"$spindrift" group why | grep -q removed && { "$spindrift" group why --group orders; exit 1; }
exec 3>&-
wait $sender || { cat errors_sent; exit 1; }
grep -qx 'sent 3000 messages; every member has delivered them' sent errors_sent || { cat sent errors_sent; exit 1; }
for number in 0 1 2; do
  until_said '"text":"3000"' "out$number"
  grep -o '"text":"[0-9]*"' "out$number" | grep -o '[0-9]*' >numbers
  seq 3000 | cmp -s - numbers || { echo "member $number printed something else than 1 to 3000"; exit 1; }
done
until_active 5

# Who comes does not take an id that was removed.
"$spindrift" group remove 1 3 --timeout 20000 >/dev/null || exit 1
wait "${members[1]}"
begin 4
until_active 5
[ "$(nodes_in_view)" = '0 2 4 40 41 ' ] || { nodes_in_view; exit 1; }
echo last | "$spindrift" send orders --quiet 2>errors || { cat errors; exit 1; }
until_said '"text":"last"' out4

# No id is left: what is told then helps.
"$spindrift" group remove $(seq 5 31) --timeout 20000 >/dev/null || exit 1
"$spindrift" send orders </dev/null >/dev/null 2>errors
[ $? -ne 0 ] && grep -q 'no id is left: .*spindrift group add 1 --group default' errors || { cat errors; exit 1; }
"$spindrift" group add 50 >/dev/null || exit 1
echo more | "$spindrift" send orders --quiet 2>errors || { cat errors; exit 1; }
until_said '"node":50.*"text":"more"\|"text":"more".*"node":50' out4

# A directory is no input, and the message says what is.
"$spindrift" send orders <run >/dev/null 2>errors
code=$?
[ $code = 7 ] && grep -q 'standard input: read: Is a directory; fix: give a file of lines' errors || { echo "code $code"; cat errors; exit 1; }
