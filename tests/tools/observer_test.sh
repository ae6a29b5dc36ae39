#!/usr/bin/env bash
# observer_test.sh SPINDRIFT: a tail observes: stopped, it holds up nobody and says what it has missed; when the member that it
# observes is stopped, and removed by the others, it goes on with another one; it is in no view.
set -u
spindrift=$1
. "$(dirname "$0")/scratch.sh"
write_group_of_three
mkfifo input
"$spindrift" tail --config group.cfg --subgroup orders >seen 2>said &
observer=$!
members+=("$observer")
until_said 'waiting for a member of group spindrift on this host' said
for id in 0 1; do
  "$spindrift" node --config group.cfg --id $id >node$id 2>errors$id &
  members+=($!)
done
"$spindrift" send --config group.cfg --id 2 --subgroup orders <input >sender 2>sender_errors &
members+=($!)
exec 3>input
until_said 'observes node' said
seq 10 >&3
until_said ': 10$' seen

kill -STOP "$observer"
seq 11 200000 >&3
"$spindrift" tail --config group.cfg --subgroup orders --count 1 --quiet >last &
late=$!
members+=("$late")
# The group goes on while the observer stands: every message is delivered at a member before the next observer gets one.
until [ -s last ]; do
  echo more >&3
  echo >>more
  sleep 0.05
done
wait "$late" || { echo 'a second observer failed'; exit 1; }
kill -CONT "$observer"
echo end >&3
until_said ': end$' seen
# Each gap is behind the line before it, and lines and gaps together are all messages, in order.
awk '/^missed/ { gaps++; count += $2; if ($3 " " $4 " " $6 " " $7 != "messages behind up to" || $5 != last) { print "gap: " $0 ", behind " last; bad = 1 }
                 last = $8; next }
     { count++; last = $1; if ($3 ~ /^[0-9]+$/) { if ($3 <= before) { print "order: " $0; bad = 1 } before = $3 } }
     END { if (gaps == 0) { print "no gap"; bad = 1 } print count; exit bad }' seen >counted || { cat counted; exit 1; }
total=$(($(wc -l <more) + 200001))
[ "$(tail -n 1 counted)" = "$total" ] || { echo "of $total: $(cat counted)"; exit 1; }
grep '^view 1' node0 && exit 1

source=$(sed -n 's/.*observes node //p' said | tail -n 1)
case $source in
  0 | 1) stopped=${members[1 + source]} ;;
  2) stopped=${members[3]} ;;
esac
other=$((source == 0 ? 1 : 0))
kill -STOP "$stopped"
until_said "left\|failed $source" node$other
until [ "$(grep -c 'observes node' said)" = 2 ]; do sleep 0.1; done
kill -TERM "$observer"
wait "$observer"
[ $? = 0 ] || { echo "code $?"; cat said; exit 1; }
kill -CONT "$stopped"
