#!/usr/bin/env bash
# duplicate_test.sh SPINDRIFT: a second process of a node, at another address that the same name has where it runs, is refused
# with the reason. Skipped, with 77, where a process cannot have a file of names of its own.
set -u
spindrift=$1
if [ "${2-}" != inside ]; then
  unshare -rm mount --bind /dev/null /etc/hosts 2>/dev/null || { echo 'skipped: no namespaces here'; exit 77; }
  exec unshare -rm "$0" "$spindrift" inside
fi
scratch=$(mktemp -d) || exit 1
members=()
trap 'kill "${members[@]}" 2>/dev/null; wait; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
mkdir -m 700 first second
net=127.$((1 + $$ / 250 % 250)).$(($$ % 250))
echo "$net.12 node-one" >here
echo "$net.13 node-one" >there
cat >group.cfg <<END
[SPINDRIFT]
members = 0, 1
addresses = 0@$net.11:7441, 1@node-one:7441
runtime_directory = $scratch/first
fabric = tcp
security = none
[LAYOUT]
json_layout = '[{"name": "orders"}]'
END
mount --bind here /etc/hosts
for id in 0 1; do
  mkfifo "out$id"
  "$spindrift" node --config group.cfg --id "$id" >"out$id" 2>"errors$id" &
  members+=($!)
done
exec 3<out0 4<out1
for out in 3 4; do
  while read -r -u "$out" line; do [[ $line == 'in view:'* ]] && break; done
done
umount /etc/hosts
mount --bind there /etc/hosts
"$spindrift" node --config group.cfg --id 1 --set "SPINDRIFT/runtime_directory=$scratch/second" \
  --set SPINDRIFT/join_timeout_ms=1500 >out 2>errors
code=$?
cat errors
[ "$code" = 3 ] || { echo "code $code"; exit 1; }
grep -q 'or another process is node 1 already and lives; fix: .* if there is another process, .*: end it' errors || exit 1
kill -0 "${members[1]}" || { echo 'the first process of the node is gone'; exit 1; }
