#!/usr/bin/env bash
# asked_member_test.sh SPINDRIFT: the member that was asked for another roster is killed before it answers: another one is
# asked, and the change is made once.
set -u
spindrift=$1
. "$(dirname "$0")/scratch.sh"

cat >group.cfg <<END
[SPINDRIFT]
members = 0, 1, 2, 3, 4
runtime_directory = $scratch/run
suspect_after_ms = 500
[LAYOUT]
json_layout = '[{"name": "orders"}]'
END
for node in 0 1 2 3 4; do
  "$spindrift" tail orders --reliable --id $node --config group.cfg >"out$node" 2>"errors$node" &
  members[node]=$!
done
members_now() {
  "$spindrift" group members --config group.cfg --json | tr -d ' \n' | grep -o '"node":[0-9]*' | cut -d: -f2 | tr '\n' ' '
}
until [ "$(members_now)" = "0 1 2 3 4 " ]; do sleep 0.05; done

# A stopped member cannot leave, so who asks for that waits.
kill -STOP "${members[4]}"
"$spindrift" group remove 4 --timeout 30000 --config group.cfg --json >printed 2>errors &
asker=$!
connected() { # whether the process has a socket that is
  local socket
  for socket in $(ls -l "/proc/$asker/fd" | grep -o 'socket:\[[0-9]*\]' | grep -o '[0-9]*'); do
    awk -v inode="$socket" '$7 == inode && $6 == "03" { found = 1 } END { exit !found }' /proc/net/unix && return
  done
  return 1
}
until connected; do sleep 0.02; done
kill -9 "${members[0]}"
wait "$asker" || { echo "who asked the dead member ended with code $?"; cat errors; exit 1; }
tr -d ' \n' <printed | grep -q '"edition":1,' || { echo 'not changed once'; cat printed; exit 1; }
grep -q '"node": *4' printed && { cat printed; exit 1; }
until [ "$(members_now)" = "1 2 3 " ]; do sleep 0.05; done

# The one that the user names is asked, and no other.
"$spindrift" group roster --through 0 --config group.cfg 2>errors && exit 1
grep -q 'node 0 does not run here' errors || { cat errors; exit 1; }
