// The send ring alone: what application threads pay to reserve, write and commit, with nobody to send to.
#pragma once

#include <cstdint>

#include <spindrift/core/clock.hpp>

namespace spindrift::bench {

struct RingRun {
  std::uint32_t threads = 1;          ///< that reserve and commit; one more takes the place of the poller
  std::uint64_t message_bytes = 100;  ///< copied into each message
  std::uint64_t window = 1000;        ///< records in flight
  Duration duration = std::chrono::seconds(1);
};

struct RingResult {
  double messages_per_second = 0;  ///< of all threads together
  std::uint64_t committed = 0;     ///< messages that the threads committed
  std::uint64_t collected = 0;     ///< messages that the poller's place took; equal, or the ring has a bug
};

/// Threads that find the ring full yield, and so does the poller's place when it is empty.
[[nodiscard]] RingResult run_ring(const RingRun& run);

}  // namespace spindrift::bench
