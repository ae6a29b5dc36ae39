#!/usr/bin/env bash
# observer_test.sh SPINDRIFT: a tail observes: stopped, it holds up nobody and says what it has missed; when the member that it
# observes is stopped, and removed by the others, it goes on with another one; it is in no view.
set -u
spindrift=$1
. "$(dirname "$0")/scratch.sh"
cat >group.cfg <<END
[SPINDRIFT]
members = 0, 1, 2
runtime_directory = $scratch/run
suspect_after_ms = 500
[LAYOUT]
json_layout = '[{"name": "orders"}]'
END
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
until [ -s last ]; do echo more >&3; sleep 0.05; done
wait "$late" || { echo 'a second observer failed'; exit 1; }
kill -CONT "$observer"
echo end >&3
until_said ': end$' seen
read -r missed count _ behind after up to last <<<"$(grep -m1 '^missed' seen)"
[ "$missed $behind $up $to" = 'missed behind up to' ] || { echo "no gap: $(head -n 12 seen)"; exit 1; }
first=$(grep -n -m1 '^missed' seen | cut -d: -f1)
# Behind the gap everything follows, without another one.
[ "$(grep -c '^missed' seen)" = 1 ] || { grep '^missed' seen; exit 1; }
total=$(($(grep -c ': more$' seen) + 200001))
[ $(($(grep -vc '^missed' seen) + count)) = "$total" ] || { echo "of $total, missing: $count"; exit 1; }
[ "$after" = "$(sed -n "$((first - 1))s/ .*//p" seen)" ] || { echo "behind $after?"; exit 1; }
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
