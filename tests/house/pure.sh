#!/usr/bin/env bash
# pure.sh NM OBJECT…: protocol objects ask the world for nothing: no clock, thread, lock, randomness, socket, file or sleep
# among the symbols they need from elsewhere. Exits 1 and names each that does.
set -eu
nm=${1:?usage: pure.sh NM OBJECT…}
shift

impure='clock_gettime|gettimeofday|std::chrono::.*::now|std::this_thread|std::thread|std::jthread|pthread_|std::mutex'
impure+='|std::condition_variable|std::random_device|\b(s?rand(om)?|rand_r|getrandom|getentropy|arc4random)(_r)?$'
impure+='|\b(time|sleep|usleep|nanosleep|clock_nanosleep|sched_yield|poll|ppoll|select|epoll_[a-z]+|eventfd)$'
impure+='|\b(socket|bind|listen|accept4?|connect|send(to|msg)?|recv(from|msg)?)$'
impure+='|\b(open(64|at)?|fopen(64)?|read|write|pread(64)?|pwrite(64)?|mmap(64)?|syscall|getenv|fork)$'
impure+='|SystemClock::now'

violations=0
for object; do
  found=$("$nm" -C --undefined-only "$object" | sed -E 's/^ *[Uvw] //; s/@.*$//' | grep -E "$impure" || true)
  [ -n "$found" ] || continue
  violations=$((violations + 1))
  while IFS= read -r symbol; do echo "$object needs $symbol"; done <<<"$found"
done

[ "$violations" -eq 0 ] || exit 1
echo "pure: $# objects ask for nothing but memory"
