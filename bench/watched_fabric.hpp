// A fabric around another that notes how long its calls about links and regions take, and when it reports some: what a view
// change spends in connecting.
#pragma once

#include <cstdint>
#include <memory>

#include <spindrift/core/clock.hpp>
#include <spindrift/fabric/fabric.hpp>

namespace spindrift::bench {

/// The log of one endpoint, since it was last cleared. Instants are nanoseconds_now(), 0: none yet. One thread at a time.
struct ConnectingLog {
  struct Spent {
    std::uint64_t ns = 0;
    std::uint64_t cpu_ns = 0;  ///< of the calling thread
    std::uint64_t waits = 0;   ///< how often it gave up its CPU by itself, for a lock, a page or a sleep
  };
  Spent open;     ///< in listen
  Spent links;    ///< in connect, disconnect, and in polls that reported a link or its end
  Spent regions;  ///< in allocate, release, expose, map, unmap, and in other polls that reported a region

  struct Instant {
    std::uint64_t at_ns = 0;
    std::uint64_t cpu_ns = 0;  ///< thread_cpu_ns() then
    std::uint64_t waits = 0;   ///< of the calling thread, since it began
  };
  Instant connected;                       ///< the first `connected`
  Instant lost;                            ///< the first `lost`
  Instant carved;                          ///< before the first `allocate`
  std::uint64_t last_connected_at_ns = 0;  ///< the last `connected`
  std::uint64_t exposed_at_ns = 0;         ///< the last `exposed`
};

/// CPU time of the calling thread, in nanoseconds.
[[nodiscard]] std::uint64_t thread_cpu_ns() noexcept;
/// CPU time of all threads of this process, in nanoseconds.
[[nodiscard]] std::uint64_t process_cpu_ns() noexcept;

/// `log` outlives it. Everything goes to `inner`, and comes back, as it is. A poll that reports a link or a region counts
/// whole, whatever else it did.
[[nodiscard]] std::unique_ptr<fabric::Fabric> watch_connecting(std::unique_ptr<fabric::Fabric> inner, ConnectingLog& log);

}  // namespace spindrift::bench
