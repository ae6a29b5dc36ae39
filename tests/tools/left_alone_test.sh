#!/usr/bin/env bash
# left_alone_test.sh SPINDRIFT [ROUNDS]: processes are killed at random moments while others join. Whoever is left goes on, be
# it one that had just begun or the one that took several of those in.
set -u
spindrift=$1
rounds=${2:-12}
. "$(dirname "$0")/scratch.sh"
export SPINDRIFT_RUNTIME_DIRECTORY=$scratch/run

begin() { # INDEX
  "$spindrift" tail orders >"out$1" 2>"errors$1" &
  members[$1]=$!
}
until_active() { # INDEX
  until "$spindrift" group status 2>/dev/null | grep -q ": active, process ${members[$1]},"; do
    kill -0 "${members[$1]}" 2>/dev/null || { echo "one that was left has ended:"; cat "errors$1"; exit 1; }
    sleep 0.02
  done
}
some_milliseconds() { sleep "$(printf 0.%03d $((RANDOM % 26 + 4)))"; }
kill_members() { # INDEX…: at once
  local process
  for process; do kill -9 "${members[process]}"; done
  for process; do wait "${members[process]}" 2>/dev/null; done
}

begin 0
until_active 0
stays=0
next=1
for ((round = 1; round <= rounds; ++round)); do
  # The only member dies while a newcomer is on its way in.
  begin $next
  some_milliseconds
  kill_members $stays
  until_active $next
  stays=$next
  # Newcomers, more than those that take them in, die together.
  begin $((next + 1))
  begin $((next + 2))
  some_milliseconds
  kill_members $((next + 1)) $((next + 2))
  echo "round $round" | timeout 20 "$spindrift" send orders --members 2 --quiet >/dev/null 2>errors ||
    { cat errors "errors$stays"; exit 1; }
  until_active $stays
  until_said ": round $round\$" "out$stays"
  next=$((next + 3))
done
kill -TERM "${members[stays]}"
wait "${members[stays]}" || [ $? = 130 ] || { echo "the last one ended with code $?"; exit 1; }
