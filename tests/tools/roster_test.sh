#!/usr/bin/env bash
# roster_test.sh SPINDRIFT: nodes that no file names are added to a group that runs, one by one, and the first ones removed,
# while lines go through it, and later others replaced and drained; nothing is lost, and what is impossible is refused with the reason.
set -u
spindrift=$1
. "$(dirname "$0")/scratch.sh"

config() { # NODES: a file that names these
  cat >"file_$1" <<END
[SPINDRIFT]
group_name = growing
members = $1
runtime_directory = $scratch/run
[LAYOUT]
json_layout = '[{"name": "orders"}]'
END
}
run_node() { # ID NODES
  "$spindrift" tail orders --reliable --id "$1" --config "file_$2" --json >"out$1" 2>"errors$1" 3>&- &
  members[$1]=$!
}
until_in_view() { # NODES…: those and no others are members
  until [ "$("$spindrift" group members --config file_0,1,2 --json | tr -d ' \n' | grep -o '"node":[0-9]*' | cut -d: -f2 |
    sort -n | tr '\n' ' ')" = "$* " ]; do sleep 0.05; done
}
fails() { # TEXT COMMAND…: ends with an error that has this text
  local text=$1
  shift
  "$@" >printed 2>errors && { echo "succeeded: $*"; exit 1; }
  grep -qF "$text" errors || { echo "no \"$text\" of $*:"; cat errors; exit 1; }
}

numbers_of() { # NODE: the lines that it printed
  grep -o '"text":"[0-9]*"' "out$1" | grep -o '[0-9]*'
}
one_run() { # NODE FIRST LAST: it printed these numbers, or those from some number on if FIRST is -, or up to some if LAST is -
  numbers_of "$1" >numbers
  first=$2 last=$3
  [ "$first" != - ] || first=$(head -n 1 numbers)
  [ "$last" != - ] || last=$(tail -n 1 numbers)
  seq "$first" "$last" | cmp -s - numbers || { echo "node $1 printed something else than $first to $last"; exit 1; }
}

taken_out() { # NODE PROCESS ERRORS: it ended for the roster, before it was done, and says so
  wait "$2"
  code=$?
  [ $code = 6 ] && grep -q "node $1 was taken out of the group before" "$3" && return
  echo "node $1 ended with code $code:"
  cat "$3"
  exit 1
}

config 0,1,2
config 2,3
for node in 0 1; do run_node $node 0,1,2; done
mkfifo lines
exec 3<>lines
"$spindrift" send orders --id 2 --config file_0,1,2 <lines >sent 2>errors_sent 3>&- &
sender=$!
until_in_view 0 1 2

# What is impossible, or from a node that nobody has added.
fails 'spindrift group add' "$spindrift" tail orders --reliable --id 3 --config file_2,3
fails "three: not a node's id; fix: give it as ID@HOST:PORT, as in 7@10.0.0.4:7400, or over shared memory as ID alone" \
  "$spindrift" group add three --config file_0,1,2
fails '0@host:1: a node is removed or drained by its id alone; fix: give it as in 7' "$spindrift" group remove 0@host:1 --config file_0,1,2
for node in 0 0@host:1; do
  fails 'node 0 cannot move: over shared memory nobody has an address; fix: start it on the host of the others' \
    "$spindrift" group move $node --config file_0,1,2
done
fails 'nobody has one' "$spindrift" group add 3@host:1 --config file_0,1,2
fails 'does not run here' "$spindrift" group add 3 --through 9 --config file_0,1,2

# A group is named by its directory as well, and a value that is set takes none of a command's words.
for directory in run/growing run/growing/ "$scratch/run/growing"; do
  "$spindrift" group remove 77 --group-dir "$directory" >printed 2>errors || { cat errors; exit 1; }
done
"$spindrift" group drain --config file_0,1,2 --set SPINDRIFT/suspect_after_ms=2000 1 --undo >printed 2>errors || { cat errors; exit 1; }

# A removal of who is not there changes nothing, and says so; where nobody runs the code is the same with a directory and without.
"$spindrift" group remove 77 --config file_0,1,2 >printed 2>errors || { cat errors; exit 1; }
grep -qF 'node 77 is not in the roster: there is nothing to remove' errors || { cat errors; exit 1; }
mkdir -m 700 run/empty
for directory in run/empty run/absent; do
  for through in '' '--through=0'; do
    "$spindrift" group remove 0 --group-dir $directory $through >printed 2>errors
    code=$?
    [ $code = 4 ] && grep -q 'no member of the group runs on this host; fix: ' errors && continue
    echo "of $directory: code $code"
    cat errors
    exit 1
  done
done

# From 0, 1, 2 to 2, 3, 4, 5, one at a time, while somebody sends.
seq 3000 >lines &
filler=$!
for node in 3 4 5; do
  config 2,$node
  "$spindrift" group add $node --config file_0,1,2 >printed || exit 1
  grep -q "^ *$node  -  *no$" printed || { cat printed; exit 1; }
  run_node $node 2,$node
done
until_in_view 0 1 2 3 4 5
for node in 0 1; do
  "$spindrift" group remove $node --config file_0,1,2 --timeout 20000 >printed || exit 1
  taken_out $node "${members[node]}" "errors$node"
done
wait $filler
until_in_view 2 3 4 5
seq 3001 3010 >&3
exec 3>&-
wait $sender || { cat errors_sent; exit 1; }
grep -qx 'sent 3010 messages; every member has delivered them' sent errors_sent || { cat sent errors_sent; exit 1; }
for node in 3 4 5; do
  until_said '"text":"3010"' "out$node"
  one_run $node - 3010
done
for node in 0 1; do one_run $node 1 -; done

