// Application threads against one collector. Everything collected is released at once, as if all members delivered at once.
#include <spindrift/bench/ring.hpp>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <sched.h>

#include <spindrift/bench/group_config.hpp>
#include <spindrift/bench/processes.hpp>
#include <spindrift/smc/send_ring.hpp>

namespace spindrift::bench {

namespace {

/// Sends until `stop`; returns how many.
std::uint64_t send_until(const std::atomic<bool>& stop, smc::SendRing& ring, std::uint64_t message_bytes) {
  const std::vector<std::byte> source(message_bytes, std::byte{1});
  std::uint64_t sent = 0;
  while (!stop.load(std::memory_order_relaxed)) {
    const auto reservation = ring.reserve(message_bytes);
    if (!reservation) {
      ::sched_yield();
      continue;
    }
    std::memcpy(reservation->payload.data(), source.data(), message_bytes);
    ring.commit(*reservation);
    ++sent;
  }
  return sent;
}

/// Plays the poller until all senders have ended and nothing is left.
void collect_until_drained(const std::atomic<std::uint32_t>& senders, smc::SendRing& ring) {
  while (true) {
    const bool last_look = senders.load(std::memory_order_acquire) == 0;
    const std::uint64_t before = ring.committed_count();
    ring.collect(~std::uint64_t{0});
    if (ring.committed_count() == before) {
      if (last_look) return;
      ::sched_yield();
      continue;
    }
    ring.release(ring.committed_count());
  }
}

}  // namespace

RingResult run_ring(const RingRun& run) {
  const Profile profile = tight_profile(run.message_bytes, run.window);
  std::vector<std::byte> memory(profile.ring_bytes + cache_line_bytes);
  const std::uint64_t misaligned = reinterpret_cast<std::uintptr_t>(memory.data()) % cache_line_bytes;
  smc::SendRing ring({memory.data() + (cache_line_bytes - misaligned) % cache_line_bytes, profile.ring_bytes}, profile);

  std::atomic<bool> stop{false};
  std::atomic<std::uint32_t> running{run.threads};
  std::atomic<std::uint64_t> committed{0};
  std::thread collector([&] { collect_until_drained(running, ring); });
  std::vector<std::thread> senders;
  const std::uint64_t start_ns = nanoseconds_now();
  for (std::uint32_t thread = 0; thread < run.threads; ++thread) {
    senders.emplace_back([&] {
      committed.fetch_add(send_until(stop, ring, run.message_bytes));
      running.fetch_sub(1, std::memory_order_release);
    });
  }
  std::this_thread::sleep_for(run.duration);
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& sender : senders) sender.join();
  collector.join();
  const double seconds = seconds_between(start_ns, nanoseconds_now());
  return {static_cast<double>(committed.load()) / seconds, committed.load(), ring.committed_count()};
}

}  // namespace spindrift::bench
