#!/usr/bin/env bash
# many_members_test.sh SPINDRIFT: 132 processes of one host, more than a set of ranks of earlier releases has bits for and more than one
# system call waits for, form a group without an instance of inotify. A line that the last one sends comes to all that print; the
# last but one dies, and the others go on without it; all leave in order.
set -u
spindrift=$1
if [ -z "${IN_NAMESPACE:-}" ]; then
  unshare --user --map-root-user true 2>/dev/null || { echo 'skipped: no user namespace, in which there is no inotify'; exit 77; }
  exec unshare --user --map-root-user env IN_NAMESPACE=1 bash "$0" "$@"
fi
. "$(dirname "$0")/scratch.sh"
echo 0 >/proc/sys/user/max_inotify_instances || exit 1
last=131
cat >group.cfg <<END
[SPINDRIFT]
members = $(seq -s, 0 $last)
founding = present
fabric = shm
runtime_directory = $scratch/run
suspect_after_ms = 20000
join_timeout_ms = 90000
[LAYOUT]
json_layout = '[{"name": "orders"}]'
END
count() { "$spindrift" group members --config group.cfg --json 2>/dev/null | grep -c '"node"'; }
until_count() {
  until [ "$(count)" = "$1" ]; do
    for node in "${!members[@]}"; do
      kill -0 "${members[node]}" 2>/dev/null || { echo "node $node has ended"; grep -v peer_ "errors$node" | tail -3; exit 1; }
    done
    sleep 0.2
  done
}
for node in $(seq 0 128); do
  "$spindrift" node --config group.cfg --id "$node" --quiet >"out$node" 2>"errors$node" &
  members[node]=$!
done
for node in 129 130; do
  "$spindrift" tail orders --reliable --config group.cfg --id $node --count 3 --quiet >"got$node" 2>"errors$node" &
  members[node]=$!
done
until_count $last
grep -q 'event=directory_looked_at' errors0 || { echo "there was an instance of inotify"; exit 1; }

seq 3 | "$spindrift" send orders --config group.cfg --id $last --quiet >sent 2>errors_sent || { cat errors_sent; exit 1; }
for node in 129 130; do
  wait "${members[node]}" || { cat "errors$node"; exit 1; }
  unset "members[$node]"
  [ "$(sed 's/.*: //' "got$node" | tr '\n' ' ')" = "1 2 3 " ] || { cat "got$node"; exit 1; }
done
until_count 129

kill -9 "${members[128]}"
unset "members[128]"
until_count 128
for node in "${!members[@]}"; do kill "${members[node]}"; done
for node in "${!members[@]}"; do
  wait "${members[node]}"
  code=$?
  [ $code = 0 ] || { echo "node $node ended with code $code"; tail -3 "errors$node"; exit 1; }
  unset "members[$node]"
done
