# Sourced, beside scratch.sh, by tests that restart members one after another while lines are sent to the subgroup orders: by
# node 3, and printed by node 4. The end of that shows that nothing was lost, and that all came in order. What asks about the
# group is `$spindrift` with the file `$asks_by`.
until_in_view() { # NODES…: those and no others are members
  until [ "$("$spindrift" group members --config "$asks_by" --json 2>/dev/null | tr -d ' \n' | grep -o '"node":[0-9]*' |
    cut -d: -f2 | sort -n | tr '\n' ' ')" = "$* " ]; do sleep 0.05; done
}
run_node() { # ID COMMAND FILE
  "$2" node --config "$3" --id "$1" >"node$1" 2>"errors$1" 3>&- &
  members[$1]=$!
}
end_node() { # ID: leaves in order
  local code
  kill "${members[$1]}"
  wait "${members[$1]}"
  code=$?
  unset "members[$1]"
  [ $code = 130 ] || [ $code = 0 ] || { echo "node $1 ended with code $code"; cat "errors$1"; exit 1; }
}
restart() { # ID COMMAND FILE OTHERS…: leaves in order, and comes again when the others are without it
  local id=$1 command=$2 file=$3
  shift 3
  end_node "$id"
  until_in_view "$@"
  run_node "$id" "$command" "$file"
}
begin_load() { # FILE_OF_TAIL FILE_OF_SENDER: beside nodes 0, 1 and 2
  mkfifo lines
  exec 3<>lines
  "$spindrift" tail orders --reliable --config "$1" --id 4 --json >got 2>errors_tail 3>&- &
  members[4]=$!
  until_in_view 0 1 2 4
  "$spindrift" send orders --config "$2" --id 3 <lines >sent 2>errors_sent 3>&- &
  members[3]=$!
  until_in_view 0 1 2 3 4
  (trap 'exit 0' TERM; i=0; while printf '%s\n' $((i++)); do echo $i >count; done) >lines 2>/dev/null 3>&- &
  members[10]=$!
}
end_sender() { # every member has delivered what it sent
  kill "${members[10]}"
  wait "${members[10]}"
  exec 3>&-
  wait "${members[3]}" || { cat errors_sent; exit 1; }
  unset 'members[10]' 'members[3]'
  grep -q 'every member has delivered' errors_sent || { cat errors_sent; exit 1; }
}
end_tail() {
  kill -INT "${members[4]}"
  wait "${members[4]}"
  unset 'members[4]'
}
check_lines() { # those that were sent are those that were printed
  local said
  grep -o '"text":"[0-9]*"' got | grep -o '[0-9]*' >numbers
  [ -s numbers ] || { echo "no line came"; exit 1; }
  seq 0 $(($(wc -l <numbers) - 1)) | cmp -s - numbers || { echo "lines are missing, or out of order"; exit 1; }
  said=$(grep -o 'sent [0-9]*' errors_sent | grep -o '[0-9]*')
  [ "$said" = "$(wc -l <numbers)" ] || { echo "sent $said, got $(wc -l <numbers)"; cat errors_sent; exit 1; }
}
until_stopped() { # PIDS…: a signal has stopped them, thread by thread
  local pid
  for pid; do while grep -qsv ') T ' "/proc/$pid/task/"*/stat; do sleep 0.01; done; done
}
kill_all() { # nodes 0, 1 and 2, none of which goes on without the others
  kill -STOP "${members[0]}" "${members[1]}" "${members[2]}"
  until_stopped "${members[0]}" "${members[1]}" "${members[2]}"
  kill -9 "${members[0]}" "${members[1]}" "${members[2]}"
  wait
  members=()
}