# The sender's node is removed while it is away, and does not come in again; one that is killed does.
"$spindrift" group remove 2 0 --through 4 --config file_2,3 --json | tr -d ' \n' | grep -q '"edition":6,' || exit 1
fails "group's roster" "$spindrift" send orders --id 2 --config file_2,3 </dev/null
kill -9 "${members[3]}"
wait "${members[3]}"
until_in_view 4 5
config 3,5
run_node 3 3,5
until_in_view 3 4 5

# A sender that waits for input has not sent it all.
mkfifo more
exec 3<>more
"$spindrift" group add 2 --through 4 --config file_3,5 >printed || exit 1
"$spindrift" send orders --id 2 --config file_2,3 <more >sent_2 2>errors_2 3>&- &
sender=$!
until_in_view 2 3 4 5
echo 3011 >&3
until_said '"text":"3011"' out4
"$spindrift" group remove 2 --through 4 --config file_3,5 >printed || exit 1
taken_out 2 $sender errors_2
exec 3>&-
grep -q '^sent 1 message; every member has delivered it' sent_2 errors_2 || { cat sent_2 errors_2; exit 1; }

# One is replaced by another in one edition: a member leaves first, and who is dead is struck. Asking again changes nothing.
edition() { # the roster's
  "$spindrift" group roster --through 4 --config file_3,5 --json | tr -d ' \n' | grep -o '"edition":[0-9]*' | cut -d: -f2
}
fails 'node 3 is in the roster already' "$spindrift" group replace 4 3 --config file_3,5
fails 'node 9 is not in the roster' "$spindrift" group replace 9 6 --config file_3,5
fails 'cannot be replaced by itself' "$spindrift" group replace 5 5 --config file_3,5
fails 'by its id alone' "$spindrift" group replace 5@host:1 6 --config file_3,5
fails 'nobody has one' "$spindrift" group replace 5 6=host:1 --config file_3,5
before=$(edition)
"$spindrift" group replace 5 6 --timeout 20000 --config file_3,5 >printed || exit 1
grep -qx 'node 5 is a member: it leaves first, in order' printed || { cat printed; exit 1; }
grep -q '^ *5  ' printed && exit 1
taken_out 5 "${members[5]}" errors5
config 3,6
run_node 6 3,6
until_in_view 3 4 6
[ "$(edition)" = $((before + 1)) ] || exit 1
kill -9 "${members[6]}"
wait "${members[6]}"
until_in_view 3 4
"$spindrift" group replace 6 5 --timeout 20000 --config file_3,5 >printed || exit 1
grep -qx 'node 6 is no member now: it is struck from the roster' printed || { cat printed; exit 1; }
"$spindrift" group replace 6 5 --config file_3,5 >printed || exit 1
[ "$(edition)" = $((before + 2)) ] || exit 1
run_node 5 3,5
until_in_view 3 4 5

# A drained member leaves, its process is refused with the command that ends that, and the node stays in the roster.
fails 'by its id alone' "$spindrift" group drain 5@host:1 --config file_3,5
fails 'not in the roster' "$spindrift" group drain 9 --config file_3,5
fails 'a majority is 2' "$spindrift" group drain 5 3 --through 4 --config file_3,5
"$spindrift" group drain 5 --timeout 20000 --config file_3,5 >printed || exit 1
grep -q '^ *5  -  *yes$' printed || { cat printed; exit 1; }
wait "${members[5]}" || [ $? = 6 ] || { cat errors5; exit 1; }
until_in_view 3 4
fails 'spindrift group drain 5 --undo' "$spindrift" tail orders --reliable --id 5 --config file_3,5
"$spindrift" tail orders --reliable --id 5 --config file_3,5 >printed 2>errors
[ $? = 3 ] || { cat errors; exit 1; }
grep -q 'it is drained' errors || { cat errors; exit 1; }
fails 'a majority is 2' "$spindrift" group drain 3 --through 4 --config file_3,5
"$spindrift" group why --config file_3,5 >printed
grep -q 'node 5 is drained: .*spindrift group drain 5 --undo' printed || { cat printed; exit 1; }
"$spindrift" group status --config file_3,5 >printed
grep -q '^node 5: .*, drained$' printed || { cat printed; exit 1; }
"$spindrift" group drain 5 --undo --timeout 20000 --config file_3,5 >printed || exit 1
grep -q yes printed && exit 1
run_node 5 3,5
until_in_view 3 4 5

# One that is taken out while it waits for more members has sent nothing, and no signal has ended it.
"$spindrift" group add 2 --through 4 --config file_3,5 >printed || exit 1
"$spindrift" send orders --members 9 --id 2 --config file_2,3 </dev/null >sent_2 2>errors_2 3>&- &
sender=$!
until_in_view 2 3 4 5
"$spindrift" group remove 2 --through 4 --config file_3,5 >printed || exit 1
taken_out 2 $sender errors_2
grep -q '^sent 0 messages$' sent_2 errors_2 || { cat sent_2 errors_2; exit 1; }

# A member that cannot leave holds up its removal, and goes with it when it dies: the same view is without it and has the roster.
kill -STOP "${members[3]}"
fails 'still wanted' "$spindrift" group remove 3 --through 4 --timeout 300 --config file_3,5
kill -9 "${members[3]}"
wait "${members[3]}"
until_in_view 4 5
"$spindrift" group roster --through 5 --config file_3,5 --json | tr -d ' \n' | grep -q '"node":3' && exit 1
for node in 4 5; do
  kill -TERM "${members[node]}"
  wait "${members[node]}" || [ $? = 130 ] || { echo "node $node ended with code $?"; exit 1; }
done
